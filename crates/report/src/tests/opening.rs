//! Tests the first screen: one sentence where nothing can be told apart, the configuration that the
//! question is about, caveats in three lines, prices beside speeds, and no A/A run as a
//! configuration of its own.

use super::*;
use assay_study::metrics::Window;
use assay_study::prices::Prices;
use assay_study::{AskedPair, Config, Judging, Outcome, TrialKey, WorkloadRecord};
use assay_study::{CpuUse, DiskRecord, Media, Model, RigRecord, Warning};

fn judging() -> Judging {
    Judging {
        baseline: Some("base".into()),
        aa_runs: [("again".to_owned(), "base".to_owned())].into(),
        ..Judging::default()
    }
}

/// A study of models of these levels in 1/s, in which each repeat is off by up to `off` either way;
/// `again` is the A/A run of `base`, which is the baseline.
fn study(directory: &Path, configs: &[(&str, f64)], off: f64) -> Store {
    let at = |level: f64, wave: f64| outcome(level * (1.0 + off * wave));
    study_of(directory, configs, BTreeMap::new(), &at)
}

/// The same at a fixed rate, which all keep but for a share `missed` of those whose level is below
/// 900: a level is how fast they answer.
fn study_at_rate(directory: &Path, configs: &[(&str, f64)], missed: f64) -> Store {
    let at = |level: f64, wave: f64| {
        let tps = 250.0 * (1.0 - if level < 900.0 { missed } else { 0.0 }) * (1.0 + 1e-4 * wave);
        let mut outcome = outcome(tps);
        let p99_ms = 8e3 / (level * (1.0 + 0.002 * wave));
        outcome.results.insert("latency_ms_p99".to_owned(), p99_ms);
        outcome
    };
    let options = [("rate".to_owned(), "250".to_owned())].into();
    study_of(directory, configs, options, &at)
}

/// The same of whatever a level and a wave from -1 to 1 come to, under workloads with these
/// options.
pub(super) fn study_of(
    directory: &Path,
    configs: &[(&str, f64)],
    options: BTreeMap<String, String>,
    at: &dyn Fn(f64, f64) -> Outcome,
) -> Store {
    let mut store = Store::open_or_create(directory).unwrap();
    let config = |(name, _): &(&str, f64)| Config {
        name: (*name).into(),
        rig: RigRecord {
            disk: Some(DiskRecord {
                media: Media::Model(Model { parallel_scale: 1.0, ..Model::default() }),
                ..DiskRecord::default()
            }),
            ..RigRecord::default()
        },
        settings: [("innodb_doublewrite".to_owned(), "ON".to_owned())].into(),
    };
    let workloads = ["read write", "write only"].map(|name| WorkloadRecord {
        name: name.into(),
        workload: name.into(),
        data_profile: None,
        recipe: "oltp_read_write".into(),
        options: options.clone(),
    });
    let judging = judging();
    let head = StudyHead {
        title: "small",
        question: Some("Which is faster?"),
        configs: &configs.iter().map(config).collect::<Vec<_>>(),
        workloads: &workloads,
        judging: &judging,
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    let mut position = 0;
    for repeat in 1..=3_u32 {
        for workload in &workloads {
            for (place, (name, level)) in configs.iter().enumerate() {
                position += 1;
                let workload = workload.name.clone();
                let key = TrialKey { config: (*name).into(), workload, threads: 8, repeat };
                store.plan_trial(&key, position, "f").unwrap();
                store.begin_trial(&key).unwrap();
                let wave = f64::from((repeat * 7 + place as u32 * 5 + position) % 5) / 2.0 - 1.0;
                store.end_trial(&key, &at(*level, wave)).unwrap();
            }
        }
    }
    store
}

pub(super) fn outcome(tps: f64) -> Outcome {
    Outcome {
        window: Some(Window { from_s: 0.0, to_s: 20.0 }),
        results: [
            ("tps".to_owned(), tps),
            ("latency_ms_p99".to_owned(), 8e3 / tps),
            ("write_bytes_per_transaction".to_owned(), 4e4),
        ]
        .into(),
        ..Outcome::default()
    }
}

const PRICES: &str = "currency = \"EUR\"\nyears = 2\n[every_config]\nserver_price = \
    1000\ndrive_price = 200\n[configs.\"one, new\"]\n\
    drive_price = 1400\n";

fn opening(configs: &[(&str, f64)], off: f64, prices: Option<&str>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let store = study(directory.path(), configs, off);
    shown(directory.path(), &store, prices)
}

fn shown(directory: &Path, store: &Store, prices: Option<&str>) -> String {
    let prices = prices.map(|text| Prices::parse(text).unwrap());
    let wishes = Supplied { prices: prices.as_ref(), ..Supplied::default() };
    let written = write_as(store, directory, wishes, ReportOptions::default()).unwrap();
    let markup = markup(&fs::read_to_string(&written.html).unwrap());
    markup.split_once("<section id=\"verdict\"").unwrap().1.split_once("<nav").unwrap().0.to_owned()
}

fn sentence(opening: &str) -> String {
    let after = opening.split_once("<p class=\"sentence").unwrap().1.split_once('>').unwrap().1;
    after.split_once("</p>").unwrap().0.to_owned()
}

const ALIKE: [(&str, f64); 4] =
    [("one, new", 1000.0), ("base", 1000.0), ("again", 1000.0), ("two", 1005.0)];
pub(super) const UNLIKE: [(&str, f64); 4] =
    [("one, new", 1500.0), ("base", 1000.0), ("again", 1001.0), ("two", 1004.0)];

#[test]
fn one_sentence_says_that_nothing_can_be_told_apart_and_what_could_not_have_been_seen() {
    let text = sentence(&opening(&ALIKE, 0.2, None));
    let (head, rest) = text.split_once(": a difference of ").unwrap();
    assert_eq!(head, "No configuration differs significantly from base in throughput");
    let percent = rest.strip_suffix(" % would have been found four times in five.").unwrap();
    assert!((10.0..90.0).contains(&percent.parse::<f64>().unwrap()), "{text}");
    let told = sentence(&opening(&UNLIKE, 0.002, None));
    assert!(!told.contains("No configuration"), "what can be told is told: {told}");
}

#[test]
fn the_config_that_is_asked_about_comes_first_and_its_numbers_stand_beside() {
    let opening = opening(&UNLIKE, 0.002, None);
    let text = sentence(&opening);
    assert!(text.starts_with("Under read write, “one, new” is "), "{text}");
    assert!(text.contains(" % faster than base ("), "{text}");
    assert!(text.ends_with("The other 2 comparisons came out equally fast."), "{text}");
    let of = opening.split_once("<p class=\"of\">").unwrap().1;
    assert!(of.starts_with("“one, new” against base, read write, at 8 threads<"), "{of}");
    // Also where another configuration differs more.
    let other = self::opening(&[UNLIKE[1], UNLIKE[2], ALIKE[0], ("two", 3000.0)], 0.002, None);
    assert!(other.contains("<p class=\"of\">“one, new” against base"), "{other}");
}

#[test]
fn at_a_fixed_rate_that_all_keep_the_response_time_answers() {
    let directory = tempfile::tempdir().unwrap();
    let slow = [("one, new", 500.0), ("base", 1000.0), ("again", 1001.0), ("two", 1100.0)];
    let store = study_at_rate(directory.path(), &slow, 0.0);
    let opening = shown(directory.path(), &store, Some(PRICES));
    let text = sentence(&opening);
    let told = "Under read write at 250&#x2f;s, the p99 response time of “one, new” is 2.0 times \
        that of base (";
    assert!(text.starts_with(told), "{text}");
    assert!(text.ends_with("The other 2 comparisons came out better."), "{text}");
    assert!(opening.contains("p99 response time above or below base"), "{opening}");
    let numbers = opening.split_once("<p class=\"of\">").unwrap().1;
    let place = |name: &str| numbers.find(name).unwrap();
    assert!(place("p99 response time") < place("Throughput"), "{numbers}");
    // As many transactions as were asked for are no throughput that a price could be divided by.
    assert!(!numbers.contains("Price per transaction per second"), "{numbers}");
    // Whoever does not keep the rate is slower, and its response times are of another load.
    let directory = tempfile::tempdir().unwrap();
    let text =
        sentence(&shown(directory.path(), &study_at_rate(directory.path(), &slow, 0.3), None));
    assert!(text.contains("“one, new” is 30.00 % slower than base ("), "{text}");
}

#[test]
fn a_p99_in_closed_loop_is_told_with_what_it_does_not_show() {
    let told = "closed loop: no transactions are sent during a stall";
    let closed = opening(&UNLIKE, 0.002, None);
    assert!(closed.contains(told), "{closed}");
    let directory = tempfile::tempdir().unwrap();
    let store = study_at_rate(directory.path(), &UNLIKE, 0.0);
    let at_rate = shown(directory.path(), &store, None);
    assert!(!at_rate.contains(told), "{at_rate}");
}

#[test]
fn at_a_fixed_rate_too_nothing_is_told_where_nothing_differs() {
    let directory = tempfile::tempdir().unwrap();
    let alike = [("one, new", 1000.0), ("base", 1000.0), ("again", 1000.0), ("two", 1000.0)];
    let store = study_at_rate(directory.path(), &alike, 0.0);
    let text = sentence(&shown(directory.path(), &store, None));
    let told = "No configuration differs significantly from base in p99 response time: ";
    assert!(text.starts_with(told), "{text}");
    assert!(text.contains("cannot show that tails are equivalent: a stall in one run of five"));
}

#[test]
fn what_to_know_first_is_short_and_leads_to_the_rest() {
    let opening = opening(&ALIKE, 0.002, None);
    let known = opening.split_once("class=\"warning\"").unwrap().1.split_once("</div>").unwrap().0;
    let lines: Vec<&str> = known.split("<li>").skip(1).collect();
    assert!(!lines.is_empty() && lines.len() <= 3, "{known}");
    assert!(lines.iter().all(|line| line.split_once('<').unwrap().0.chars().count() < 90));
    assert!(known.contains("<a href=\"#caveats\">"), "{known}");
    assert!(known.contains("All configurations use emulated drives"), "{known}");
    assert!(!known.contains("again"), "an A/A run is no model of its own: {known}");
    assert!(
        opening.contains("3 configurations (“one, new”, base and two), one of them twice"),
        "{opening}"
    );
}

#[test]
fn prices_stand_on_the_first_screen_where_there_are_any() {
    let name = "Price per transaction per second";
    assert!(!opening(&UNLIKE, 0.002, None).contains(name), "nobody gave prices");
    let priced = opening(&UNLIKE, 0.002, Some(PRICES));
    let number = priced.split_once(name).unwrap().1;
    // 2 400 for 1 500 a second against 1 200 for 1 000.
    assert!(number.contains("<b>33 %</b> more"), "{number}");
    assert!(number.contains("1.60 against 1.20 EUR over 2 years, at 8 threads"), "{number}");
}

#[test]
fn the_pairs_that_a_plan_names_are_answered_before_anything_else() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = study(directory.path(), &UNLIKE, 0.002);
    let pair = |config: &str, against: &str| AskedPair {
        config: config.into(),
        against: against.into(),
        data_profile: Some("large".into()),
        ..AskedPair::default()
    };
    let across = AskedPair { against_data_profile: Some("small".into()), ..pair("base", "two") };
    let judging = Judging { compare: vec![pair("two", "one, new"), across], ..judging() };
    let workload = |name: &str, profile: &str| WorkloadRecord {
        name: name.into(),
        workload: "mixed".into(),
        data_profile: Some(profile.into()),
        recipe: "oltp_read_write".into(),
        options: BTreeMap::new(),
    };
    let workloads = [workload("read write", "small"), workload("write only", "large")];
    let head = StudyHead { judging: &judging, workloads: &workloads, ..StudyHead::default() };
    store.write_head(&head).unwrap();
    let opening = shown(directory.path(), &store, Some(PRICES));
    let text = sentence(&opening);
    assert!(
        text.starts_with("Under write only, two is 33.20 % slower than “one, new” ("),
        "{text}"
    );
    let across = "base on “write only” and two on “read write” are equally fast (";
    assert!(text.contains(across), "{text}");
    assert!(text.contains("The other 4 comparisons came out"), "{text}");
    let of = "<p class=\"of\">two against “one, new”, write only, at 8 threads<";
    assert!(opening.contains(of), "{opening}");
    let verdicts = rows(&directory.path().join("tables/verdicts.csv"));
    let asked: Vec<&str> = verdicts.iter().map(|row| row["question"].as_str()).collect();
    assert_eq!((asked[0], asked[5], asked[10]), ("1", "2", ""));
    assert_eq!(verdicts[5]["against_workload"], "read write");
    let json = fs::read(directory.path().join("results.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    let one = &json["judgement"]["comparisons"][5];
    assert_eq!(
        (&one["question"], &one["against_workload"]),
        (&serde_json::json!(2), &serde_json::json!("read write"))
    );
    assert_eq!(json["judging"]["compare"][1]["against_data_profile"], "small");
}

#[test]
fn drive_and_doublewrite_are_told_apart_where_both_changed() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = study(directory.path(), &UNLIKE, 0.002);
    let mut head = store.study().unwrap();
    for config in head.configs.iter_mut().filter(|one| ["one, new", "two"].contains(&&*one.name)) {
        config.settings.insert("innodb_doublewrite".into(), "OFF".into());
        if config.name == "one, new" {
            let media = Media::Device { path: "/dev/new".into() };
            config.rig.disk = Some(DiskRecord { media, ..DiskRecord::default() });
        }
    }
    store.write_head(&StudyHead::from(&head)).unwrap();
    let opening = shown(directory.path(), &store, None);
    let told = "bytes to device per transaction, 95 % intervals: innodb_doublewrite no \
        significant change (0 to 0 %), then disk and filled no significant change (0 to 0 %)";
    assert!(opening.contains(told), "{opening}");
    let steps = rows(&directory.path().join("tables/steps.csv"));
    let of = |place: usize, name: &str| steps[place][name].clone();
    let names = ["step", "step_against", "step_config", "factors"];
    let told: Vec<Vec<String>> =
        (0..3).map(|place| names.iter().map(|name| of(place, name)).collect()).collect();
    assert_eq!(told[0], ["0", "base", "one, new", "disk; filled; innodb_doublewrite"]);
    assert_eq!(told[1], ["1", "base", "two", "innodb_doublewrite"]);
    assert_eq!(told[2], ["2", "two", "one, new", "disk; filled"]);
    let ratio = |place: usize| of(place, "throughput_ratio").parse::<f64>().unwrap();
    assert!((ratio(1) * ratio(2) / ratio(0) - 1.0).abs() < 1e-9);
    let json = fs::read(directory.path().join("results.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    let chains = json["judgement"]["chains"].as_array().unwrap();
    assert_eq!((chains.len(), chains[0]["steps"].as_array().unwrap().len()), (2, 2));
}

#[test]
fn a_step_with_a_verdict_is_told_where_no_comparison_as_a_whole_has_one() {
    let directory = tempfile::tempdir().unwrap();
    // The baseline's runs are spoilt, so that nothing can be compared with it; two and the new one
    // can.
    let at = |level: f64, wave: f64| {
        let late = Warning::MissedDeadlines { percent: 30.0, cpu: CpuUse::NONE };
        let is_spoilt = (999.0..1002.0).contains(&level);
        let warnings = is_spoilt.then_some(late).into_iter().collect();
        Outcome { warnings, ..outcome(level * (1.0 + 0.002 * wave)) }
    };
    let mut store = study_of(directory.path(), &UNLIKE, BTreeMap::new(), &at);
    let before = sentence(&shown(directory.path(), &store, None));
    assert!(before.starts_with("Inconclusive: "), "no configuration lies between: {before}");
    let mut head = store.study().unwrap();
    for config in head.configs.iter_mut().filter(|one| ["one, new", "two"].contains(&&*one.name)) {
        config.settings.insert("innodb_doublewrite".into(), "OFF".into());
        if config.name == "one, new" {
            config.settings.insert("innodb_io_capacity".into(), "9000".into());
        }
    }
    store.write_head(&StudyHead::from(&head)).unwrap();
    let text = sentence(&shown(directory.path(), &store, None));
    assert!(
        text.starts_with("Under read write, “one, new” is 49.70 % faster than two ("),
        "{text}"
    );
    assert!(text.contains("; they differ in innodb_io_capacity. Under write only, "), "{text}");
    assert!(text.contains(" Otherwise inconclusive: 12 of 24 runs were "), "{text}");
    let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
    let verdicts = section(&markup(&page), "verdicts").unwrap();
    assert!(
        verdicts.contains("No comparison as a whole came to a verdict. Steps of one factor did: 2"),
        "{verdicts}"
    );
    assert!(verdicts.contains("<details id=\"steps\" open>"), "{verdicts}");
}
