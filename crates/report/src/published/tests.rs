//! Tests measured beside printed figures: the right runs, the right mean, and why they may not be
//! compared.

use std::collections::BTreeMap;

use super::beside;
use super::{Hint, PaperMatch, paper_match};
use assay_claims::find::{PAPERS, find, of_study};
use assay_claims::paper::ParsedPaper;
use assay_judge::paper::Direction;
use assay_plan::{Plan, PlanForm};
use assay_study::{
    self, Config, DiskRecord, Media, Model, RigRecord, RunState, Study, Trial, TrialKey, Warning,
    WorkloadRecord,
};

const CONFIGS: [&str; 2] = ["six 15K disks", "s1120 card"];

fn trial(config: &str, threads: u32, repeat: u32, tps: f64, warnings: &[Warning]) -> Trial {
    let key = TrialKey { config: config.into(), workload: "complex".into(), threads, repeat };
    Trial { warnings: warnings.to_vec(), ..Trial::done(key, &[("tps", tps)]) }
}

/// Two configurations, of which one is a model; of the card one of two repeats failed.
fn study(paper: Option<assay_study::Paper>) -> Study {
    scaled(paper, 1.0)
}

/// The same, the parallelism of the card's model divided so.
fn scaled(paper: Option<assay_study::Paper>, parallel_scale: f64) -> Study {
    let config = |name: &str, disk: DiskRecord| Config {
        name: name.into(),
        rig: RigRecord { disk: Some(disk), ..RigRecord::default() },
        settings: BTreeMap::new(),
    };
    let model =
        Model { title: "a card".into(), capacity_scale: 20.0, parallel_scale, ..Model::default() };
    let card = DiskRecord { media: Media::Model(model), ..DiskRecord::default() };
    let failed = Trial { state: RunState::Failed, ..trial(CONFIGS[1], 20, 2, 9e9, &[]) };
    Study {
        title: "mine".into(),
        question: None,
        form: Some("Quick profile: less.".into()),
        paper,
        judging: assay_study::Judging::default(),
        prices: None,
        plan_toml: String::new(),
        calibration: None,
        facts: BTreeMap::new(),
        sessions: Default::default(),
        notes: Vec::new(),
        configs: vec![config(CONFIGS[0], DiskRecord::default()), config(CONFIGS[1], card)],
        workloads: vec![WorkloadRecord {
            name: "complex".into(),
            workload: "complex".into(),
            data_profile: None,
            recipe: "oltp_complex".into(),
            options: BTreeMap::new(),
        }],
        trials: vec![
            trial(CONFIGS[0], 20, 1, 50.0, &[]),
            trial(CONFIGS[0], 20, 2, 58.0, &[Warning::NotSettled]),
            trial(CONFIGS[1], 20, 1, 502.0, &[]),
            failed,
        ],
        discarded: Vec::new(),
        looks: Vec::new(),
        power_cuts: Vec::new(),
    }
}

fn refused(paper: &ParsedPaper, study: &Study) -> String {
    format!("{:#}", beside(paper, study).unwrap_err())
}

#[test]
fn measured_stands_beside_printed_with_their_ratio_and_why_not() {
    let beside = beside(&find("stec-2013").unwrap(), &study(None)).unwrap();
    let level = |config: &str, metric: &str| {
        beside.levels.iter().find(|one| one.config == config && one.metric == metric).unwrap()
    };
    let disks = level(CONFIGS[0], "tps");
    assert_eq!((disks.printed, disks.measured, disks.ratio), (27.0, Some(54.0), Some(2.0)));
    assert_eq!((disks.trials, disks.threads.as_slice()), ((2, 1), &[20][..]));
    let card = level(CONFIGS[1], "tps");
    assert_eq!((card.measured, card.ratio, card.trials), (Some(502.0), Some(2.0), (1, 0)));
    let unmeasured = level(CONFIGS[1], "latency_ms_p95");
    assert_eq!((unmeasured.printed, unmeasured.measured, unmeasured.ratio), (153.0, None, None));
    let gain = &beside.gains[0].rows[0];
    let measured = gain.measured.as_ref().unwrap().mean_percent;
    assert!((measured - (502.0 / 54.0 - 1.0) * 100.0).abs() < 1e-9, "{measured}");
    assert!((gain.printed_percent.unwrap() - (251.0 / 27.0 - 1.0) * 100.0).abs() < 1e-9);
    assert_eq!(gain.printed_says.as_deref(), Some("(251 / 27 − 1) × 100"));
    let why = beside.differs.join("\n");
    for text in [
        "s1120 card is not a device but a model of a card, capacity ÷ 20",
        "Quick profile: less.",
        "1 of 3 runs are flagged",
        "MySQL 5.1.61",
    ] {
        assert!(why.contains(text), "`{text}` is not in {why}");
    }
    assert!(!why.contains("six 15K disks is not a device"), "a device is one: {why}");
}

#[test]
fn operations_on_files_do_not_stand_under_what_is_printed_of_transactions() {
    let mut study = study(None);
    for (name, recipe) in [("reads", "oltp_simple"), ("files", "fileio")] {
        let workload = WorkloadRecord {
            name: name.into(),
            workload: name.into(),
            recipe: recipe.into(),
            ..study.workloads[0].clone()
        };
        study.workloads.push(workload);
        for config in CONFIGS {
            let mut trial = trial(config, 20, 1, 50.0, &[]);
            trial.key.workload = name.into();
            study.trials.push(trial);
        }
    }
    let beside = beside(&find("stec-2013").unwrap(), &study).unwrap();
    let rows = beside.gains[0].rows.iter().map(|row| row.workload.as_str());
    assert_eq!(rows.collect::<Vec<_>>(), ["complex", "reads"]);
}

#[test]
fn a_printed_deviation_stands_beside_that_of_the_seconds_as_shares_of_the_mean() {
    let mut study = study(None);
    study.configs[0].name = "PCIe card".into();
    study.workloads[0] = WorkloadRecord {
        name: "read write".into(),
        workload: "read write".into(),
        ..study.workloads[0].clone()
    };
    study.trials.truncate(1);
    study.trials[0].key = TrialKey {
        config: "PCIe card".into(),
        workload: "read write".into(),
        threads: 128,
        repeat: 1,
    };
    let seconds = [("sd(tps)", 300.0), ("mean(tps)", 1500.0)];
    study.trials[0].results.extend(seconds.map(|(name, value)| (name.to_owned(), value)));
    let paper = find("exflash-2015").unwrap();
    let all = beside(&paper, &study).unwrap().levels;
    let level = all.iter().find(|one| one.figure == "tps.fio_128.sd").unwrap();
    // Printed: 588.14282 of 1855.4304.
    let shares = level.shares_of_mean.unwrap();
    assert!((shares.printed_percent - 31.698).abs() < 0.001, "{shares:?}");
    assert_eq!(shares.measured_percent, Some(20.0));
    assert_eq!((level.measured, level.whole_device), (Some(300.0), Some(300.0)), "of a device");
    let row = crate::published::rows::of_level(level);
    assert!(row.notes.ends_with("31.7 % of the mean printed, 20 % measured"), "{}", row.notes);
}

/// STEC's Chart 1: 27 and 251 transactions, 517 and 4760 requests a second, 612 and 66.5 minutes
/// for a million transactions.
#[test]
fn what_follows_from_a_rate_stands_beside_what_is_printed_of_it() {
    let paper = find("stec-2013").unwrap();
    let mut study = study(None);
    for trial in &mut study.trials {
        let is_disks = trial.key.config == CONFIGS[0];
        trial.results.insert("tps".into(), if is_disks { 27.23 } else { 250.6 });
        trial.results.insert("server_cpu_percent".into(), if is_disks { 5.0 } else { 58.0 });
    }
    let beside = beside(&paper, &study).unwrap();
    let level = |figure: &str| beside.levels.iter().find(|one| one.figure == figure).unwrap();
    for (figure, printed) in [
        ("chart1.requests_per_s.disks", 517.0),
        ("chart1.requests_per_s.card", 4760.0),
        ("chart1.minutes.disks", 612.0),
        ("chart1.minutes.card", 66.5),
    ] {
        let level = level(figure);
        assert_eq!(level.printed, printed);
        let ratio = level.ratio.unwrap();
        assert!((ratio - 1.0).abs() < 0.002, "{figure}: {:?} is {ratio} of it", level.measured);
    }
    assert_eq!(level("chart1.minutes.card").metric, "requests / (60 × tps)");
    let cpu = beside.gains.iter().find(|gain| gain.metric == "server_cpu_percent").unwrap();
    assert!((cpu.rows[0].measured.as_ref().unwrap().mean_percent - 1060.0).abs() < 1e-9);
    assert_eq!(cpu.rows[0].printed_percent.map(f64::round), Some(1060.0));
    // At a quarter of the parallelism a rate stands for four times as much, and a time for a
    // quarter.
    let mut quarter = scaled(None, 4.0);
    for trial in &mut quarter.trials {
        trial.results.insert("tps".into(), 62.65);
    }
    let beside = super::beside(&paper, &quarter).unwrap();
    let card = beside.levels.iter().find(|one| one.figure == "chart1.minutes.card").unwrap();
    let (measured, whole) = (card.measured.unwrap(), card.whole_device.unwrap());
    assert!((measured - 266.0).abs() < 0.1 && (whole - 66.5).abs() < 0.1, "{measured} {whole}");
}

/// At a quarter of the parallelism, 96 of the paper's threads are 24.
#[test]
fn a_lead_from_some_threads_on_stands_beside_the_printed_threads() {
    let paper = find("percona-scaleflux-2020").unwrap();
    let repeated = paper.document.repeated.as_ref().unwrap();
    let place = repeated.crossovers.iter().position(|one| one.against_data_profile.is_some());
    let one = &repeated.crossovers[place.unwrap()];
    let mut study = scaled(None, 4.0);
    let disk = study.configs[1].rig.disk.clone();
    let workload = |data_profile: &Option<String>, name: &str| WorkloadRecord {
        name: name.into(),
        workload: one.workload.clone(),
        data_profile: data_profile.clone(),
        ..study.workloads[0].clone()
    };
    study.workloads =
        vec![workload(&one.data_profile, "small"), workload(&one.against_data_profile, "large")];
    for (config, name) in study.configs.iter_mut().zip([&one.config, &one.against]) {
        (config.name, config.rig.disk) = (name.clone(), disk.clone());
    }
    let qps = |config: &str, workload: &str, threads: u32, value: f64| {
        let mut trial = trial(config, threads, 1, 1.0, &[]);
        trial.key.workload = workload.into();
        trial.results.insert("qps".into(), value);
        trial
    };
    study.trials = [(1, 100.0), (16, 400.0), (24, 660.0), (64, 700.0)]
        .into_iter()
        .flat_map(|(threads, value)| {
            let other = if threads == 1 { 99.0 } else { 500.0 };
            [qps(&one.config, "small", threads, value), qps(&one.against, "large", threads, other)]
        })
        .collect();
    let beside = beside(&paper, &study).unwrap();
    let crossed = &beside.crossovers[place.unwrap()];
    assert_eq!((crossed.printed_threads, crossed.threads), (96.0, Some(24)));
    let row = crate::published::rows::of_crossover(crossed);
    assert_eq!((row.printed.as_str(), row.measured.as_str()), ("96", "from 24 × 4 = 96"));
    assert!(row.what.ends_with("above csd, doublewrite off on text 4.7T, qps"), "{}", row.what);
    assert!(
        row.notes.ends_with("1: +1.0 %, 16: −20.0 %, 24: +32.0 %, 64: +40.0 %"),
        "{}",
        row.notes
    );
    assert!(beside.crossovers.iter().any(|other| other.percent_by_threads.is_empty()));
}

/// Chart 2 of the paper prints $15,024 and $24,869; its parts make a dollar less of the second.
#[test]
fn the_plan_has_the_prices_that_its_paper_prints() {
    let prices = Plan::read("stec-2013".as_ref(), PlanForm::Full).unwrap().plan.prices.unwrap();
    let total = |config: &str| {
        let own = prices.configs[config].or(&prices.every_config);
        assay_judge::worth::cost::bill(&prices, &own).unwrap().total.round()
    };
    assert_eq!(CONFIGS.map(total), [15_024.0, 24_868.0]);
}

#[test]
fn a_study_finds_its_paper_by_name_or_by_the_title_of_older_ones() {
    let of = |paper: Option<assay_study::Paper>| of_study(paper.as_ref()).map(|paper| paper.name);
    let old = |title: &str| -> Option<assay_study::Paper> {
        let json = format!(r#"{{"title":"{title}","comparisons":[]}}"#);
        Some(serde_json::from_str(&json).unwrap())
    };
    assert_eq!(
        of(old("Percona, MySQL benchmarks on eXFlash DIMMs, 2015")).unwrap(),
        "exflash-2015"
    );
    assert!(format!("{:#}", of(old("Mine")).unwrap_err()).contains("name the claims"));
    assert!(format!("{:#}", of(None).unwrap_err()).contains("name the claims"));
    let plan = Plan::read("stec-2013".as_ref(), PlanForm::Quick).unwrap().plan;
    assert_eq!(of(plan.paper).unwrap(), "stec-2013");
}

#[test]
fn a_report_has_the_claims_of_its_plan_a_line_of_others_and_nothing_else() {
    let plan = |named: &str| Plan::read(named.as_ref(), PlanForm::Quick).unwrap().plan.paper;
    let PaperMatch::Beside(beside) = paper_match(&study(plan("stec-2013"))) else {
        panic!("its plan")
    };
    assert_eq!((beside.claims.as_str(), beside.levels.is_empty()), ("stec-2013", false));
    let PaperMatch::Partly(hint) = paper_match(&study(None)) else {
        panic!("configurations of the same names")
    };
    assert_eq!(hint, Hint::NameClaims("stec-2013".into()));
    let PaperMatch::Partly(hint) = paper_match(&study(plan("exflash-2015"))) else {
        panic!("no figure")
    };
    let name = || "exflash-2015".to_owned();
    assert_eq!(hint, Hint::RunPlan { claims: name(), plan: name() });
    let mine = serde_json::from_str(r#"{"claims":"mine","title":"Mine","comparisons":[]}"#);
    let PaperMatch::Partly(hint) = paper_match(&study(Some(mine.unwrap()))) else {
        panic!("a file")
    };
    assert_eq!(hint, Hint::NameFile("mine".into()));
    let mut other = study(None);
    other.trials.clear();
    assert!(matches!(paper_match(&other), PaperMatch::Apart), "nothing was measured");
}

/// Fungible's plan has other rates in its quick profile, and each form stands beside its own: reads
/// beside reads, updates beside updates, and what goes the other way is said.
#[test]
fn both_forms_of_a_plan_with_rates_stand_beside_the_paper() {
    let paper = find("fungible-2021").unwrap();
    for (form, rate) in [(PlanForm::Full, 1667), (PlanForm::Quick, 120)] {
        let plan = Plan::read("fungible-2021".as_ref(), form).unwrap().plan;
        let workload = format!("A at {rate} per second");
        let mut study = study(plan.paper);
        study.workloads[0].name.clone_from(&workload);
        study.workloads[0].workload.clone_from(&workload);
        for (place, config) in
            ["drive, zlib pages", "pool, 2 copies, compressed"].iter().enumerate()
        {
            study.configs[place].name = (*config).into();
        }
        for trial in &mut study.trials {
            let place = CONFIGS.iter().position(|name| *name == trial.key.config).unwrap();
            trial.key.config.clone_from(&study.configs[place].name);
            trial.key.workload.clone_from(&workload);
            (trial.state, trial.warnings) = (RunState::Done, Vec::new());
            // The pool is slower to read and quicker to update.
            trial.results.insert("latency_ms_p99{read}".into(), 10.0 + place as f64);
            trial.results.insert("latency_ms_p99{update}".into(), 10.0 - place as f64);
        }
        let beside = beside(&paper, &study).unwrap();
        let rows = beside.gains.iter().flat_map(|gain| &gain.rows);
        let found: Vec<_> = rows.filter(|row| row.measured.is_some()).collect();
        let [read, update] = found[..] else { panic!("{form:?}: {found:?}") };
        assert_eq!(read.printed_says.as_deref(), Some("better"), "{form:?}");
        assert_eq!(read.direction, Some(Direction::Opposite), "{form:?}");
        assert_eq!(update.direction, Some(Direction::AsPrinted), "{form:?}");
        let told = crate::published::rows::of_gain(&beside.gains[0]);
        let of_read = told.iter().find(|row| row.measured != "–").unwrap();
        assert_eq!(of_read.notes, "printed: better; the opposite of what is printed");
        // Repeats that lie on both sides go neither way.
        let pools =
            study.trials.iter_mut().rev().find(|trial| trial.key.config.starts_with("pool"));
        pools.unwrap().results.insert("latency_ms_p99{read}".into(), 9.0);
        let mixed = super::beside(&paper, &study).unwrap();
        let mut rows = mixed.gains.iter().flat_map(|gain| &gain.rows);
        assert_eq!(rows.find(|row| row.measured.is_some()).unwrap().direction, None);
    }
}

#[test]
fn a_study_of_something_else_is_refused() {
    let mut other = study(None);
    other.configs.truncate(1);
    other.configs[0].name = "mine".into();
    let error = refused(&find("stec-2013").unwrap(), &other);
    assert!(error.contains("none of the configurations that stec-2013 names"), "{error}");
    assert!(error.ends_with("and has mine"), "{error}");
    let whole = PAPERS.iter().find(|(name, _)| *name == "stec-2013").unwrap().1;
    let alone = whole.split("[repeated]").next().unwrap();
    let error = refused(&ParsedPaper::parse("alone", alone).unwrap(), &study(None));
    assert!(error.contains("say nothing of a plan"), "{error}");
}

#[test]
fn a_name_that_is_nearly_one_of_the_study_is_a_slip() {
    let text = PAPERS.iter().find(|(name, _)| *name == "stec-2013").unwrap().1;
    for (from, to, says) in [
        (
            "config = \"s1120 card\"",
            "config = \"s1120 crad\"",
            "the configuration `s1120 crad`, which the study does not have; did you mean `s1120 \
            card`?",
        ),
        (
            "workload = \"complex\"",
            "workload = \"compelx\"",
            "the workload `compelx`, which the study does not have; did you mean `complex`?",
        ),
    ] {
        let paper = ParsedPaper::parse("mine", &text.replace(from, to)).unwrap();
        let error = refused(&paper, &study(None));
        assert!(error.contains(says), "{error}");
    }
    // What a study leaves out is no slip, though the name of a configuration's A/A run is near.
    let mut less = study(None);
    less.configs[1].name = "six 15K disks, again".into();
    less.judging.aa_runs = [("six 15K disks, again".to_owned(), CONFIGS[0].to_owned())].into();
    let paper =
        ParsedPaper::parse("mine", &text.replace("s1120 card", "six 15K disks, old")).unwrap();
    assert!(beside(&paper, &less).is_ok());
}

#[test]
fn levels_of_a_scale_model_are_those_of_the_whole_device_or_none() {
    let paper = find("stec-2013").unwrap();
    let levels = |parallel_scale: f64| {
        let mut study = scaled(None, parallel_scale);
        for trial in &mut study.trials {
            trial.results.insert("latency_ms_mean".into(), 100.0);
        }
        let beside = beside(&paper, &study).unwrap();
        let of = |metric: &str| {
            let its =
                |one: &&super::study::Leveled| one.config == CONFIGS[1] && one.metric == metric;
            beside.levels.iter().find(its).unwrap().clone()
        };
        (of("tps"), of("latency_ms_mean"), beside.differs.join("\n"))
    };
    let (tps, latency, differs) = levels(4.0);
    assert_eq!((tps.measured, tps.whole_device), (Some(502.0), Some(2008.0)));
    assert_eq!(tps.ratio, Some(8.0));
    let row = crate::published::rows::of_level(&tps);
    assert_eq!(row.measured, "502 × 4 = 2008 1/s");
    assert!(row.notes.starts_with("tps with threads 20 × 4 for 20"), "{}", row.notes);
    assert_eq!((latency.measured, latency.whole_device, latency.ratio), (Some(100.0), None, None));
    let row = crate::published::rows::of_level(&latency);
    assert!(row.notes.contains("1/4 of the parallelism, not of the full device"), "{}", row.notes);
    assert!(differs.contains("Absolute figures of scaled models"), "{differs}");
    assert!(
        differs.contains("parallelism and six 15K disks all: their gain is not that of"),
        "{differs}"
    );
    // Of one at no scale.
    let (tps, latency, differs) = levels(1.0);
    assert_eq!((tps.ratio, latency.whole_device), (Some(2.0), Some(100.0)));
    assert!(!differs.contains("scaled models") && !differs.contains("their gain"), "{differs}");
}

#[test]
fn what_claims_say_of_a_plan_is_what_it_has() {
    let mut levels = 0;
    for (name, text) in PAPERS {
        let paper = ParsedPaper::parse(name, text).unwrap();
        let Some(repeated) = &paper.document.repeated else { continue };
        for form in [PlanForm::Full, PlanForm::Quick] {
            let plan = Plan::read(repeated.plan.as_ref(), form).unwrap().plan;
            let beside = plan.paper.unwrap();
            assert_eq!(beside.claims.as_deref(), Some(*name));
            assert_eq!(beside.title, paper.document.title);
            for level in &repeated.levels {
                levels += 1;
                assert!(plan.configs.contains_key(&level.config), "{name}: {}", level.config);
                assert!(plan.workloads.contains_key(&level.workload), "{name}: {}", level.workload);
                let data_profile = level.data_profile.as_ref();
                assert!(
                    data_profile.is_none_or(|one| plan.data_profiles.contains_key(one)),
                    "{name}"
                );
            }
        }
    }
    assert!(levels >= 36, "{levels}");
}

/// The figures that plans printed before they stood in claims, to a percent of a percent.
#[test]
fn printed_gains_are_those_that_plans_had() {
    let percents = |name: &str| -> Vec<i64> {
        let plan = Plan::read(name.as_ref(), PlanForm::Full).unwrap().plan;
        let comparisons = plan.paper.unwrap().comparisons;
        let printed = comparisons.iter().flat_map(|one| &one.printed);
        printed.filter_map(|one| one.percent).map(|one| one.round() as i64).collect()
    };
    // The last are "over 3×" and "almost twice"; of STEC 11.6 times the CPU.
    let percona = [1, -19, -1, -12, 19, -14, 44, 65, 11, 77, 104, 19, 200, 100];
    assert_eq!(percents("percona-2020"), percona);
    assert_eq!(percents("stec-2013"), [830, -89, -87, 1060]);
    assert_eq!(percents("exflash-2015"), [202, 241, 12, -71, -74]);
}
