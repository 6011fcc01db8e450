//! The verdicts on the shipped papers, with their arithmetic, and those on papers with one changed
//! figure.

use super::find::PAPERS;
use super::findings::{EXFLASH, FUNGIBLE, PERCONA, STEC, UNSURE, WRONG};
use super::outcome::{self, CheckOutcome, ClaimVerdict};
use super::paper::ParsedPaper;

pub(super) fn text(name: &str) -> &'static str {
    PAPERS.iter().find(|(one, _)| *one == name).unwrap().1
}

pub(super) fn outcomes_of(name: &str, text: &str) -> Vec<CheckOutcome> {
    outcome::all(&ParsedPaper::parse(name, text).unwrap()).unwrap()
}

pub(super) fn named<'a>(outcomes: &'a [CheckOutcome], name: &str) -> &'a CheckOutcome {
    let found = outcomes.iter().find(|outcome| outcome.name == name);
    found.unwrap_or_else(|| panic!("there is no check `{name}`"))
}

/// Verdict (under its assumption, if it has one) and arithmetic of the check `name` of a paper
/// whose text has `to` in place of `from`.
fn after(paper: &str, from: &str, to: &str, name: &str) -> (ClaimVerdict, String) {
    let changed = text(paper).replacen(from, to, 1);
    assert!(from == to || changed != text(paper), "`{from}` is not in {paper}");
    let outcomes = outcomes_of(paper, &changed);
    let outcome = named(&outcomes, name);
    (
        outcome.if_so.unwrap_or(outcome.verdict),
        outcome.arithmetic.as_ref().map_or_else(String::new, |sides| sides.shown()),
    )
}

fn check(paper: &str, name: &str) -> (ClaimVerdict, String) {
    after(paper, "", "", name)
}

#[test]
fn what_does_not_follow_is_found_by_its_arithmetic() {
    for (paper, name, arithmetic) in WRONG.into_iter().chain(UNSURE) {
        assert_eq!(check(paper, name), (ClaimVerdict::DoesNotFollow, arithmetic.into()), "{name}");
    }
}

#[test]
fn the_documentation_has_what_the_program_prints() {
    let page = include_str!("../../../docs/claims.md");
    let table = page.split("## What does not follow").nth(1).unwrap();
    for (paper, name, arithmetic) in WRONG.into_iter().chain(UNSURE) {
        let row = table.lines().find(|line| line.contains(&format!("| {paper} | {name} (")));
        let assumes = named(&outcomes_of(paper, text(paper)), name).assumes.clone();
        let assumes = assumes.map_or_else(String::new, |assumes| format!(" {assumes} |"));
        let end = format!("| {arithmetic} |{assumes}");
        assert!(row.is_some_and(|row| row.ends_with(&end)), "{name}");
    }
    let rows = WRONG.len() + UNSURE.len() + 2;
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), rows);
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let outcomes = outcomes_of("mine", example);
    for outcome in &outcomes {
        let verdict = outcome.verdict.words();
        let lines = [format!("{verdict:<15}  {} ({})", outcome.name, outcome.place)];
        let arithmetic =
            outcome.arithmetic.iter().map(|sides| format!("{:17}{}", "", sides.shown()));
        for line in lines.into_iter().chain(arithmetic) {
            assert!(page.contains(&format!("\n{line}\n")), "`{line}` is not in the example");
        }
    }
    assert_eq!(outcomes.len(), 3);
    // With the second example behind it the file says which plan repeats it.
    let repeated = page.split("```toml\n").nth(2).unwrap().split("```").next().unwrap();
    let paper = ParsedPaper::parse("mine", &format!("{example}{repeated}")).unwrap();
    let beside = super::repeated::printed(&paper).unwrap();
    let gain = beside.comparisons[0].printed[0].percent.unwrap();
    assert!((gain - (80.0 / 27.0 - 1.0) * 100.0).abs() < 1e-9, "{gain}");
    assert_eq!(paper.document.repeated.unwrap().levels.len(), 2);
}

#[test]
fn nothing_else_is_said_not_to_follow_and_each_that_is_has_its_words() {
    for (paper, text) in PAPERS {
        for one in outcomes_of(paper, text) {
            let known = WRONG.iter().any(|(file, name, _)| file == paper && one.name == *name);
            let is_wrong = one.verdict == ClaimVerdict::DoesNotFollow;
            assert_eq!(is_wrong, known, "{paper}: {one:?}");
            let is_unsure = one.if_so == Some(ClaimVerdict::DoesNotFollow);
            let known = UNSURE.iter().any(|(file, name, _)| file == paper && one.name == *name);
            assert_eq!(is_unsure, known, "{paper}: {one:?}");
            let is_wrong = is_wrong || is_unsure;
            assert!(!is_wrong || one.says.is_some_and(|says| says.len() > 20), "{}", one.name);
        }
    }
}

#[test]
fn what_is_consistent_follows() {
    for (paper, name, arithmetic) in [
        (
            STEC,
            "transactions a second, from requests and minutes: disks",
            "1 000 000 / (60 × 612) = 27.23 (27.211 to 27.255), printed 27 (26.5 to 27.5) 1/s",
        ),
        (
            STEC,
            "transactions a second, from requests and minutes: card",
            "1 000 000 / (60 × 66.5) = 250.6 (250.44 to 250.82), printed 251 (250.5 to 251.5) 1/s",
        ),
        (
            STEC,
            "requests for each transaction are those of the workload: disks",
            "517 × 60 × 612 / 1 000 000 = 18.98 (18.95 to 19.018), printed 19",
        ),
        (
            STEC,
            "requests for each transaction are those of the workload: card",
            "4760 × 60 × 66.5 / 1 000 000 = 18.99 (18.976 to 19.009), printed 19",
        ),
        (
            STEC,
            "mean latency, from threads and run time: disks",
            "Little's law: 1000 × 20 / (1 000 000 / (60 × 612)) = 734.4 (733.8 to 735), printed \
            735 (734.5 to 735.5) ms",
        ),
        (
            STEC,
            "mean latency, from threads and run time: card",
            "Little's law: 1000 × 20 / (1 000 000 / (60 × 66.5)) = 79.8 (79.74 to 79.86), \
            printed 79.8 (79.75 to 79.85) ms",
        ),
        (
            STEC,
            "95th percentile against the mean: disks",
            "Markov's bound: 735 / (1 − 95 / 100) = 14 700 (14 690 to 14 710), to be at least \
            the printed 1168 (1167.5 to 1168.5) ms",
        ),
        (
            STEC,
            "total server cost is the sum of its parts: card",
            "9999 + 11 414 + 3455 = 24 868 (24 866.5 to 24 869.5), printed 24 869 USD",
        ),
        (
            STEC,
            "improvement factor, card over disks: tps",
            "251 / 27 = 9.296 (9.11 to 9.49), printed 9.3 (9.25 to 9.35)",
        ),
        (
            PERCONA,
            "1.8:1 in the drive",
            "2.5 / 1.4 = 1.786 (1.69 to 1.89), printed 1.8 (1.75 to 1.85) :1",
        ),
        (
            PERCONA,
            "1.6:1 by zlib",
            "2.5 / 1.6 = 1.562 (1.48 to 1.65), printed 1.6 (1.55 to 1.65) :1",
        ),
        (
            PERCONA,
            "83 % full, from 2.6T",
            "100 × 2.6 / 3.2 = 81.25 (78.5 to 84.1), printed 83 (82.5 to 83.5) %",
        ),
        (
            PERCONA,
            "as many statements as are prepared are allowed",
            "max(100, 1000, 100, 540, 540) × 9 × max(1, 8, 16, 32, 64, 96, 128, 256) = 2 304 \
            000, to be at most the printed 4 000 000",
        ),
        (
            EXFLASH,
            "neither mean nor 95th percentile is above the maximum: tps.fio_128",
            "max(1855.4304, 2280.2780) = 2280, to be at most the printed 7179.95",
        ),
        (
            FUNGIBLE,
            "the client's network carries the highest rate's reads",
            "max(60, 80, 100) × 1000 × 50 / 100 × 4 × 1024 × 8 / (1000 × 1000 × 1000) = 1.638, \
            to be less than the printed 10 Gbit/s",
        ),
    ] {
        assert_eq!(check(paper, name), (ClaimVerdict::Follows, arithmetic.into()), "{name}");
    }
}

#[test]
fn what_is_not_printed_cannot_be_told_and_says_what_is_missing() {
    for (paper, name, missing) in [
        (STEC, "11.6 times the CPUs' work", "CPU utilization"),
        (
            STEC,
            "cost of a transaction a second with the mirrored pair that the text says was priced",
            "one card or of the pair",
        ),
        (
            PERCONA,
            "default data are not or only slightly compressible",
            "ratio of the default schema",
        ),
        (EXFLASH, "how significant the difference of four and eight DIMMs is", "how many samples"),
        (FUNGIBLE, "latency at a target rate, from threads", "how many threads"),
        (FUNGIBLE, "tail latency of FSC is below that of DAS", "the figures"),
    ] {
        let outcomes = outcomes_of(paper, text(paper));
        let one = named(&outcomes, name);
        assert_eq!(one.verdict, ClaimVerdict::Undecidable, "{name}");
        assert!(one.says.as_ref().unwrap().contains(missing), "{name}: {:?}", one.says);
    }
}

/// Negative controls: one figure changed in a copy turns each kind of check, both ways.
#[test]
fn a_changed_figure_turns_the_check() {
    use ClaimVerdict::{DoesNotFollow, Follows};
    for (paper, from, to, name, verdict) in [
        (
            STEC,
            "[\"442\", \"87\"]",
            "[\"556\", \"99\"]",
            "cost of a transaction a second: disks",
            Follows,
        ),
        (
            STEC,
            "[\"442\", \"87\"]",
            "[\"556\", \"99\"]",
            "cost of a transaction a second: card",
            Follows,
        ),
        (
            STEC,
            "[\"15024\", \"24869\"]",
            "[\"15124\", \"24869\"]",
            "total server cost is the sum of its parts: disks",
            DoesNotFollow,
        ),
        (
            STEC,
            "[\"735\", \"79.8\", \"9.2\"]",
            "[\"745\", \"79.8\", \"9.2\"]",
            "mean latency, from threads and run time: disks",
            DoesNotFollow,
        ),
        (
            STEC,
            "[\"1168\", \"153\", \"7.6\"]",
            "[\"1168\", \"1953\", \"7.6\"]",
            "95th percentile against the mean: card",
            DoesNotFollow,
        ),
        (
            STEC,
            "requests_faster = { printed = \"9.3\"",
            "requests_faster = { printed = \"9.2\"",
            "9.3 times the read/write requests",
            Follows,
        ),
        (
            PERCONA,
            "extended_physical_t = { printed = \"2.3\"",
            "extended_physical_t = { printed = \"2.6\"",
            "4.7T take 2.6T in one place and 2.3T in another",
            Follows,
        ),
        (
            PERCONA,
            "threads_text = { printed = [\"1\", \"128\"]",
            "threads_text = { printed = [\"1\", \"256\"]",
            "up to 128 threads in one place",
            Follows,
        ),
        (
            PERCONA,
            "csd_physical_t = { printed = \"1.4\"",
            "csd_physical_t = { printed = \"1.7\"",
            "1.8:1 in the drive",
            DoesNotFollow,
        ),
        (
            PERCONA,
            "csd_physical_t = { printed = \"1.4\"",
            "csd_physical_t = { printed = \"1.7\"",
            "less than half full with 1.4T",
            DoesNotFollow,
        ),
        (
            PERCONA,
            "prepared = { printed = \"4000000\"",
            "prepared = { printed = \"2000000\"",
            "as many statements as are prepared are allowed",
            DoesNotFollow,
        ),
        (
            PERCONA,
            "\"4.7\"], unit = \"T\"",
            "\"5.0\"], unit = \"T\"",
            "2.5T and 4.7T, by their rows",
            Follows,
        ),
        (
            EXFLASH,
            "\"28.796017\"",
            "\"17.926017\"",
            "mean response time, if samples were means of transactions: dimm8_128",
            Follows,
        ),
        (
            EXFLASH,
            "\"7723.13\"",
            "\"7123.13\"",
            "neither mean nor 95th percentile is above the maximum: tps.dimm8_128",
            DoesNotFollow,
        ),
        (
            EXFLASH,
            "\"44.2600\"",
            "\"54.2600\"",
            "DIMMs have less than a quarter of the response time, with 128 threads: dimm4",
            DoesNotFollow,
        ),
        (
            FUNGIBLE,
            "pool_gb = { printed = \"16\"",
            "pool_gb = { printed = \"12\"",
            "the pool of the text is that of the settings",
            DoesNotFollow,
        ),
    ] {
        let (came, arithmetic) = after(paper, from, to, name);
        assert_eq!(came, verdict, "{name}: {arithmetic}");
    }
}

#[test]
fn what_rests_on_a_number_from_elsewhere_says_so() {
    let outcomes = outcomes_of(STEC, text(STEC));
    let one = named(&outcomes, "requests for each transaction are those of the workload: disks");
    assert!(one.given[0].starts_with("19 requests: sysbench 0.4.12"), "{:?}", one.given);
    assert!(named(&outcomes, "9.3 times the read/write requests").given.is_empty());
}
