//! A small study as a run leaves it, to be damaged.

use std::path::Path;

use assay_study::metrics::{Window, metric};
use assay_study::{
    Config, Data, Histogram, LatencyClock, Outcome, Phase, PhasePace, Prices, RigRecord,
    SecondLatencies, SecondLatency, Series, Store, StudyHead, Tables, Timed, TrialKey,
    WorkloadRecord,
};

/// Writes a study of two configurations, each run three times.
pub fn study(directory: &Path) {
    let mut store = Store::open_or_create(directory).unwrap();
    let data = Data {
        data_profile: None,
        tables: Tables { count: 2, rows: 1000, ..Tables::default() },
        fill: None,
    };
    let config = |name: &str| Config {
        name: name.into(),
        rig: RigRecord { data: vec![data.clone()], server: "9.7.4".into(), ..RigRecord::default() },
        settings: [("innodb_doublewrite".to_owned(), name.to_uppercase())].into(),
    };
    let workload = WorkloadRecord {
        name: "w".into(),
        workload: "w".into(),
        data_profile: None,
        recipe: "oltp_read_write".into(),
        options: [("tables".to_owned(), "2".to_owned())].into(),
    };
    let prices = Prices::parse("currency = \"USD\"\nyears = 3\n").unwrap();
    let head = StudyHead {
        title: "a study",
        question: Some("is it worth it?"),
        plan_toml: "title = \"a study\"\n",
        configs: &[config("on"), config("off")],
        workloads: &[workload],
        facts: &[("kernel".to_owned(), "6.1".to_owned())].into(),
        prices: Some(&prices),
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    for (place, (name, level)) in [("on", 900.0), ("off", 1000.0)].into_iter().enumerate() {
        for repeat in 1..=3 {
            let key = TrialKey { config: name.into(), workload: "w".into(), threads: 8, repeat };
            store.plan_trial(&key, repeat * 10 + place as u32, "f").unwrap();
            store.begin_trial(&key).unwrap();
            store.end_trial(&key, &outcome(level + f64::from(repeat))).unwrap();
        }
    }
}

fn outcome(tps: f64) -> Outcome {
    let window = Window { from_s: 0.0, to_s: 20.0 };
    let points = || (1..=20).map(|second| (second, tps * (1.0 + 0.01 * f64::from(second % 3))));
    let mut second_latencies = SecondLatencies::default();
    for second in 1..=20 {
        second_latencies.push(&SecondLatency::of(second, &[(1_000_000, 7), (9_000_000, 1)]));
    }
    Outcome {
        window: Some(window),
        results: [("tps".to_owned(), tps), ("latency_ms_p99".to_owned(), 8e3 / tps)].into(),
        errors: [(1213, 4)].into(),
        series: vec![
            Series { points: points().collect(), ..Series::of(metric!("tps")) },
            Series { points: points().collect(), ..Series::of(metric!("qps")) },
        ],
        histograms: vec![Histogram {
            kind: Timed::Transaction,
            clock: LatencyClock::Service,
            buckets: vec![(1_000_000, 300), (2_000_000, 10)],
        }],
        variables: [("innodb_doublewrite".to_owned(), "ON".to_owned())].into(),
        facts: [("placement".to_owned(), "any".to_owned())].into(),
        second_latencies,
        phases: vec![Phase {
            name: "all".into(),
            window,
            pace: PhasePace::Closed,
            workload: None,
            happened: None,
        }],
        ..Outcome::default()
    }
}
