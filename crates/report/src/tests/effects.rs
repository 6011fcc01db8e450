//! Tests that a study of two crossed factors tells their effects apart on the page, in Markdown and
//! in its files.

use super::opening::{outcome, study_of};
use super::*;
use assay_study::{AskedPair, Outcome, PlannedFactor};

const CELLS: [(&str, f64); 4] =
    [("ON plain", 1000.0), ("ON csd", 1100.0), ("OFF plain", 1200.0), ("OFF csd", 1980.0)];

/// Both factors change throughput and bytes; off on the compressing drive is 1.5 times as much as
/// both by themselves.
fn at(level: f64, wave: f64) -> Outcome {
    let mut outcome = outcome(level * (1.0 + 0.002 * wave));
    let share = match level {
        1000.0 => 1.0,
        1100.0 => 0.5,
        1200.0 => 0.8,
        _ => 0.4,
    };
    let bytes = 4e4 * share * (1.0 + 0.001 * wave);
    outcome.results.insert("write_bytes_per_transaction".to_owned(), bytes);
    outcome
}

fn factor(name: &str, levels: [&str; 2]) -> PlannedFactor {
    let level = |config: &str| levels.iter().find(|level| config.contains(*level)).unwrap();
    PlannedFactor {
        name: name.into(),
        levels: levels.map(str::to_owned).to_vec(),
        configs: CELLS.iter().map(|(name, _)| ((*name).into(), (*level(name)).into())).collect(),
    }
}

fn store(directory: &Path) -> Store {
    let mut store = study_of(directory, &CELLS, BTreeMap::new(), &at);
    let mut head = store.study().unwrap();
    head.judging = assay_study::Judging::default();
    head.judging.factors =
        vec![factor("doublewrite", ["ON", "OFF"]), factor("drive", ["plain", "csd"])];
    head.judging.compare = vec![AskedPair {
        config: "OFF csd".into(),
        against: "ON plain".into(),
        ..AskedPair::default()
    }];
    for config in &mut head.configs {
        let level = if config.name.starts_with("ON") { "ON" } else { "OFF" };
        config.settings.insert("innodb_doublewrite".into(), level.into());
        let drive = if config.name.ends_with("csd") { "4" } else { "8" };
        config.settings.insert("innodb_write_io_threads".into(), drive.into());
    }
    store.write_head(&StudyHead::from(&head)).unwrap();
    store
}

#[test]
fn two_crossed_factors_are_told_apart_with_their_interaction() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path());
    let written =
        write_as(&store, directory.path(), Supplied::default(), ReportOptions::default()).unwrap();
    let table = rows(&directory.path().join("tables/effects.csv"));
    let of = |kind: &str, factor: &str, metric: &str| {
        let is_it = |row: &&BTreeMap<String, String>| {
            (&*row["kind"], &*row["factor"], &*row["metric"], &*row["workload"])
                == (kind, factor, metric, "read write")
        };
        table.iter().filter(is_it).cloned().collect::<Vec<_>>()
    };
    let ratio = |row: &BTreeMap<String, String>| row["ratio"].parse::<f64>().unwrap();
    let main = of("main", "doublewrite", "tps");
    assert!((ratio(&main[0]) - (1.2f64 * 1.8).sqrt()).abs() < 0.01, "{main:?}");
    assert_eq!(
        (&*main[0]["against"], &*main[0]["level"], &*main[0]["verdict"]),
        ("ON", "OFF", "better")
    );
    assert!(main[0]["text"].ends_with("; depends on drive"), "{main:?}");
    let between = of("interaction", "doublewrite", "tps");
    assert!((ratio(&between[0]) - 1.5).abs() < 0.02, "{between:?}");
    let simple = of("simple", "doublewrite", "tps");
    let at: Vec<&str> = simple.iter().map(|row| &*row["other_level"]).collect();
    assert_eq!(at, ["plain", "csd"]);
    let bytes = of("main", "drive", "bytes_to_device_per_transaction");
    assert!(
        (ratio(&bytes[0]) - 0.5).abs() < 0.01 && !bytes[0]["ratio_low"].is_empty(),
        "{bytes:?}"
    );
    let page = markup(&fs::read_to_string(&written.html).unwrap());
    let verdicts = section(&page, "verdicts").unwrap();
    assert!(verdicts.contains("<details id=\"effects\" open>"), "{verdicts}");
    assert!(verdicts.contains("the main effects depend on each other"), "{verdicts}");
    assert!(
        verdicts.contains("mean over 2 orders") && verdicts.contains("; by order "),
        "{verdicts}"
    );
    assert!(
        page.contains("bytes to device per transaction, mean over 2 orders, 95 % intervals: "),
        "the first screen tells them apart"
    );
    let json: Value =
        serde_json::from_slice(&fs::read(directory.path().join("results.json")).unwrap()).unwrap();
    let effects = &json["judgement"]["effects"][0];
    assert_eq!(
        (&effects["is_planned"], &effects["factors"][1]["levels"][0]),
        (&true.into(), &"plain".into())
    );
    assert_eq!(effects["interactions"][0]["is_there"], true);
    let analysis = analysed(&store);
    assert!(
        crate::markdown(&analysis)
            .contains("| workload | threads | figure | factor | levels | effect |")
    );
}
