//! What follows and what does not in the papers that come with Assay, each by its arithmetic; and that a changed figure is noticed.

use super::find::{PAPERS, find};
use super::outcome::{self, Outcome, Verdict};
use super::paper::Paper;

fn text(name: &str) -> &'static str {
    PAPERS.iter().find(|(one, _)| *one == name).unwrap().1
}

fn outcomes_of(name: &str, text: &str) -> Vec<Outcome> {
    outcome::all(&Paper::parse(name, text).unwrap()).unwrap()
}

fn named<'a>(outcomes: &'a [Outcome], name: &str) -> &'a Outcome {
    let found = outcomes.iter().find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("there is no check `{name}`"))
}

/// What comes of the check `name` of a paper whose text has `to` in place of `from`, with its arithmetic.
fn after(paper: &str, from: &str, to: &str, name: &str) -> (Verdict, String) {
    let changed = text(paper).replacen(from, to, 1);
    assert!(from == to || changed != text(paper), "`{from}` is not in {paper}");
    let outcomes = outcomes_of(paper, &changed);
    let one = named(&outcomes, name);
    (one.verdict, one.arithmetic.as_ref().map_or_else(String::new, |one| one.shown()))
}

fn check(paper: &str, name: &str) -> (Verdict, String) {
    after(paper, "", "", name)
}

const STEC: &str = "stec-2013";
const PERCONA: &str = "percona-scaleflux-2020";
const EXFLASH: &str = "exflash-2015";
const FUNGIBLE: &str = "fungible-2021";

/// Every check that does not follow: the paper, its name, its arithmetic. What is not here follows or cannot be told.
const WRONG: [(&str, &str, &str); 25] = [
    (
        STEC,
        "9.3 times the transactions, from run times of as many requests",
        "612 / 66.5 = 9.203 (9.189 to 9.217), printed 9.3 (9.25 to 9.35)",
    ),
    (
        STEC,
        "9.3 times the read/write requests",
        "4760 / 517 = 9.207 (9.197 to 9.217), printed 9.3 (9.25 to 9.35)",
    ),
    (
        STEC,
        "cost of a transaction a second: disks",
        "15 024 / 27 = 556.4 (546 to 567), printed 442 (441.5 to 442.5) USD",
    ),
    (
        STEC,
        "cost of a transaction a second: card",
        "24 869 / 251 = 99.08 (98.88 to 99.28), printed 87 (86.5 to 87.5) USD",
    ),
    (
        STEC,
        "performance per dollar, from the printed costs of a transaction",
        "442 / 87 = 5.08 (5.046 to 5.116), printed 5.4 (5.35 to 5.45) ×",
    ),
    (
        STEC,
        "performance per dollar, from prices and rates",
        "(251 / 24 869) / (27 / 15 024) = 5.616 (5.5 to 5.73), printed 5.4 (5.35 to 5.45) ×",
    ),
    (
        PERCONA,
        "4.7T take 2.6T in one place and 2.3T in another",
        "2.6 (2.55 to 2.65), printed 2.3 (2.25 to 2.35) T",
    ),
    (
        PERCONA,
        "83 % full, from 2.3T",
        "100 × 2.3 / 3.2 = 71.87 (69.2 to 74.6), printed 83 (82.5 to 83.5) %",
    ),
    (
        PERCONA,
        "1.8:1, from 4.7T in 2.3T",
        "4.7 / 2.3 = 2.043 (1.98 to 2.11), printed 1.8 (1.75 to 1.85) :1",
    ),
    (
        PERCONA,
        "2.5T and 4.7T, by their rows",
        "2.5 × 20 / 10 = 5 (4.9 to 5.1), printed 4.7 (4.65 to 4.75) T",
    ),
    (
        PERCONA,
        "440G and 2.5T, by their tables, with T as 1000 G",
        "440 × 540 / 100 / 1000 = 2.376 (2.349 to 2.403), printed 2.5 (2.45 to 2.55) T",
    ),
    (
        PERCONA,
        "up to 128 threads in one place",
        "max(1, 8, 16, 32, 64, 96, 128, 256) = 256, against max(1, 128) = 128 threads",
    ),
    (PERCONA, "workloads of Table 1 with 2.3T, by the list of scenarios", "3, printed 2"),
    (
        PERCONA,
        "benefit grows with size while the schema stays: default, 220G to 2.3T: read_write",
        "−12 − 1 = −13 (−14 to −12), to be more than 0 %",
    ),
    (
        PERCONA,
        "benefit grows with size while the schema stays: default, 220G to 2.3T: read_only",
        "−14 − (−1) = −13 (−14 to −12), to be more than 0 %",
    ),
    (
        PERCONA,
        "ScaleFlux has the advantage with the larger default data",
        "mean(−12, 19, −14) = −2.333 (−2.83 to −1.83), to be more than 0 %",
    ),
    (
        PERCONA,
        "Intel has the advantage in the blog's first test",
        "1 (0.5 to 1.5), to be less than 0 %",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm4_128",
        "Little's law: 1000 × 128 / 5996.5105 = 21.35 (18.1 to 24.5), printed 37.931489 ms; 15 % allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm4_256",
        "Little's law: 1000 × 256 / 6162.4271 = 41.54 (35 to 48), printed 90.789317 ms; 15 % allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm8_128",
        "Little's law: 1000 × 128 / 7140.5038 = 17.93 (15.2 to 20.6), printed 28.796017 ms; 15 % allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm8_256",
        "Little's law: 1000 × 256 / 6498.1460 = 39.4 (33 to 45), printed 94.060628 ms; 15 % allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: fio_128",
        "Little's law: 1000 × 128 / 1855.4304 = 68.99 (59 to 79), printed 138.052150 ms; 15 % allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: fio_256",
        "Little's law: 1000 × 256 / 2187.5271 = 117 (99 to 135), printed 304.851844 ms; 15 % allowed",
    ),
    (
        EXFLASH,
        "DIMMs have less than a quarter of the response time, with 256 threads: dimm4",
        "109.0450 / 392.7660 = 0.2776, to be less than the printed 0.25 ×",
    ),
    (
        EXFLASH,
        "DIMMs have less than a quarter of the response time, with 256 threads: dimm8",
        "101.6300 / 392.7660 = 0.2588, to be less than the printed 0.25 ×",
    ),
];

#[test]
fn what_does_not_follow_is_found_by_its_arithmetic() {
    for (paper, name, arithmetic) in WRONG {
        assert_eq!(check(paper, name), (Verdict::DoesNotFollow, arithmetic.into()), "{name}");
    }
}

#[test]
fn the_documentation_has_what_the_program_prints() {
    let page = include_str!("../../../../docs/claims.md");
    let table = page.split("## What does not follow").nth(1).unwrap();
    for (paper, name, arithmetic) in WRONG {
        let row = table.lines().find(|line| line.contains(&format!("| {paper} | {name} (")));
        assert!(row.is_some_and(|row| row.ends_with(&format!("| {arithmetic} |"))), "{name}");
    }
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), WRONG.len() + 1);
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let outcomes = outcomes_of("mine", example);
    for one in &outcomes {
        let lines = [format!("{:<15}  {} ({})", one.verdict.words(), one.name, one.place)];
        let arithmetic = one.arithmetic.iter().map(|one| format!("{:17}{}", "", one.shown()));
        for line in lines.into_iter().chain(arithmetic) {
            assert!(page.contains(&format!("\n{line}\n")), "`{line}` is not in the example");
        }
    }
    assert_eq!(outcomes.len(), 3);
}

#[test]
fn nothing_else_is_said_not_to_follow_and_each_that_is_has_its_words() {
    for (paper, text) in PAPERS {
        for one in outcomes_of(paper, text) {
            let known = WRONG.iter().any(|(file, name, _)| file == paper && one.name == *name);
            let is_wrong = one.verdict == Verdict::DoesNotFollow;
            assert_eq!(is_wrong, known, "{paper}: {one:?}");
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
            "Little's law: 1000 × 20 / (1 000 000 / (60 × 612)) = 734.4 (733.8 to 735), printed 735 (734.5 to 735.5) ms",
        ),
        (
            STEC,
            "mean latency, from threads and run time: card",
            "Little's law: 1000 × 20 / (1 000 000 / (60 × 66.5)) = 79.8 (79.74 to 79.86), printed 79.8 (79.75 to 79.85) ms",
        ),
        (
            STEC,
            "95th percentile against the mean: disks",
            "Markov's bound: 735 / (1 − 95 / 100) = 14 700 (14 690 to 14 710), to be at least the printed 1168 (1167.5 to 1168.5) ms",
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
            "max(100, 1000, 100, 540, 540) × 9 × max(1, 8, 16, 32, 64, 96, 128, 256) = 2 304 000, to be at most the printed 4 000 000",
        ),
        (
            EXFLASH,
            "neither mean nor 95th percentile is above the maximum: tps.fio_128",
            "max(1855.4304, 2280.2780) = 2280, to be at most the printed 7179.95",
        ),
        (
            FUNGIBLE,
            "the client's network carries the highest rate's reads",
            "max(60, 80, 100) × 1000 × 50 / 100 × 4 × 1024 × 8 / (1000 × 1000 × 1000) = 1.638, to be less than the printed 10 Gbit/s",
        ),
    ] {
        assert_eq!(check(paper, name), (Verdict::Follows, arithmetic.into()), "{name}");
    }
}

#[test]
fn what_is_not_printed_cannot_be_told_and_says_what_is_missing() {
    for (paper, name, missing) in [
        (STEC, "11.6 times the processors' work", "CPU utilization"),
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
        assert_eq!(one.verdict, Verdict::CannotBeTold, "{name}");
        assert!(one.says.as_ref().unwrap().contains(missing), "{name}: {:?}", one.says);
    }
}

/// Negative controls: one figure changed in a copy turns each kind of check, both ways.
#[test]
fn a_changed_figure_turns_the_check() {
    use Verdict::{DoesNotFollow, Follows};
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

#[test]
fn every_figure_has_its_place_and_is_told_once() {
    let mut figures = 0;
    for (name, text) in PAPERS {
        let paper = Paper::parse(name, text).unwrap();
        figures += paper.figures.len();
        for (name, figure) in &paper.figures {
            assert!(figure.place.len() > 2 && figure.what.len() > 2, "{name}");
            let is_number = figure.values().iter().all(|one| one.value.is_finite());
            assert!(is_number && (!figure.printed.is_empty() || figure.says.is_some()), "{name}");
        }
        for remark in &paper.document.remarks {
            assert!(remark.place.len() > 2 && remark.says.len() > 20);
        }
    }
    assert!(figures > 250, "{figures}");
}

/// How a changed copy of the shortest paper is refused.
fn refused(from: &str, to: &str) -> String {
    let changed = text(STEC).replacen(from, to, 1);
    assert_ne!(changed, text(STEC), "`{from}` is not there");
    let error = format!("{:#}", Paper::parse(STEC, &changed).unwrap_err());
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
            "`251x` is no number as printed",
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
            "give computed and printed, little, markov or missing",
        ),
        (
            "kind = \"factors\"",
            "kind = \"factor\"",
            "unknown value `factor`; did you mean `factors`?",
        ),
        ("factors = [\"storage\", \"length of the run\"]", "factors = [\"storage\"]", "one factor"),
        ("percent = 95", "percent = 100", "markov.percent is from 1 to 99"),
        (
            "figure = \"chart1.tps.disks\"",
            "figure = \"chart1.tps.disc\"",
            "there is no figure `chart1.tps.disc`; did you mean `chart1.tps.disks`?",
        ),
        ("relation = \">\"", "relation = \"=>\"", "unknown value `=>`"),
        ("threads = { printed = \"20\"", "\"a b\" = { printed = \"20\"", "is no name for a figure"),
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
    assert_eq!(says("stec-2031"), "no claims are called `stec-2031`; did you mean `stec-2013`?");
    assert!(
        says("oracle-1999").contains("there are percona-scaleflux-2020, "),
        "{}",
        says("oracle-1999")
    );
    assert!(says("./none.toml").starts_with("cannot read ./none.toml: No such file"));
}
