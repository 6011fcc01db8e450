//! Errors in files of claims are reported with their place, in one line.

use super::find::{PAPERS, find};
use super::paper::ParsedPaper;

const STEC: &str = "stec-2013";

fn text(name: &str) -> &'static str {
    PAPERS.iter().find(|(one, _)| *one == name).unwrap().1
}

#[test]
fn every_figure_has_its_place_and_is_told_once() {
    let mut figures = 0;
    for (name, text) in PAPERS {
        let paper = ParsedPaper::parse(name, text).unwrap();
        figures += paper.figures.len();
        for (name, figure) in &paper.figures {
            assert!(figure.place.len() > 2 && figure.what.len() > 2, "{name}");
            let is_number = figure.values().iter().all(|value| value.value.is_finite());
            assert!(is_number && (!figure.printed.is_empty() || figure.says.is_some()), "{name}");
        }
        for remark in &paper.document.remarks {
            assert!(remark.place.len() > 2 && remark.says.len() > 20);
        }
    }
    assert!(figures > 250, "{figures}");
}

/// The error for a changed copy of the shortest paper.
fn refused(from: &str, to: &str) -> String {
    let changed = text(STEC).replacen(from, to, 1);
    assert_ne!(changed, text(STEC), "`{from}` is not there");
    let error = format!("{:#}", ParsedPaper::parse(STEC, &changed).unwrap_err());
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn what_is_wrong_in_a_file_is_said_with_its_line_and_what_would_be_right() {
    for (from, to, says) in [
        (
            "\nrequests = { printed =",
            "\nrequests = { pritned =",
            "unknown key `pritned`; did you mean `printed`?",
        ),
        ("\"1000000\"", "\"1,000,000\"", "digits in quotes"),
        ("\"1000000\"", "1000000", "digits in quotes"),
        (
            "[\"27\", \"251\", \"9.3\"]",
            "[\"27\", \"251x\", \"9.3\"]",
            "`251x` is not a printed number",
        ),
        (
            "[\"27\", \"251\", \"9.3\"]",
            "[\"27\", \"251\"]",
            "table chart1, row tps: 2 numbers for 3 columns",
        ),
        (
            "printed = \"disks_hours\"",
            "printed = \"disk_hours\"",
            "there is no figure `disk_hours`; did you mean `disks_hours`?",
        ),
        (
            "computed = \"chart1.minutes.disks / 60\"",
            "computed = \"chart1.minutes.disks / / 60\"",
            "`/` is not expected",
        ),
        ("where = \"Chart 2\"", "where = \"\"", "where: is empty"),
        ("where = \"Chart 2\"\n", "", "the key `where` is missing"),
        (
            "each = [\"disks\", \"card\"]",
            "each = [\"disks\", \"cards\"]",
            "there is no figure `chart1.tps.cards`; did you mean `chart1.tps.card`?",
        ),
        (
            "missing = \"the CPU",
            "follows = \"the CPU",
            "give computed and printed, little, markov, or missing",
        ),
        (
            "kind = \"factors\"",
            "kind = \"factor\"",
            "unknown value `factor`; did you mean `factors`?",
        ),
        (
            "factors = [\"storage\", \"length of the run\"]",
            "factors = [\"storage\"]",
            "two factors or more",
        ),
        ("percent = 95", "percent = 100", "markov.percent is from 1 to 99"),
        (
            "figure = \"chart1.tps.disks\"",
            "figure = \"chart1.tps.disc\"",
            "there is no figure `chart1.tps.disc`; did you mean `chart1.tps.disks`?",
        ),
        ("relation = \">\"", "relation = \"=>\"", "unknown value `=>`"),
        (
            "printed = \"19\", within = 0",
            "printed = \"19\", within = -1",
            "given requests_per_transaction: within is -1",
        ),
        (
            "printed = \"19\", within = 0",
            "printed = \"19\", within = nan",
            "within is NaN; give 0 or more",
        ),
        (
            "printed = \"19\", within = 0",
            "printed = \"19\", within = inf",
            "within is inf; give 0 or more",
        ),
        (
            "printed = \"20\", within = 0",
            "printed = \"20\", within = nan",
            "figure threads: within is NaN",
        ),
        (
            "unit = \"TB\"\nassumes",
            "unit = \"TB\"\ntolerance_percent = -1\nassumes",
            "tolerance_percent is -1; give a number from 0 to 100",
        ),
        (
            "unit = \"TB\"\nassumes",
            "unit = \"TB\"\ntolerance_percent = nan\nassumes",
            "tolerance_percent is NaN",
        ),
        (
            "unit = \"TB\"\nassumes",
            "unit = \"TB\"\ntolerance_percent = inf\nassumes",
            "tolerance_percent is inf",
        ),
        (
            "unit = \"TB\"\nassumes",
            "unit = \"TB\"\nmissing = \"x\"\nassumes",
            "give missing or assumes, not both",
        ),
        (
            "threads = { printed = \"20\"",
            "\"a b\" = { printed = \"20\"",
            "is not a valid figure name",
        ),
    ] {
        let error = refused(from, to);
        assert!(error.contains(says), "`{says}` is not in: {error}");
    }
    let error = refused("printed = \"disks_hours\"", "printed = \"disk_hours\"");
    let line =
        1 + text(STEC).split("printed = \"disks_hours\"").next().unwrap().matches('\n').count();
    assert!(error.contains(&format!("line {line}: ")), "{error}");
}

#[test]
fn an_unknown_paper_is_answered_with_the_nearest() {
    let says = |name: &str| format!("{:#}", find(name).unwrap_err());
    assert_eq!(says("stec-2031"), "there are no claims `stec-2031`; did you mean `stec-2013`?");
    assert!(
        says("oracle-1999").contains("there are percona-scaleflux-2020, "),
        "{}",
        says("oracle-1999")
    );
    assert!(says("./none.toml").starts_with("cannot read ./none.toml: No such file"));
}
