//! Tests every report's duties: say everything, escape everything, stay small. Its look and
//! behaviour in a browser are tested in [`pages`].

mod actions;
mod browser;
mod devices;
mod disturbed;
mod drive;
mod effects;
mod files;
mod first_screen;
mod fixture;
mod golden;
mod judged;
mod layout;
mod opening;
mod pages;
mod paper;
mod paper_costs;
mod phases;
mod power_cuts;
mod rates;
mod results_json;
mod safety;
mod seconds;
mod several;
mod truth;
mod verdicts;
mod worth;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use assay_study::{Store, StudyHead};

use super::{Analysis, ReportOptions, Written};
use assay_judge::Supplied;
use fixture::{HOSTILE, Shape, study};

/// A report in a directory that goes when it is dropped.
struct Report {
    _directory: tempfile::TempDir,
    written: Written,
}

fn write(store: &Store, directory: &Path) -> anyhow::Result<Written> {
    write_as(store, directory, Supplied::default(), ReportOptions::default())
}

fn write_as(
    store: &Store,
    directory: &Path,
    supplied: Supplied<'_>,
    options: ReportOptions<'_>,
) -> anyhow::Result<Written> {
    crate::write(store, &Analysis::of(store, supplied)?, directory, options)
}

fn analysed(store: &Store) -> Analysis {
    Analysis::of(store, Supplied::default()).unwrap()
}

fn report(shape: &Shape) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let store = study(directory.path(), shape);
    let written = write(&store, directory.path()).unwrap();
    Report { _directory: directory, written }
}

impl Report {
    fn html(&self) -> String {
        fs::read_to_string(&self.written.html).unwrap()
    }
}

/// Text of a section of the page.
fn section(markup: &str, id: &str) -> Option<String> {
    let after = markup.split_once(&format!("<section id=\"{id}\">"))?.1;
    Some(after.split_once("</section>")?.0.to_owned())
}

/// The page without its scripts, where escaping is by HTML's rules.
fn markup(html: &str) -> String {
    let mut rest = html;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("<script") {
        text.push_str(before);
        rest = after.split_once("</script>").unwrap().1;
    }
    text + rest
}

fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        // The hostile name holds a quote; no field here holds a comma within quotes but the reason.
        let fields = split_quoted(line);
        assert_eq!(fields.len(), head.len(), "{line}");
        head.iter().map(|name| (*name).to_string()).zip(fields).collect()
    };
    lines.map(row).collect()
}

fn split_quoted(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if is_quoted && signs.peek() == Some(&'"') => field.extend(signs.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            sign => field.push(sign),
        }
    }
    fields.push(field);
    fields
}

#[test]
fn hostile_names_are_text_everywhere() {
    let html = report(&Shape::small()).html();
    assert!(!html.contains(HOSTILE), "a name as it stands would close the script");
    let markup = markup(&html);
    assert!(markup.contains("a&lt;&#x2f;script&gt;&lt;b&gt;&amp;&quot;"));
    for tag in ["<img", "<i>from", "<b>&", "<InnoDB", "</pre></details><script"] {
        assert!(!markup.contains(tag), "{tag}");
    }
    // One element each for data, Plotly and the page's own script: no text opened or closed
    // another.
    assert_eq!(html.matches("<script").count() - plotly_mentions(&html, "<script"), 3);
    assert_eq!(html.matches("</script>").count(), 3);
}

/// Plotly's source may hold the word in a string.
fn plotly_mentions(html: &str, word: &str) -> usize {
    let plotly = html.split_once("<script>/**").unwrap().1.split_once("</script>").unwrap().0;
    plotly.matches(word).count()
}

#[test]
fn nothing_can_be_fetched_and_plotly_is_there_once() {
    let html = report(&Shape::small()).html();
    assert!(html.contains("default-src &#x27;none&#x27;"));
    assert!(!html.contains("unsafe-eval"));
    assert_eq!(html.matches("* plotly.js (basic - minified) v").count(), 1);
    assert!(!html.contains("MathJax.js") && !html.contains("cdn.plot.ly/plotly"));
    let markup = markup(&html);
    for attribute in [" src=\"", "href=\"http", "url(", "@import"] {
        assert!(!markup.contains(attribute), "{attribute}");
    }
}

#[test]
fn trouble_is_told_where_its_numbers_would_be() {
    let markup = markup(&report(&Shape::small()).html());
    assert!(markup.contains("failed: the server vanished: [ERROR] &lt;InnoDB&gt;"));
    assert!(markup.contains("<li>device bytes are 14 % more than InnoDB &amp; redo wrote</li>"));
    assert!(markup.contains("repeat 2 not run yet"));
    assert!(markup.contains("transactions met server error 1213"));
    assert!(markup.contains("33 of 36 runs done, 2 failed, 1 flagged"));
    assert!(markup.contains("a_result_nobody_knows_yet"));
    assert!(markup.contains("1 of 36 runs not run yet"));
}

#[test]
fn what_differs_between_configs_is_on_top() {
    let markup = markup(&report(&Shape::small()).html());
    let place = |text: &str| markup.find(text).unwrap_or_else(|| panic!("{text} is not there"));
    let row = |name: &str| place(&format!("<th scope=\"row\">{name}</th>"));
    let same = place("What is the same in all configurations");
    assert!(row("innodb_doublewrite") < same && row("file system") < same);
    assert!(row("innodb_buffer_pool_size") > same && row("server_cpus") > same);
    assert!(!markup.contains("pid_file"), "what changes with every start is no difference");
}

#[test]
fn a_drive_is_shown_for_the_configs_that_have_one_and_for_no_other() {
    let markup = markup(&report(&Shape::small()).html());
    let section = |text: &str| {
        let after = text.split_once("<section id=\"drive\">").map(|(_, after)| after.to_owned());
        after.map(|after| after.split_once("</section>").unwrap().0.to_owned())
    };
    let drive = section(&markup).unwrap();
    assert!(drive.contains("data-config=\"1\"") && !drive.contains("data-config=\"0\""), "{drive}");
    assert!(drive.contains("drive_write_amplification_gc"), "{drive}");
    let panels = |chart: &str| -> Vec<&str> {
        let start = format!("data-chart=\"{chart}:");
        let named = markup.split(start.as_str()).skip(1);
        named.map(|after| after.split_once('"').unwrap().0).collect()
    };
    assert_eq!((panels("drive-bytes"), panels("cpu-by-process")), (vec!["1"], vec!["0", "1", "2"]));
    let without = Shape { configs: vec!["doublewrite on", "zlib"], ..Shape::small() };
    let html = report(&without).html();
    assert!(section(&html).is_none() && !html.contains("data-chart=\"drive-"));
}

#[test]
fn a_failed_trial_is_a_gap_in_its_line() {
    let html = report(&Shape::small()).html();
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    let throughput = &data["plots"][0]["data"];
    assert_eq!(throughput[0]["x"], serde_json::json!(["1", "8", "32"]));
    let has_point = |config: usize| -> Vec<bool> {
        throughput[config]["y"].as_array().unwrap().iter().map(Value::is_number).collect()
    };
    assert_eq!((has_point(0), has_point(1)), (vec![true; 3], vec![true, false, true]));
    assert_eq!(throughput[1]["connectgaps"], false);
}

#[test]
fn tables_hold_every_trial_and_every_second() {
    let report = report(&Shape::small());
    let trials = rows(&report.written.tables.join("runs.csv"));
    assert_eq!(trials.len(), 36);
    let failed = trials.iter().find(|trial| trial["state"] == "failed").unwrap();
    assert!(failed["reason"].contains("\"Operating system error"), "{failed:?}");
    assert_eq!((failed["tps"].as_str(), failed["series_file"].as_str()), ("", ""));
    let hostile = trials.iter().find(|trial| trial["config"] == HOSTILE).unwrap();
    let series = rows(&report.written.tables.join(&hostile["series_file"]));
    assert_eq!((series.len(), series[0]["config"].as_str()), (30, HOSTILE));
    assert!(series[0].contains_key("tps") && !series[0].contains_key("disk_reads_per_s"));
    let latencies = rows(&report.written.tables.join("latencies.csv"));
    let done = trials.iter().filter(|trial| trial["state"] == "done").count();
    assert_eq!(latencies.len(), 4 * done, "two buckets of transactions and of a statement in each");
    let bucket = latencies.last().unwrap();
    assert_eq!((bucket["latency_ns"].as_str(), bucket["count"].as_str()), ("20000000", "10"));
    let summary = rows(&report.written.tables.join("summary.csv"));
    assert_eq!(summary.len(), 18);
    for row in summary.iter().filter(|row| row["repeats_done"] == "2") {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        assert!(number("tps_low") < number("tps") && number("tps") < number("tps_high"));
    }
}

#[test]
fn the_json_holds_the_study_and_its_summary() {
    let report = report(&Shape::small());
    let json: Value = serde_json::from_slice(&fs::read(&report.written.json).unwrap()).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["runs"].as_array().unwrap().len(), 36);
    assert_eq!(json["runs"][0]["results"]["queries_per_transaction"], 20.0);
    assert_eq!(json["summary"].as_array().unwrap().len(), 18);
    assert_eq!(json["variables"]["doublewrite off"]["innodb_doublewrite"], "OFF");
}

#[test]
fn a_study_without_a_single_result_still_makes_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let written = write(&store, directory.path()).unwrap();
    assert!(fs::read_to_string(&written.html).unwrap().contains("Untitled study"));
    let head = StudyHead { title: "begun", ..StudyHead::default() };
    store.write_head(&head).unwrap();
    write(&store, directory.path()).unwrap();
    assert!(fs::read_to_string(&written.html).unwrap().contains("begun"));
}

#[test]
#[ignore = "in --full: takes ten seconds"]
fn two_hundred_trials_of_two_minutes_stay_under_ten_megabytes() {
    let report = report(&Shape::large());
    let size = fs::metadata(&report.written.html).unwrap().len();
    assert!(size <= 10_000_000, "{size} bytes");
    assert!(size > 4_000_000, "{size} bytes: where are the series?");
}
