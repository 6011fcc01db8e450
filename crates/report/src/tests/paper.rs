//! The figures beside a paper's are its own formula's, and what is left out of them is said.

use super::*;
use assay_study::RigRecord;
use assay_study::{Comparison, Config, Outcome, Paper, Printed, TrialKey, WorkloadRecord};
use assay_study::{CpuUse, Warning};

const CONFIGS: [&str; 2] = ["csd", "plain"];

fn printed(data_profile: &str, percent: Option<f64>, says: Option<&str>) -> Printed {
    Printed {
        data_profile: Some(data_profile.into()),
        workload: "write".into(),
        percent,
        says: says.map(str::to_owned),
        is_better: None,
    }
}

fn paper() -> Paper {
    let printed =
        vec![printed("small", Some(104.0), None), printed("more", None, Some("N/A <one>"))];
    Paper {
        claims: None,
        title: "A paper, <2020>".into(),
        comparisons: vec![Comparison {
            table: "Table 1".into(),
            metric: "qps".into(),
            config: CONFIGS[0].into(),
            against: CONFIGS[1].into(),
            printed,
        }],
    }
}

/// QPS of each run, or nothing of one that failed: configuration, data profile, threads, repeat.
const TRIALS: [(&str, &str, u32, u32, Option<f64>); 12] = [
    ("csd", "small", 1, 1, Some(90.0)),
    ("csd", "small", 1, 2, Some(110.0)),
    ("plain", "small", 1, 1, Some(50.0)),
    ("plain", "small", 1, 2, Some(50.0)),
    ("csd", "small", 8, 1, Some(300.0)),
    ("plain", "small", 8, 1, Some(400.0)),
    ("csd", "small", 64, 1, None),
    ("plain", "small", 64, 1, Some(400.0)),
    ("csd", "large", 1, 1, None),
    ("plain", "large", 1, 1, Some(1.0)),
    ("csd", "more", 1, 1, Some(700.0)),
    ("csd", "more", 8, 1, Some(800.0)),
];

fn outcome(qps: Option<f64>, config: &str, threads: u32) -> Outcome {
    let Some(qps) = qps else {
        return Outcome { reason: Some("it broke".into()), ..Outcome::default() };
    };
    let media = if config == "csd" { 5_000.0 } else { 20_000.0 };
    let results = [
        ("qps", qps),
        ("media_write_bytes_per_transaction", media),
        ("drive_write_amplification", if config == "csd" { 0.6 } else { 2.5 }),
        ("model_missed_deadlines_percent", f64::from(threads)),
        ("cpu_user_percent", 40.0),
        ("cpu_system_percent", 10.0),
    ];
    Outcome {
        results: results.map(|(name, value)| (name.to_owned(), value)).into(),
        warnings: if threads == 8 {
            vec![Warning::MissedDeadlines { percent: 30.0, cpu: CpuUse::NONE }]
        } else {
            vec![]
        },
        ..Outcome::default()
    }
}

pub(super) fn write_study(directory: &Path) -> Written {
    let mut store = Store::open_or_create(directory).unwrap();
    let paper = paper();
    let workload = |set: &str| WorkloadRecord {
        name: format!("{set}: write"),
        workload: "write".into(),
        data_profile: Some(set.into()),
        recipe: "oltp_write_only".into(),
        options: BTreeMap::new(),
    };
    let config = |name: &str| Config {
        name: name.into(),
        rig: RigRecord::default(),
        settings: BTreeMap::new(),
    };
    let head = StudyHead {
        title: "beside a paper",
        form: Some("Quick profile: 4 s measured in place of 600."),
        paper: Some(&paper),
        configs: &CONFIGS.map(config),
        workloads: &["small", "large", "more"].map(workload),
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    for (position, (config, set, threads, repeat, qps)) in (1..).zip(TRIALS) {
        let workload = format!("{set}: write");
        let key = TrialKey { config: config.into(), workload, threads, repeat };
        store.plan_trial(&key, position, "f").unwrap();
        store.begin_trial(&key).unwrap();
        store.end_trial(&key, &outcome(qps, config, threads)).unwrap();
    }
    write(&store, directory).unwrap()
}

#[test]
fn the_mean_over_thread_counts_is_the_papers() {
    let directory = tempfile::tempdir().unwrap();
    let written = write_study(directory.path());
    let json: Value = serde_json::from_slice(&fs::read(&written.json).unwrap()).unwrap();
    let rows = &json["compared_with_paper"][0]["rows"];
    let small = &rows[0];
    // One thread: (100 - 50) / 50, of repeats the mean; eight: (300 - 400) / 400; 64 has one side
    // only.
    assert_eq!(small["measured"]["by_threads"], serde_json::json!([[1, 100.0], [8, -25.0]]));
    assert_eq!(small["measured"]["mean_percent"], 37.5);
    assert_eq!(small["printed_percent"], 104.0);
    let counters = &small["counters"];
    assert_eq!(counters[0]["media_write_bytes_per_transaction"], 5_000.0);
    assert_eq!(counters[1]["drive_write_amplification"], 2.5);
    assert_eq!(
        (&counters[0]["model_missed_deadlines_percent"], &counters[0]["cpu_percent"]),
        (&4.5.into(), &50.0.into())
    );
    assert_eq!(
        small["remarks"],
        serde_json::json!(["64 threads left out: csd failed", "2 of 6 runs flagged"])
    );
    assert_eq!(rows[1]["measured"], Value::Null);
    assert_eq!(rows[1]["remarks"][0], "1 thread left out: csd failed");
    assert_eq!(rows[2]["remarks"], serde_json::json!(["only csd runs on it"]));
    assert_eq!(json["paper"]["comparisons"][0]["printed"][0]["percent"], 104.0);
}

#[test]
fn the_table_says_the_same_on_the_page_and_in_csv() {
    let directory = tempfile::tempdir().unwrap();
    let written = write_study(directory.path());
    let csv = rows(&written.tables.join("paper.csv"));
    let of = |row: &BTreeMap<String, String>, name: &str| row[name].clone();
    assert_eq!((csv.len(), of(&csv[0], "measured_percent").as_str()), (3, "37.5"));
    assert_eq!(
        (of(&csv[0], "threads_highest"), of(&csv[0], "threads_highest_percent")),
        ("8".into(), "-25".into())
    );
    assert_eq!(of(&csv[0], "against_media_write_bytes_per_transaction"), "20000");
    assert_eq!(of(&csv[2], "printed_says"), "N/A <one>");
    let markup = markup(&fs::read_to_string(&written.html).unwrap());
    for text in [
        "A paper, &lt;2020&gt;",
        "Quick profile: 4 s measured in place of 600.",
        "<td>+37.5 %</td>",
        "<td>+100 % at 1</td><td>−25 % at 8</td>",
        "<td>5.00 &#x2f; 20.0</td>",
        "printed: N&#x2f;A &lt;one&gt;; only csd runs on it",
        "<h3 class=\"data-set\">small</h3>",
        "2 configurations (csd and plain) under 1 workload (write) on 3 data profiles (small, \
        large and more)",
    ] {
        assert!(markup.contains(text), "{text}");
    }
    let summary = markup.split_once("id=\"summary\"").unwrap().1;
    let more = summary.split_once("<h3 class=\"data-set\">more</h3>").unwrap().1;
    let more = more.split_once("<section").map_or(more, |(section, _)| section);
    assert!(
        more.contains("data-config=\"0\"") && !more.contains("data-config=\"1\""),
        "only its configurations"
    );
}

#[test]
fn claims_stand_beside_measurements_with_the_conditions_that_differ() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let config =
        |name: &str| Config { name: name.into(), rig: RigRecord::default(), settings: [].into() };
    let workload = WorkloadRecord {
        name: "complex".into(),
        workload: "complex".into(),
        data_profile: None,
        recipe: "oltp_complex".into(),
        options: BTreeMap::new(),
    };
    let head = StudyHead {
        title: "repeated",
        form: Some("Quick profile: less."),
        paper: Some(&assay_claims::beside("stec-2013").unwrap()),
        configs: &[config("six 15K disks"), config("s1120 card")],
        workloads: &[workload],
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    for (position, (config, tps)) in
        [("six 15K disks", 54.0), ("s1120 card", 502.0)].iter().enumerate()
    {
        let key = TrialKey {
            config: (*config).into(),
            workload: "complex".into(),
            threads: 20,
            repeat: 1,
        };
        store.plan_trial(&key, position as u32, "f").unwrap();
        store.begin_trial(&key).unwrap();
        let results = [("tps".to_owned(), *tps)].into();
        store.end_trial(&key, &Outcome { results, ..Outcome::default() }).unwrap();
    }
    let written = write(&store, directory.path()).unwrap();
    let markup = markup(&fs::read_to_string(&written.html).unwrap());
    let claims = markup.split_once("<section id=\"claims\">").unwrap().1;
    let claims = claims.split_once("</section>").unwrap().0;
    for text in [
        "six 15K disks, complex</th><td>27 1&#x2f;s</td><td>54 1&#x2f;s</td><td>2.00</td>",
        "<td>+829.6 %</td><td>+829.6 %</td><td>1.00</td>",
        "Conditions that differ",
        "<li>Quick profile: less.</li>",
    ] {
        assert!(claims.contains(text), "{text} is not in {claims}");
    }
    let json: Value = serde_json::from_slice(&fs::read(&written.json).unwrap()).unwrap();
    assert_eq!(json["claims"]["levels"][0]["ratio"], 2.0);
    let of_no_paper = super::markup(&report(&Shape::small()).html());
    assert!(!of_no_paper.contains("id=\"claims\"") && !of_no_paper.contains("assay claims"));
}
