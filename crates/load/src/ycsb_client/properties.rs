//! Property files, in Java's format, and the properties that are known.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use assay_base::suggest;

/// Properties by name, the last one given counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Properties(BTreeMap<String, String>);

/// What becomes of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is followed.
    Followed,
    /// It changes nothing that reaches the server or is measured.
    NoEffect,
    /// Only this value is supported, which is YCSB's own default.
    Only(&'static str),
}

/// All that YCSB's client, core workload and JDBC binding know, and `assay.` for what is ours.
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
    ("fieldnameprefix", Use::NoEffect),
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
    ("core_workload_insertion_retry_limit", Use::Only("0")),
    ("core_workload_insertion_retry_interval", Use::NoEffect),
    ("threadcount", Use::Followed),
    ("target", Use::Followed),
    ("maxexecutiontime", Use::Followed),
    ("status.interval", Use::Followed),
    ("measurement.interval", Use::Followed),
    ("measurement.trackjvm", Use::NoEffect),
    ("measurementtype", Use::NoEffect),
    ("measurement.histogram.verbose", Use::NoEffect),
    ("hdrhistogram.percentiles", Use::Followed),
    ("hdrhistogram.fileoutput", Use::NoEffect),
    ("hdrhistogram.output.path", Use::NoEffect),
    ("histogram.buckets", Use::NoEffect),
    ("timeseries.granularity", Use::NoEffect),
    ("exporter", Use::NoEffect),
    ("exportfile", Use::NoEffect),
    ("db", Use::NoEffect),
    ("db.driver", Use::NoEffect),
    ("db.url", Use::Followed),
    ("db.user", Use::Followed),
    ("db.passwd", Use::Followed),
    ("db.batchsize", Use::Only("-1")),
    ("jdbc.batchupdateapi", Use::Only("false")),
    ("jdbc.autocommit", Use::Only("true")),
    ("jdbc.fetchsize", Use::NoEffect),
    ("dotransactions", Use::NoEffect),
    ("assay.arrivals", Use::Followed),
    ("assay.json", Use::Followed),
    ("assay.mode", Use::Followed),
    ("assay.seed", Use::Followed),
    ("assay.socket", Use::Followed),
    ("assay.warmup", Use::Followed),
];

impl Properties {
    /// Reads a property file: `key=value`, `key: value` or `key value` to a line, `#` and `!` begin comments, a backslash at
    /// the end goes on in the next line.
    ///
    /// # Errors
    /// [`Error::Config`] for a line without a key.
    pub(super) fn read(&mut self, text: &str) -> Result<()> {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim_start().to_owned();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            while line.ends_with('\\') {
                line.pop();
                line.push_str(lines.next().unwrap_or_default().trim_start());
            }
            let end = line.find(['=', ':', ' ', '\t']).unwrap_or(line.len());
            let (key, rest) = line.split_at(end);
            if key.is_empty() {
                return Err(Error::Config(format!(
                    "`{line}` has no property name before its value"
                )));
            }
            let rest = rest.trim_start();
            let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim();
            self.set(key, value);
        }
        Ok(())
    }

    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.0.insert(key.to_owned(), value.to_owned());
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Checks that all are known and that what cannot be changed is not.
    ///
    /// # Errors
    /// [`Error::Config`] that names all that are not known, or the first that is not supported.
    pub(super) fn check(&self) -> Result<()> {
        let known = |key: &String| KNOWN.iter().any(|(name, _)| name == key);
        let unknown: Vec<String> = self.0.keys().filter(|key| !known(key)).map(named).collect();
        if !unknown.is_empty() {
            let word = if unknown.len() == 1 { "property" } else { "properties" };
            return Err(Error::Config(format!(
                "unknown {word} {}; `assay load ycsb help` lists all",
                unknown.join(", ")
            )));
        }
        for (key, value) in &self.0 {
            let used = KNOWN.iter().find(|(name, _)| name == key).map(|(_, used)| *used);
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

fn named(key: &String) -> String {
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
        let text = "# Yahoo! Cloud System Benchmark\n\nrecordcount=1000\n  operationcount : 2000\nworkload site.ycsb.\\\n   Core\n!no\ntable=\n";
        let properties = read(text);
        assert_eq!(properties.text("recordcount"), Some("1000"));
        assert_eq!(properties.text("operationcount"), Some("2000"));
        assert_eq!(properties.text("workload"), Some("site.ycsb.Core"));
        assert_eq!(properties.text("table"), Some(""));
        assert_eq!(properties.0.len(), 4);
        assert!(Properties::default().read("=1").is_err());
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
