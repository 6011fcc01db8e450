//! Records are read as they were written, also after an interruption.

use super::*;
use crate::metrics::{Window, metric};
use crate::prices::Prices;

const WINDOW: Window = Window { from_s: 3.0, to_s: 13.0 };

fn key(config: &str, threads: u32) -> TrialKey {
    TrialKey { config: config.into(), workload: "read_write".into(), threads, repeat: 1 }
}

fn outcome() -> Outcome {
    Outcome {
        window: Some(WINDOW),
        warnings: vec![Warning::MissedDeadlines { percent: 42.5, cpu: CpuUse::NONE }],
        results: [("tps".into(), 120.5), ("undefined".into(), f64::NAN)].into(),
        errors: [(1213, 4)].into(),
        series: vec![Series {
            points: vec![(1, 100.0), (2, f64::NAN), (3, 130.0)],
            ..Series::of(metric!("tps"))
        }],
        histograms: vec![Histogram {
            kind: Timed::Transaction,
            clock: LatencyClock::Service,
            buckets: vec![(1_000, 3), (2_000, 1)],
        }],
        variables: [("innodb_doublewrite".into(), "ON".into())].into(),
        second_latencies: seconds(),
        ..Outcome::default()
    }
}

fn seconds() -> SecondLatencies {
    let mut seconds = SecondLatencies::default();
    seconds.push(&SecondLatency::of(4, &[(1_000_000, 7), (9_000_000, 1)]));
    seconds.push(&SecondLatency::of(5, &[(1_100_000, 8)]));
    seconds
}

fn study() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let config =
        |name: &str| Config { name: name.into(), rig: RigRecord::default(), settings: [].into() };
    let workload = WorkloadRecord {
        name: "read_write".into(),
        workload: "read_write".into(),
        data_profile: None,
        recipe: "oltp_read_write".into(),
        options: [].into(),
    };
    let head = StudyHead {
        title: "a study",
        facts: &[("kernel".into(), "6.1".into())].into(),
        configs: &[config("on"), config("off")],
        workloads: &[workload],
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    for (position, key) in [key("off", 8), key("on", 8), key("on", 1)].iter().enumerate() {
        store.plan_trial(key, position as u32 + 1, "f").unwrap();
    }
    (directory, store)
}

#[test]
fn a_trial_is_read_as_it_was_written() {
    let (directory, mut store) = study();
    store.begin_trial(&key("on", 8)).unwrap();
    store.end_trial(&key("on", 8), &outcome()).unwrap();
    drop(store);
    let store = Store::open(directory.path()).unwrap();
    let study = store.study().unwrap();
    assert_eq!(study.facts["kernel"], "6.1");
    let order: Vec<TrialKey> = study.trials.iter().map(|trial| trial.key.clone()).collect();
    assert_eq!(
        order,
        [key("on", 1), key("on", 8), key("off", 8)],
        "the order of the plan's matrix"
    );
    let trial = &study.trials[1];
    assert_eq!((trial.state, trial.window), (RunState::Done, Some(WINDOW)));
    assert_eq!(
        trial.results,
        [("tps".to_string(), 120.5)].into(),
        "what is not a number is absent"
    );
    assert_eq!(trial.errors, [(1213, 4)].into());
    assert_eq!(trial.warnings, [Warning::MissedDeadlines { percent: 42.5, cpu: CpuUse::NONE }]);
    let points = vec![(1, 100.0), (3, 130.0)];
    assert_eq!(store.series(trial.id).unwrap(), [Series { points, ..Series::of(metric!("tps")) }]);
    assert_eq!(store.histograms(trial.id).unwrap(), outcome().histograms);
    assert_eq!(store.variables(trial.id).unwrap()["innodb_doublewrite"], "ON");
    assert_eq!(store.second_latencies(trial.id).unwrap(), Some(seconds()));
    assert_eq!(store.second_latencies(study.trials[0].id).unwrap(), None);
    assert_eq!(store.points(trial.id, "tps").unwrap(), [(1, 100.0), (3, 130.0)]);
}

#[test]
fn a_word_that_nobody_knows_is_named() {
    let (_directory, mut store) = study();
    store.begin_trial(&key("on", 8)).unwrap();
    store.end_trial(&key("on", 8), &outcome()).unwrap();
    let id = store.study().unwrap().trials[1].id;
    let spoil = |table: &str, column: &str, word: &str, right: &str| {
        let set = |word: &str| {
            store.execute(&format!("UPDATE {table} SET {column} = ?1"), [word]).unwrap();
        };
        set(word);
        let errors = [store.series(id).err(), store.histograms(id).err()];
        set(right);
        errors.into_iter().flatten().map(|error| error.to_string()).collect::<String>()
    };
    let told = spoil("series", "unit", "furlongs", "1/s");
    assert!(
        told.contains("series tps") && told.contains("`furlongs` is not a known unit"),
        "{told}"
    );
    let told = spoil("series", "layer", "cellar", "load");
    assert!(
        told.contains("series tps") && told.contains("`cellar` is not a known layer"),
        "{told}"
    );
    let told = spoil("histograms", "clock", "sundial", "service");
    assert!(
        told.contains("of transaction") && told.contains("`sundial` is not a known latency clock"),
        "{told}"
    );
    assert!(store.series(id).is_ok() && store.histograms(id).is_ok());
}

#[test]
fn what_the_plan_says_of_judging_is_kept() {
    let (_directory, mut store) = study();
    assert_eq!(store.study().unwrap().judging, Judging::default(), "a study older than it");
    let judging = Judging {
        baseline: Some("off".into()),
        margin_percent: Some(1.0),
        aa_runs: [("on, again".into(), "on".into())].into(),
        looks: Vec::new(),
        design: Design::Switchback,
        compare: vec![AskedPair {
            config: "on".into(),
            against: "off".into(),
            data_profile: Some("large".into()),
            against_data_profile: Some("small".into()),
            ..AskedPair::default()
        }],
        factors: vec![PlannedFactor {
            name: "drive".into(),
            levels: vec!["plain".into(), "csd".into()],
            configs: [("on".into(), "plain".into()), ("off".into(), "csd".into())].into(),
        }],
        percentiles_by_statement: vec!["index_update".into()],
    };
    let head = Study { judging: judging.clone(), ..store.study().unwrap() };
    store.write_head(&StudyHead::from(&head)).unwrap();
    store.write_head(&StudyHead::from(&head)).unwrap();
    assert_eq!(store.study().unwrap(), head);
}

#[test]
fn what_a_plan_has_lost_is_lost_to_its_study() {
    let (_directory, mut store) = study();
    let before = store.study().unwrap();
    let prices = Prices::parse("currency = \"USD\"\nyears = 3\n").unwrap();
    let head = StudyHead::from(&before);
    let more =
        StudyHead { question: Some("Which?"), form: Some("quick"), prices: Some(&prices), ..head };
    store.write_head(&more).unwrap();
    let with = store.study().unwrap();
    assert_eq!((with.question.as_deref(), with.form.as_deref()), (Some("Which?"), Some("quick")));
    assert!(with.prices.is_some());
    store.write_head(&StudyHead::from(&before)).unwrap();
    assert_eq!(store.study().unwrap(), before);
}

#[test]
fn an_interrupted_trial_is_pending_again_and_a_done_one_is_not() {
    let (_directory, mut store) = study();
    store.begin_trial(&key("on", 8)).unwrap();
    store.end_trial(&key("on", 8), &outcome()).unwrap();
    store.begin_trial(&key("off", 8)).unwrap();
    assert_eq!(store.reset_interrupted().unwrap(), 1);
    assert_eq!(store.pending().unwrap(), [key("off", 8), key("on", 1)].into());
}

#[test]
fn a_failed_trial_keeps_its_reason_and_can_be_tried_again() {
    let (_directory, mut store) = study();
    store.begin_trial(&key("on", 1)).unwrap();
    let failed = Outcome { reason: Some("server vanished".into()), ..outcome() };
    store.end_trial(&key("on", 1), &failed).unwrap();
    let trial = store.study().unwrap().trials.remove(0);
    assert_eq!((trial.state, trial.reason.as_deref()), (RunState::Failed, Some("server vanished")));
    store.begin_trial(&key("on", 1)).unwrap();
    store.end_trial(&key("on", 1), &outcome()).unwrap();
    let trial = store.study().unwrap().trials.remove(0);
    assert_eq!((trial.state, trial.reason, trial.warnings.len()), (RunState::Done, None, 1));
}

#[test]
fn an_attempt_that_is_thrown_away_leaves_the_trial_missing_and_its_reasons() {
    let (_directory, mut store) = study();
    store.begin_trial(&key("on", 8)).unwrap();
    let taken = Warning::CpuTaken {
        cpu: CpuUse { steal_percent: 31.0, ..CpuUse::default() },
        is_too_much: true,
    };
    let attempt = Outcome { warnings: vec![taken.clone()], ..outcome() };
    store.discard_attempt(&key("on", 8), &attempt, &[]).unwrap();
    assert!(store.pending().unwrap().contains(&key("on", 8)));
    store.begin_trial(&key("on", 8)).unwrap();
    store.end_trial(&key("on", 8), &outcome()).unwrap();
    let study = store.study().unwrap();
    let [discarded] = &study.discarded[..] else { panic!("{:?}", study.discarded) };
    assert_eq!((&discarded.key, &discarded.warnings), (&key("on", 8), &vec![taken]));
    assert_eq!((&discarded.because_of, discarded.results["tps"]), (&None, attempt.results["tps"]));
    assert!(store.discard_attempt(&key("never", 8), &attempt, &[]).is_err());
}

#[test]
fn what_is_compared_with_a_discarded_attempt_is_discarded_with_it() {
    let (_directory, mut store) = study();
    let (on, off) = (key("on", 8), key("off", 8));
    store.begin_trial(&off).unwrap();
    store.end_trial(&off, &outcome()).unwrap();
    store.begin_trial(&on).unwrap();
    store.discard_attempt(&on, &outcome(), &[off.clone(), key("on", 1)]).unwrap();
    let pending = store.pending().unwrap();
    assert!(pending.contains(&on) && pending.contains(&off), "both are made again");
    let discarded = store.study().unwrap().discarded;
    let of: Vec<_> = discarded.iter().map(|one| (&one.key, one.because_of.as_ref())).collect();
    assert_eq!(of, [(&on, None), (&off, Some(&on))], "the third had not been run");
    assert_eq!(discarded[1].results["tps"], outcome().results["tps"]);
}

#[test]
fn discarded_attempts_of_studies_that_kept_their_warnings_alone_are_read() {
    let (_directory, store) = study();
    let sql = "INSERT INTO discarded (run_id, ended_at, warnings_json) VALUES (1, ?1, ?2)";
    let warnings = r#"[{"kind": "stopped", "facts": {"length_s": 2.0}}]"#;
    store.execute(sql, ["2026-01-01T00:00:00Z", warnings]).unwrap();
    let [old] = &store.discarded().unwrap()[..] else { panic!("one") };
    assert_eq!(old.warnings, [Warning::Stopped { length_s: 2.0 }]);
    assert_eq!((&old.because_of, old.results.len()), (&None, 0));
}

#[test]
fn trials_that_were_never_run_are_forgotten_with_what_only_they_were_of() {
    let (_directory, mut store) = study();
    store.begin_trial(&key("on", 8)).unwrap();
    store.end_trial(&key("on", 8), &outcome()).unwrap();
    assert_eq!(store.forget_unplanned(|key| key.threads == 1).unwrap(), 1, "off, 8 threads");
    let left = store.study().unwrap();
    let keys: Vec<_> = left.trials.iter().map(|trial| trial.key.clone()).collect();
    assert_eq!(keys, [key("on", 1), key("on", 8)], "what was measured stays");
    assert_eq!(left.configs.len(), 1);
}

#[test]
fn a_run_that_is_made_again_stays_until_it_has_ended_again() {
    let (_directory, mut store) = study();
    let on = key("on", 8);
    store.begin_trial(&on).unwrap();
    store.end_trial(&on, &outcome()).unwrap();
    let before = store.study().unwrap();
    // An interrupted, discarded or power-cut attempt changes nothing.
    store.begin_trial(&on).unwrap();
    store.reset_interrupted().unwrap();
    assert_eq!(store.study().unwrap(), before);
    store.begin_trial(&on).unwrap();
    store.discard_attempt(&on, &outcome(), &[]).unwrap();
    assert_eq!(store.study().unwrap().trials, before.trials);
    assert!(!store.pending().unwrap().contains(&on));
    store.begin_trial(&on).unwrap();
    let other = Outcome { warnings: Vec::new(), ..outcome() };
    store.end_trial(&on, &other).unwrap();
    let now = store.study().unwrap();
    let of = |study: &Study| study.trials.iter().find(|trial| trial.key == on).unwrap().clone();
    let (was, is) = (of(&before), of(&now));
    assert_eq!((was.warnings.len(), is.warnings.len()), (1, 0));
    assert_eq!((is.state, is.results), (RunState::Done, was.results));
    assert!(is.started_at >= was.ended_at, "{:?}", is.started_at);
}

#[test]
fn a_changed_plan_is_refused() {
    let (_directory, store) = study();
    assert!(store.plan_trial(&key("on", 8), 1, "f").is_ok());
    let error = store.plan_trial(&key("on", 8), 1, "other").unwrap_err();
    assert!(error.to_string().contains("give another --out"), "{error}");
}

#[test]
fn what_is_not_a_study_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Store::open(directory.path()).unwrap_err().to_string().contains("holds no study"));
    std::fs::write(directory.path().join(FILE_NAME), "this is no database, it is a text file")
        .unwrap();
    assert!(Store::open(directory.path()).is_err());
}

#[test]
fn a_study_that_another_process_holds_is_in_use_and_no_damaged_one() {
    let (directory, store) = study();
    drop(store);
    let other = Connection::open(directory.path().join(FILE_NAME)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for told in [
        Store::open(directory.path()).unwrap_err(),
        Store::open_or_create(directory.path()).unwrap_err(),
        Store::look(directory.path()).unwrap_err(),
    ] {
        let told = format!("{told:#}");
        assert!(told.contains("is in use by another process; wait for"), "{told}");
        assert!(!told.contains("not a study"), "{told}");
    }
    other.execute_batch("ROLLBACK").unwrap();
    let store = Store::open(directory.path()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let told = format!("{:#}", store.study().unwrap_err());
    assert!(told.contains("is in use by another process"), "{told}");
}

#[test]
fn a_window_that_no_plan_can_have_is_refused_with_its_trial() {
    let (_directory, mut store) = study();
    store.begin_trial(&key("on", 8)).unwrap();
    store.end_trial(&key("on", 8), &outcome()).unwrap();
    for (from, to, is_one) in [
        ("3.0", "13.0", true),
        ("0", "1209600", true),
        ("0", "1e15", false),
        ("0", "9e999", false),
        ("-9e999", "5", false),
        ("13.0", "3.0", false),
    ] {
        let sql = format!(
            "UPDATE runs SET window_from_s = {from}, window_to_s = {to} WHERE config = 'on' AND \
            threads = 8"
        );
        store.db.execute_batch(&sql).unwrap();
        let read = store.study().map_err(|error| format!("{error:#}"));
        assert_eq!(read.is_ok(), is_one, "{from} to {to}: {read:?}");
        if let Err(told) = read {
            assert!(
                told.contains("is damaged: run on / read_write / 8 threads / repeat 1"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_study_that_is_deleted_or_replaced_under_the_run_is_told_as_that() {
    for replace in [false, true] {
        let (directory, mut store) = study();
        store.begin_trial(&key("on", 8)).unwrap();
        let path = directory.path().join(FILE_NAME);
        std::fs::rename(&path, directory.path().join("aside")).unwrap();
        if replace {
            std::fs::copy(directory.path().join("aside"), &path).unwrap();
        }
        let told = [
            store.end_trial(&key("on", 8), &outcome()).unwrap_err(),
            store.begin_trial(&key("on", 1)).unwrap_err(),
            store.reset_interrupted().map(drop).unwrap_err(),
            store.note(Note::OnMeasuredDisk).unwrap_err(),
        ];
        for told in told.map(|error| format!("{error:#}")) {
            let says = format!("the study {} was deleted or replaced during", path.display());
            assert!(told.contains(&says) && !told.contains("1032"), "{told}");
        }
        // Negative control: moved back, the file is written again.
        std::fs::rename(directory.path().join("aside"), &path).unwrap();
        store.end_trial(&key("on", 8), &outcome()).unwrap();
    }
}

/// Puts the golden study of a version into a directory.
fn golden(version: i64) -> tempfile::TempDir {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let packed = std::fs::read(packed.join(format!("format-{version}.sqlite.zst"))).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let study = zstd::decode_all(packed.as_slice()).unwrap();
    std::fs::write(directory.path().join(FILE_NAME), study).unwrap();
    directory
}

#[test]
fn studies_of_every_promised_version_are_read_and_not_changed() {
    for version in OLDEST_READ..=SCHEMA_VERSION {
        let directory = golden(version);
        let file = directory.path().join(FILE_NAME);
        let before = std::fs::read(&file).unwrap();
        let store = Store::open(directory.path()).unwrap();
        let study = store.study().unwrap();
        assert_eq!(study.title, "several servers");
        assert_eq!(study.trials.len(), 4);
        let trial = study.trials.iter().find(|trial| trial.servers.len() == 2).unwrap();
        assert!(trial.results["tps"] > 100.0 && trial.window.is_some(), "{:?}", trial.key);
        assert_eq!(store.series(trial.id).unwrap().len(), 14);
        assert!(store.histograms(trial.id).unwrap().iter().any(Histogram::is_of_responses));
        assert_eq!(store.variables(trial.id).unwrap()["innodb_doublewrite"], "ON");
        assert!(store.second_latencies(trial.id).unwrap().is_some());
        drop(store);
        assert_eq!(std::fs::read(&file).unwrap(), before, "format {version}");
    }
}

#[test]
fn a_study_of_another_version_is_refused_with_what_to_do() {
    let (directory, store) = study();
    for version in [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1] {
        store.db.pragma_update(None, "user_version", version).unwrap();
        for opened in [Store::open(directory.path()), Store::open_or_create(directory.path())] {
            let told = opened.unwrap_err().to_string();
            assert!(told.contains(&format!("format {version}")), "{told}");
            assert!(told.contains("another --out"), "{told}");
            assert_eq!(told.lines().count(), 1, "{told}");
        }
    }
}

#[test]
fn power_cuts_are_read_as_they_were_written() {
    use crate::power_cut::{Commits, Loss, Moment, PageName, RecoveryTime, Survival, TornPage};
    let (_directory, store) = study();
    let name = PageName { space: 5, page: 7 };
    let torn = TornPage { name, offset: 4096, unit_bytes: 512, is_new: vec![true, false] };
    let cut = |config: &str, number, losses| PowerCut {
        config: config.into(),
        number,
        fingerprint: "abc".into(),
        seed: u64::MAX,
        block_began_ms: None,
        moment: Moment::PageWrite(3),
        loaded_ms: 12.5,
        survival: Survival {
            writes: 3,
            whole: 1,
            torn: 1,
            lost: 1,
            torn_pages: vec![torn.clone()],
        },
        replica: None,
        commits: Some(Commits { acknowledged: 9, lost: 0, unanswered: 1 }),
        recovery: Some(RecoveryTime { redo_bytes: Some(1000), ..RecoveryTime::default() }),
        losses,
        kept_in: None,
        aftermath: None,
    };
    let lost = vec![Loss::RowMissing { id: 4 }, Loss::Server { reason: "gone".into() }];
    for one in [cut("on", 2, lost.clone()), cut("on", 1, vec![]), cut("off", 1, vec![])] {
        store.write_power_cut(&one).unwrap();
    }
    let read = store.power_cuts().unwrap();
    assert_eq!(read, [cut("off", 1, vec![]), cut("on", 1, vec![]), cut("on", 2, lost)]);
    assert_eq!(store.study().unwrap().power_cuts, read);
    store.write_power_cut(&cut("on", 2, vec![])).unwrap();
    assert!(store.power_cuts().unwrap().iter().all(PowerCut::is_survived));
}
