//! Studies of files: sentences speak of operations, and what people wrote stays as they wrote it.

use super::*;
use assay_study::metrics::Window;
use assay_study::{Config, Outcome, RigRecord, TrialKey, WorkloadRecord};

const TITLE: &str = "How many transactions a second?";
const PLAN: &str = "# A transaction is a line; TPS are lines per second.\ntitle = \"How many \
    transactions a second?\"\n";
const CONFIGS: [&str; 2] = ["with transactions", "TPS"];

/// A study whose texts hold the words that sentences about servers use.
fn study_of_files(directory: &Path) -> Store {
    let mut store = Store::open_or_create(directory).unwrap();
    let config =
        |name: &str| Config { name: name.into(), rig: RigRecord::default(), settings: [].into() };
    let workload = WorkloadRecord {
        name: "a transaction".into(),
        workload: "a transaction".into(),
        data_profile: None,
        recipe: "fileio".into(),
        options: BTreeMap::new(),
    };
    let head = StudyHead {
        title: TITLE,
        plan_toml: PLAN,
        configs: &CONFIGS.map(config),
        workloads: &[workload],
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    for (position, (config, repeat)) in
        CONFIGS.into_iter().flat_map(|config| [(config, 1), (config, 2)]).enumerate()
    {
        let workload = "a transaction".into();
        let key = TrialKey { config: config.into(), workload, threads: 2, repeat };
        store.plan_trial(&key, position as u32 + 1, "f").unwrap();
        store.begin_trial(&key).unwrap();
        let tps = if config == "TPS" { 2000.0 } else { 1000.0 } + f64::from(repeat);
        let results = [("tps", tps), ("latency_ms_p99", 3.0), ("write_bytes_per_transaction", 9e3)];
        let outcome = Outcome {
            window: Some(Window { from_s: 0.0, to_s: 20.0 }),
            results: results.map(|(name, value)| (name.to_owned(), value)).into(),
            ..Outcome::default()
        };
        store.end_trial(&key, &outcome).unwrap();
    }
    store
}

#[test]
fn a_plan_is_shown_as_it_was_written_and_sentences_speak_of_operations() {
    let directory = tempfile::tempdir().unwrap();
    let store = study_of_files(directory.path());
    let notes = Some("Mind the transactions.");
    let options = ReportOptions { notes, ..ReportOptions::default() };
    let written = write_as(&store, directory.path(), Supplied::default(), options).unwrap();
    let page = markup(&fs::read_to_string(&written.html).unwrap());
    for theirs in
        ["A transaction is a line; TPS are lines per second.", TITLE, "Mind the transactions."]
    {
        assert!(page.contains(theirs), "{theirs}");
    }
    let mut ours = page.replace(TITLE, "").replace("Mind the transactions.", "");
    ours = ours.replace("A transaction is a line; TPS are lines per second.", "");
    for name in ["with transactions", "a transaction", ">TPS<", " TPS", "TPS "] {
        ours = ours.replace(name, "");
    }
    assert!(ours.contains("operations&#x2f;s") && ours.contains("an operation"));
    for word in ["transaction", "Transaction", "TPS", "trx", "{event"] {
        let left: Vec<&str> = ours
            .match_indices(word)
            .map(|(at, _)| &ours[at.saturating_sub(30)..(at + 30).min(ours.len())])
            .filter(|around| !around.contains("_transaction"))
            .collect();
        assert!(left.is_empty(), "{word}: {left:?}");
    }
    let line = crate::summary_line(&analysed(&store));
    assert!(line.contains("TPS") && line.contains("with transactions"), "{line}");
    let text = crate::markdown(&analysed(&store));
    assert!(text.contains(TITLE) && text.contains("with transactions"), "{text}");
}
