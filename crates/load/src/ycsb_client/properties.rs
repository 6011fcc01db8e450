//! Property files, in Java's format, and the known properties.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use assay_base::suggest;

/// Properties by name. One of the command line overrides one of a file, in any order; the last of
/// two of the same kind counts (`Client.parseArguments` of YCSB).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Properties {
    files: BTreeMap<String, String>,
    line: BTreeMap<String, String>,
}

/// The treatment of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Supported.
    Followed,
    /// Accepted without effect: it changes nothing that is sent or measured.
    NoEffect,
    /// Supported with this value alone, YCSB's default.
    Only(&'static str),
}

/// All properties of YCSB's client, core workload and JDBC binding, and Assay's own with `assay.`.
pub(super) const KNOWN: &[(&str, Use)] = &[
    ("workload", Use::Followed),
    ("recordcount", Use::Followed),
    ("operationcount", Use::Followed),
    ("insertcount", Use::Followed),
    ("insertstart", Use::Only("0")),
    ("table", Use::Followed),
    ("fieldcount", Use::Followed),
    ("fieldlength", Use::Followed),
    ("fieldlengthdistribution", Use::Only("constant")),
    ("minfieldlength", Use::NoEffect),
    ("fieldlengthhistogram", Use::NoEffect),
    ("fieldnameprefix", Use::Only("field")),
    ("readallfields", Use::NoEffect),
    ("writeallfields", Use::Followed),
    ("dataintegrity", Use::Only("false")),
    ("readproportion", Use::Followed),
    ("updateproportion", Use::Followed),
    ("insertproportion", Use::Followed),
    ("scanproportion", Use::Followed),
    ("readmodifywriteproportion", Use::Followed),
    ("requestdistribution", Use::Followed),
    ("hotspotdatafraction", Use::Followed),
    ("hotspotopnfraction", Use::Followed),
    ("exponential.percentile", Use::Only("95")),
    ("exponential.frac", Use::Only("0.8571428571")),
    ("minscanlength", Use::Only("1")),
    ("maxscanlength", Use::Followed),
    ("scanlengthdistribution", Use::Followed),
    ("insertorder", Use::Followed),
    ("zeropadding", Use::Followed),
    ("core_workload_insertion_retry_limit", Use::Followed),
    ("core_workload_insertion_retry_interval", Use::Followed),
    ("reportlatencyforeacherror", Use::Followed),
    ("latencytrackederrors", Use::Followed),
    ("threadcount", Use::Followed),
    ("target", Use::Followed),
    ("maxexecutiontime", Use::Followed),
    ("status.interval", Use::Followed),
    ("measurement.interval", Use::Followed),
    ("measurement.trackjvm", Use::Only("false")),
    ("measurementtype", Use::Followed),
    ("measurement.histogram.verbose", Use::Followed),
    ("hdrhistogram.percentiles", Use::Followed),
    ("hdrhistogram.fileoutput", Use::Only("false")),
    ("hdrhistogram.output.path", Use::NoEffect),
    ("histogram.buckets", Use::Followed),
    ("timeseries.granularity", Use::Followed),
    ("measurement.raw.output_file", Use::Followed),
    ("measurement.raw.no_summary", Use::Followed),
    ("exporter", Use::Followed),
    ("exportfile", Use::Followed),
    ("db", Use::Followed),
    ("db.driver", Use::NoEffect),
    ("db.url", Use::Followed),
    ("db.user", Use::Followed),
    ("db.passwd", Use::Followed),
    ("db.batchsize", Use::Only("-1")),
    ("jdbc.batchupdateapi", Use::Only("false")),
    ("jdbc.autocommit", Use::Only("true")),
    ("jdbc.fetchsize", Use::NoEffect),
    ("dotransactions", Use::Followed),
    ("status", Use::Followed),
    ("label", Use::NoEffect),
    ("spin.sleep", Use::NoEffect),
    ("assay.arrivals", Use::Followed),
    ("assay.json", Use::Followed),
    ("assay.mode", Use::Followed),
    ("assay.preflight", Use::Followed),
    ("assay.seed", Use::Followed),
    ("assay.socket", Use::Followed),
    ("assay.warmup", Use::Followed),
];

impl Properties {
    /// Reads a property file in Java's format (`java.util.Properties.load`).
    ///
    /// # Errors
    /// [`Error::Config`] for a line without a key, and for a malformed `\uXXXX`.
    pub(super) fn read(&mut self, text: &str) -> Result<()> {
        for line in logical_lines(text) {
            let (key, value) = split(&line);
            if key.is_empty() {
                return Err(Error::Config(format!(
                    "`{line}` has no property name before its value"
                )));
            }
            self.files.insert(unescaped(key)?, unescaped(value)?);
        }
        Ok(())
    }

    /// Sets a property of the command line.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.line.insert(key.to_owned(), value.to_owned());
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.line.get(key).or_else(|| self.files.get(key)).map(String::as_str)
    }

    /// Names in order, each once.
    fn keys(&self) -> BTreeSet<&String> {
        self.files.keys().chain(self.line.keys()).collect()
    }

    /// Checks that all properties are known and have a supported value.
    ///
    /// # Errors
    /// [`Error::Config`] with all unknown properties, or the first unsupported one.
    pub(super) fn check(&self) -> Result<()> {
        let known = |key: &String| KNOWN.iter().any(|(name, _)| name == key);
        let keys = self.keys();
        let unknown: Vec<String> =
            keys.iter().filter(|key| !known(key)).map(|key| named(key)).collect();
        if !unknown.is_empty() {
            let word = if unknown.len() == 1 { "property" } else { "properties" };
            return Err(Error::Config(format!(
                "unknown {word} {}; `assay load ycsb help` lists all",
                unknown.join(", ")
            )));
        }
        for key in keys {
            let used = KNOWN.iter().find(|(name, _)| name == key).map(|(_, used)| *used);
            let value = self.text(key).unwrap_or_default();
            if let Some(Use::Only(only)) = used
                && !is_same(value, only)
            {
                return Err(Error::Config(format!(
                    "`{key}={value}` is not supported; leave it out, which means {only}"
                )));
            }
        }
        Ok(())
    }
}

/// Joins lines continued by a backslash at the end; leaves out empty ones and comments.
fn logical_lines(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut lines = text.split(['\n', '\r']);
    while let Some(line) = lines.next() {
        let mut line = line.trim_start().to_owned();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        while is_continued(&line) {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        all.push(line);
    }
    all
}

/// Returns true if the last backslash is not itself escaped.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Key and value, both still escaped: the first `=`, `:` or white space that is not escaped ends
/// the key.
fn split(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let ends = |(_, letter): &(usize, char)| {
        let ends = !is_escaped && matches!(letter, '=' | ':' | ' ' | '\t' | '\x0c');
        is_escaped = !is_escaped && *letter == '\\';
        ends
    };
    let end = line.char_indices().find(ends).map_or(line.len(), |(place, _)| place);
    let rest = line[end..].trim_start();
    (&line[..end], rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start())
}

fn unescaped(text: &str) -> Result<String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let escaped = if letter == '\\' { letters.next() } else { Some(letter) };
        match (letter, escaped) {
            ('\\', Some('t')) => plain.push('\t'),
            ('\\', Some('n')) => plain.push('\n'),
            ('\\', Some('r')) => plain.push('\r'),
            ('\\', Some('f')) => plain.push('\x0c'),
            ('\\', Some('u')) => plain.push(code_unit(&mut letters, text)?),
            (_, letter) => plain.extend(letter),
        }
    }
    Ok(plain)
}

/// The letter of `\uXXXX`. Pairs of surrogates are not put together: no property has one.
fn code_unit(letters: &mut std::str::Chars<'_>, text: &str) -> Result<char> {
    let digits: String = letters.take(4).collect();
    let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4);
    let bad = || Error::Config(format!("`{text}` has a malformed \\uXXXX"));
    code.and_then(char::from_u32).ok_or_else(bad)
}

fn named(key: &str) -> String {
    format!("`{key}`{}", suggest::hint(key, KNOWN.iter().map(|(name, _)| *name)))
}

/// Numbers by their value, words as they are.
fn is_same(given: &str, only: &str) -> bool {
    match (given.parse::<f64>(), only.parse::<f64>()) {
        (Ok(given), Ok(only)) => given == only,
        _ => given.eq_ignore_ascii_case(only),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Properties {
        let mut properties = Properties::default();
        properties.read(text).unwrap();
        properties
    }

    #[test]
    fn files_are_read_as_java_reads_them() {
        let text = "# Yahoo! Cloud System Benchmark\n\nrecordcount=1000\n  operationcount : \
                    2000\nworkload site.ycsb.\\\n   Core\n!no\ntable=\n";
        let properties = read(text);
        assert_eq!(properties.text("recordcount"), Some("1000"));
        assert_eq!(properties.text("operationcount"), Some("2000"));
        assert_eq!(properties.text("workload"), Some("site.ycsb.Core"));
        assert_eq!(properties.text("table"), Some(""));
        assert_eq!(properties.keys().len(), 4);
        assert!(Properties::default().read("=1").is_err());
    }

    #[test]
    fn javas_escapes_are_undone() {
        // The output of `java.util.Properties.store`.
        let text = "db.url=jdbc\\:mysql\\://127.0.0.1\\:3306/test?useSSL\\=false\r\n\
                    a\\=b=c\\u0041\\t\\q\ne=\\\\\nf=\\\\\\\n  g\n";
        let properties = read(text);
        assert_eq!(
            properties.text("db.url"),
            Some("jdbc:mysql://127.0.0.1:3306/test?useSSL=false")
        );
        assert_eq!(properties.text("a=b"), Some("cA\tq"));
        assert_eq!(properties.text("e"), Some("\\"));
        assert_eq!(properties.text("f"), Some("\\g"));
        let refusal = Properties::default().read("a=\\u12").unwrap_err().to_string();
        assert!(refusal.contains("malformed"), "{refusal}");
    }

    #[test]
    fn the_command_line_counts_before_files_wherever_it_stands() {
        let mut properties = Properties::default();
        properties.set("recordcount", "50");
        properties.read("recordcount=1000\ntable=a").unwrap();
        properties.read("table=b").unwrap();
        assert_eq!(properties.text("recordcount"), Some("50"));
        assert_eq!(properties.text("table"), Some("b"));
    }

    #[test]
    fn unknown_properties_are_all_named() {
        let refusal =
            read("recordcont=1\nreadproportion=1\nx.y=2").check().unwrap_err().to_string();
        assert!(refusal.contains("`recordcont`") && refusal.contains("`x.y`"), "{refusal}");
        assert!(refusal.contains("recordcount") && !refusal.contains('\n'), "{refusal}");
    }

    #[test]
    fn what_cannot_be_changed_may_be_said_and_not_changed() {
        read("exponential.percentile=95.0\ndataintegrity=FALSE").check().unwrap();
        let refusal = read("dataintegrity=true").check().unwrap_err().to_string();
        assert!(refusal.contains("`dataintegrity=true` is not supported"), "{refusal}");
    }
}
