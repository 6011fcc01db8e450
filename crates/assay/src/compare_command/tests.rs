//! Tests of sides, verdicts and exit codes on studies with known differences.

use std::path::Path;

use clap::Parser;

use super::*;
use assay_study::metrics::{Window, metric};
use assay_study::{Data, RigRecord, Sessions, Tables};
use assay_study::{Outcome, Series, Store, StudyHead, TrialKey, WorkloadRecord};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: CompareArgs,
}

fn found(words: &[&str]) -> Result<ComparisonResult> {
    compare(&Line::try_parse_from(["compare"].iter().chain(words)).unwrap().args)
}

/// Writes a study with the given configurations and their TPS. Repeats deviate by up to `off` (a
/// share), half of them upwards.
fn write(directory: &Path, configs: &[(&str, f64)], off: f64, tables: u32, repeats: u32) {
    let mut store = Store::open_or_create(directory).unwrap();
    let data = Data {
        data_profile: None,
        tables: Tables { count: tables, rows: 1000, ..Tables::default() },
        fill: None,
    };
    let config = |(name, _): &(&str, f64)| Config {
        name: (*name).into(),
        rig: RigRecord { data: vec![data.clone()], ..RigRecord::default() },
        settings: [].into(),
    };
    let workload = WorkloadRecord {
        name: "w".into(),
        workload: "w".into(),
        data_profile: None,
        recipe: "oltp_read_write".into(),
        options: [].into(),
    };
    let head = StudyHead {
        title: "a study",
        configs: &configs.iter().map(config).collect::<Vec<_>>(),
        workloads: &[workload],
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    for repeat in 1..=repeats {
        for (place, (name, level)) in configs.iter().enumerate() {
            let key = TrialKey { config: (*name).into(), workload: "w".into(), threads: 8, repeat };
            let sign = if (repeat as usize + place).is_multiple_of(2) { 1.0 } else { -1.0 };
            let tps = level * (1.0 + sign * off * f64::from(repeat) / f64::from(repeats));
            store.plan_trial(&key, repeat * 10 + place as u32, "f").unwrap();
            store.begin_trial(&key).unwrap();
            let points =
                (1..=20).map(|second| (second, tps * (1.0 + 0.01 * f64::from(second % 3))));
            let outcome = Outcome {
                window: Some(Window { from_s: 0.0, to_s: 20.0 }),
                results: [("tps".to_owned(), tps), ("latency_ms_p99".to_owned(), 8e3 / tps)].into(),
                series: vec![Series { points: points.collect(), ..Series::of(metric!("tps")) }],
                ..Outcome::default()
            };
            store.end_trial(&key, &outcome).unwrap();
        }
    }
}

/// Makes each repeat of a study one of a session on a day of its own.
fn on_days(directory: &Path) {
    let store = Store::open_or_create(directory).unwrap();
    let trials = store.study().unwrap().trials;
    let days = trials.iter().map(|trial| trial.key.repeat).max().unwrap();
    let sessions = Sessions { repeats: vec![1; days as usize], order_seed: None };
    store.write_sessions(&sessions).unwrap();
    let db = rusqlite::Connection::open(directory.join("study.sqlite")).unwrap();
    db.execute("UPDATE runs SET started_at = format('2026-11-%02dT08:00:00Z', repeat)", [])
        .unwrap();
}

#[test]
fn exit_codes_tell_a_loss_from_none_and_from_not_knowing() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let configs = [("base", 1000.0), ("same", 1001.0), ("slow", 900.0), ("fast", 1200.0)];
    write(&directory.path().join("quiet"), &configs, 0.004, 2, 5);
    write(&directory.path().join("loud"), &[("base", 1000.0), ("slow", 980.0)], 0.2, 2, 5);
    write(&directory.path().join("after"), &configs, 0.004, 2, 5);
    write(&directory.path().join("other"), &configs, 0.004, 9, 5);
    ["quiet", "after", "other"].iter().for_each(|name| on_days(&directory.path().join(name)));
    let (quiet, loud, after) = (path("quiet"), path("loud"), path("after"));
    let code = |words: &[&str]| found(words).unwrap().exit_code;
    assert_eq!(code(&[&quiet, "base", "same"]), 0);
    assert_eq!(code(&[&quiet, "base", "fast"]), 0);
    assert_eq!(code(&[&quiet, "base", "slow"]), 1);
    assert_eq!(code(&[&quiet, "base", "slow", "--fail-if-worse-by", "20%"]), 0);
    // 900 of 1000 is a loss of exactly 10 %.
    assert_eq!(code(&[&quiet, "base", "slow", "--fail-if-worse-by", "9%"]), 1);
    assert_ne!(code(&[&quiet, "base", "slow", "--fail-if-worse-by", "10.6%"]), 1);
    assert_eq!(code(&[&quiet, "base", "slow", "--metric", "p99"]), 1, "longer is worse");
    assert_eq!(code(&[&quiet, "slow", "base", "--metric", "latency_ms_p99"]), 0);
    let closed_loop = |metric: &str| {
        let found = found(&[&quiet, "base", "slow", "--metric", metric]).unwrap();
        let is_told = found.lines().iter().any(|line| line.trim().starts_with("closed loop: "));
        (found.comparisons[0].closed_loop.is_some(), is_told)
    };
    assert_eq!(closed_loop("p99"), (true, true), "it hides stalls");
    assert_eq!(closed_loop("tps"), (false, false));
    assert_eq!(code(&[&loud, "base", "slow"]), 2);
    let sides = [format!("{quiet}:base"), format!("{quiet}:slow")];
    assert_eq!(code(&[&sides[0], &sides[1]]), 1);
    let both = found(&[&quiet, &after]).unwrap();
    assert_eq!(
        (both.comparisons.len(), both.exit_code),
        (4, 0),
        "configuration by configuration, by name"
    );
    assert_eq!(code(&[&sides[0], &format!("{after}:slow")]), 1, "of two studies too");
    let json = serde_json::to_value(&both).unwrap();
    assert_eq!(json["comparisons"][0]["difference"]["basis"], "separate_sessions");
    let unlike = found(&[&quiet, &path("other")]).unwrap_err().to_string();
    assert!(
        unlike.starts_with("they are not alike: tables: 2 × 1000 rows and 9 × 1000 rows"),
        "{unlike}"
    );
    let allow_mismatch = found(&[&quiet, &path("other"), "--allow-mismatch"]).unwrap();
    assert_eq!((allow_mismatch.not_alike.len(), allow_mismatch.exit_code), (1, 0));
    let differs = "not alike: tables: 2 × 1000 rows and 9 × 1000 rows";
    let lines = allow_mismatch.lines();
    assert_eq!([&lines[0], &lines[lines.len() - 2]], [differs, differs], "head and foot");
    let tables: Vec<&[String]> =
        lines.windows(2).filter(|two| two[0].contains(" against ")).collect();
    assert_eq!(tables.len(), 4);
    assert!(tables.iter().all(|two| two[1].trim() == differs), "{lines:#?}");
    let json = serde_json::to_value(&allow_mismatch).unwrap();
    assert!(json["not_alike"][0].as_str().unwrap().starts_with("tables: 2"));
    let comparisons = json["comparisons"].as_array().unwrap();
    assert!(comparisons.iter().all(|entry| entry["not_alike"] == json["not_alike"]), "{json}");
    assert_eq!(lines[lines.len() - 1], "exit code 0, not worse: all 4 comparisons");
    let alike = both.lines();
    assert!(alike[0].starts_with(&format!("{after}:base against {quiet}:base, w")), "{alike:#?}");
    assert!(!alike.iter().any(|line| line.contains("not alike")), "{alike:#?}");
}

#[test]
fn runs_of_one_day_get_no_verdict_whatever_repeats_and_a_floor_within_one_say() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let at = |name: &str, level: f64, repeats: u32| {
        let configs = [("base", level), ("again", level * 1.001)];
        write(&directory.path().join(name), &configs, 0.001, 1, repeats);
        let aa_runs = [("again".to_owned(), "base".to_owned())].into();
        let mut store = Store::open_or_create(&directory.path().join(name)).unwrap();
        let mut study = store.study().unwrap();
        study.judging = assay_study::Judging { aa_runs, ..Default::default() };
        store.write_head(&assay_study::StudyHead::from(&study)).unwrap();
    };
    for (name, level, repeats) in [
        ("before", 1000.0, 1),
        ("lower", 880.0, 1),
        ("same", 999.0, 1),
        ("lower, thrice", 880.0, 3),
        ("before, thrice", 1000.0, 3),
    ] {
        at(name, level, repeats);
    }
    let of = |b: &str, more: &[&str]| {
        let (a, b) = (path("before"), path(b));
        found(&[&[a.as_str(), b.as_str()][..], more].concat()).unwrap()
    };
    for b in ["lower", "lower, thrice"] {
        let result = of(b, &[]);
        let comparison = &result.comparisons[0].comparison;
        assert_eq!(comparison.verdict.conclusion, assay_judge::Conclusion::Inconclusive);
        let text = assay_report::words::verdict::text(comparison);
        assert!(text.starts_with("inconclusive: in these runs 12 % slower"), "{text}");
        assert!(!text.contains("interval"), "{text}");
        assert_eq!(result.exit_code, 2);
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(json["comparisons"][0]["difference"]["basis"], "separate_runs");
    }
    // With an explicit limit, they are tested against it.
    assert_eq!(of("lower", &["--fail-if-worse-by", "5%"]).exit_code, 1);
    let passed = of("lower", &["--fail-if-worse-by", "30%"]);
    assert_eq!(passed.exit_code, 0);
    let note = "runs of one day were tested against a loss of 30 %; this is not a verdict";
    assert!(passed.lines().iter().any(|line| line == note), "{:#?}", passed.lines());
    assert_eq!(of("same", &["--fail-if-worse-by", "10%"]).exit_code, 0);
    assert_eq!(of("same", &[]).exit_code, 2);
    // Repeats of one day are no days; with days on both sides there is a verdict.
    let thrice = [path("before, thrice"), path("lower, thrice")];
    let of_thrice =
        |more: &[&str]| found(&[&[thrice[0].as_str(), &thrice[1]][..], more].concat()).unwrap();
    let result = of_thrice(&[]);
    assert_eq!(result.exit_code, 2);
    let says = "a study of one day does not show how days differ";
    assert!(result.lines().iter().any(|line| line.contains(says)), "{:#?}", result.lines());
    assert_eq!(of_thrice(&["--fail-if-worse-by", "5%"]).exit_code, 1);
    thrice.iter().for_each(|study| on_days(Path::new(study)));
    let result = of_thrice(&[]);
    assert_eq!(result.exit_code, 1);
    assert!(result.lines().last().unwrap().starts_with("exit code 1, worse: "), "{result:#?}");
}

#[test]
fn what_one_side_lacks_is_listed_and_no_pass() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let configs = [("base", 1000.0), ("more", 1000.0)];
    write(&directory.path().join("whole"), &configs, 0.004, 1, 5);
    write(&directory.path().join("part"), &configs[..1], 0.004, 1, 5);
    ["whole", "part"].iter().for_each(|name| on_days(&directory.path().join(name)));
    let (whole, part) = (path("whole"), path("part"));
    let lone = |words: &[&str]| found(words).unwrap();
    let result = lone(&[&whole, &part]);
    // The configuration that both have is compared; the other has no counterpart.
    assert_eq!(result.comparisons.len(), 1);
    assert_eq!(result.not_compared, [format!("only {whole} has the configuration `more`")]);
    assert_eq!(result.exit_code, 2);
    let last = format!("exit code 2, inconclusive: only {whole} has the configuration `more`");
    assert_eq!(result.lines().last().unwrap(), &last);
    let base = [format!("{whole}:base"), format!("{part}:base")];
    assert_eq!(lone(&[&base[0], &base[1]]).exit_code, 0, "of configurations that are named");

    let store = Store::open_or_create(&directory.path().join("whole")).unwrap();
    for (workload, threads) in [("w", 16), ("w", 32), ("other", 1)] {
        let key = TrialKey { config: "base".into(), workload: workload.into(), threads, repeat: 1 };
        store.plan_trial(&key, 99, "f").unwrap();
    }
    let whole_too = lone(&[&part, &whole]);
    assert!(whole_too.not_compared.contains(&format!("only {} has the workload `other`", base[0])));
    let result = lone(&[&base[1], &base[0]]);
    let only = |what: &str| format!("only {} has {what}", base[0]);
    let lacking = [only("the workload `other`"), only("`w` at 16 and 32 threads")];
    assert_eq!(result.not_compared, lacking);
    assert_eq!(result.exit_code, 2);
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["decided_by"].as_array().unwrap().len(), 2, "{json}");
    assert_eq!(
        (&json["comparisons"][0]["a"], &json["comparisons"][0]["b"]),
        (&base[1].clone().into(), &base[0].clone().into())
    );
}

#[test]
fn what_every_config_lacks_is_said_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for name in ["one", "two"] {
        write(&directory.path().join(name), &[("a", 1e3), ("b", 1e3)], 0.004, 1, 3);
    }
    let store = Store::open_or_create(&directory.path().join("two")).unwrap();
    for config in ["a", "b"] {
        let key = TrialKey { config: config.into(), workload: "w".into(), threads: 1, repeat: 1 };
        store.plan_trial(&key, 99, "f").unwrap();
    }
    let (one, two) = (path("one"), path("two"));
    let result = found(&[&one, &two]).unwrap();
    assert_eq!(result.not_compared, [format!("only {two} has `w` at 1 thread")]);
}

#[test]
fn under_what_two_studies_were_run_is_told_beside_the_verdicts() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let configs = [("base", 1000.0), ("slow", 900.0)];
    for name in ["before", "after"] {
        write(&directory.path().join(name), &configs, 0.004, 1, 5);
        on_days(&directory.path().join(name));
    }
    let (before, after) = (path("before"), path("after"));
    let db = rusqlite::Connection::open(directory.path().join("after/study.sqlite")).unwrap();
    db.execute_batch(
        "INSERT INTO study VALUES ('fact.kernel', '6.2');
         UPDATE configs SET settings_json = '{\"innodb_buffer_pool_size\":\"64M\"}' \
         WHERE name = 'slow'",
    )
    .unwrap();
    let result = found(&[&before, &after]).unwrap();
    assert_eq!(result.exit_code, 0, "differing circumstances are printed and refuse nothing");
    let lines = result.lines();
    assert_eq!(lines[0], "differs: kernel: none and 6.2");
    let of_config =
        lines.iter().position(|line| line == "  differs: innodb_buffer_pool_size: none and 64M");
    assert!(lines[of_config.unwrap() - 1].contains(":slow against "), "{lines:#?}");
    let within = found(&[&after, "base", "slow"]).unwrap();
    assert!(!within.lines().iter().any(|line| line.contains("differs")), "one study");
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    write(&directory.path().join("one"), &[("a", 1.0), ("b", 1.0)], 0.0, 1, 2);
    write(&directory.path().join("two"), &[("c", 1.0), ("d", 1.0)], 0.0, 1, 2);
    let (one, two) = (path("one"), path("two"));
    let at = |config: &str| format!("{one}:{config}");
    for (words, says) in [
        (
            vec![one.as_str(), one.as_str()],
            "both sides are the same study: name two configurations",
        ),
        (vec![one.as_str(), two.as_str()], "the studies have no configuration name in common"),
        (vec![one.as_str(), "a", "a"], "one:a is compared with itself"),
        (vec![at("b").as_str(), at("b").as_str()], "one:b is compared with itself"),
        (
            vec![one.as_str(), "a", "x"],
            "there is no configuration `x` in the study; it has `a`, `b`",
        ),
        (vec![at("a").as_str(), two.as_str()], "name a configuration on the other side too"),
        (vec!["nowhere", "nothing"], "there is no study `nowhere`"),
    ] {
        let message = format!("{:#}", found(&words).unwrap_err());
        assert!(message.contains(says) && !message.contains('\n'), "{words:?}: {message}");
    }
    assert!(Line::try_parse_from(["compare", "a", "b", "--metric", "p42"]).is_err());
    assert!(Line::try_parse_from(["compare", "a", "b", "--fail-if-worse-by", "-3%"]).is_err());
}
