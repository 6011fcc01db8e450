//! Figures of phases are those of the raw seconds, computed here once more without any of the code
//! that is judged.

use assay_load::PhasePace;

use crate::difference::verdict::Conclusion;
use crate::simulated::key;
use crate::trial::metric::Metric;
use crate::{Judgement, OfPhase, judgement};
use assay_study::metrics::{Window, find};
use assay_study::{
    Config, Outcome, Phase, RigRecord, SecondLatencies, SecondLatency, Series, Store, StudyHead,
    WorkloadRecord,
};

const PHASES: [(&str, f64, f64, PhasePace); 3] = [
    ("calm", 5.0, 15.0, PhasePace::Closed),
    ("burst", 15.0, 22.0, PhasePace::Rate { from_per_s: 300.0, to_per_s: 600.0 }),
    ("rest", 22.0, 25.0, PhasePace::Paused),
];

/// Transactions of a second: how long each took, in ns. Different in every second, and in the burst
/// by configuration.
fn times(config: usize, repeat: u32, second: u32) -> Vec<u64> {
    let count = match second {
        6..=15 => 200 + 3 * u64::from(second) + u64::from(repeat),
        16..=22 => 400 + 100 * config as u64 + 7 * u64::from(second * repeat),
        23..=25 => 0,
        _ => 9000,
    };
    let slow = if (16..=22).contains(&second) { 3 } else { 1 };
    (0..count).map(|i| (1_000_000 + (i * i * 7_919) % 40_000_000) * slow).collect()
}

fn bytes(second: u32) -> f64 {
    1e6 * f64::from(second * second % 17)
}

fn latency_ms(second: u32) -> f64 {
    0.5 + f64::from(second % 5)
}

fn grown_ms(second: u32) -> f64 {
    10.0 * f64::from(second * second)
}

fn outcome(config: usize, repeat: u32) -> Outcome {
    let seconds = 1..=27;
    let series = |name: &str, value: &dyn Fn(u32) -> f64| Series {
        points: seconds.clone().map(|second| (second, value(second))).collect(),
        ..Series::of(find(name).unwrap())
    };
    let count = |second: u32| times(config, repeat, second).len() as f64;
    let mean_ms = |second: u32| {
        let all = times(config, repeat, second);
        all.iter().sum::<u64>() as f64 / all.len().max(1) as f64 / 1e6
    };
    let max_ms =
        |second: u32| times(config, repeat, second).into_iter().max().unwrap_or(0) as f64 / 1e6;
    let mut second_latencies = SecondLatencies::default();
    for second in seconds.clone() {
        let all: Vec<(u64, u64)> =
            times(config, repeat, second).into_iter().map(|ns| (ns, 1)).collect();
        second_latencies.push(&SecondLatency::of(second, &all));
    }
    let phase = |(name, from_s, to_s, pace): (&str, f64, f64, PhasePace)| Phase {
        name: name.into(),
        window: Window { from_s, to_s },
        pace,
        workload: None,
        happened: None,
    };
    Outcome {
        window: Some(Window { from_s: 5.0, to_s: 25.0 }),
        series: vec![
            series("tps", &count),
            series("latency_ms_mean", &mean_ms),
            series("latency_ms_max", &max_ms),
            series("queue_length", &f64::from),
            series("disk_write_bytes_per_s", &bytes),
            series("disk_writes_per_s", &f64::from),
            series("disk_write_latency_ms", &latency_ms),
            series("model_stalled_ms", &grown_ms),
            series("space_file_bytes", &|second| 1e9 + f64::from(second)),
        ],
        second_latencies,
        phases: PHASES.map(phase).into(),
        ..Outcome::default()
    }
}

fn judged() -> Judgement {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let config = |name: &str| Config {
        name: name.into(),
        rig: RigRecord::default(),
        settings: Default::default(),
    };
    let workload = WorkloadRecord {
        name: "w".into(),
        data_profile: None,
        workload: "w".into(),
        recipe: String::new(),
        options: Default::default(),
    };
    let configs = [config("base"), config("other")];
    store
        .write_head(&StudyHead {
            configs: &configs,
            workloads: &[workload],
            ..StudyHead::default()
        })
        .unwrap();
    for repeat in 1..=3 {
        for (place, name) in ["base", "other"].iter().enumerate() {
            let key = key(name, 8, repeat);
            store.plan_trial(&key, repeat * 2 + place as u32, "f").unwrap();
            store.begin_trial(&key).unwrap();
            store.end_trial(&key, &outcome(place, repeat)).unwrap();
        }
    }
    let study = store.study().unwrap();
    judgement(&store, &study).unwrap()
}

fn is_near(found: f64, truth: f64, tolerance: f64) -> bool {
    (found / truth - 1.0).abs() <= tolerance
}

/// The seconds of a phase, as its definition has them: those that end within it.
fn seconds_of(one: &OfPhase) -> std::ops::RangeInclusive<u32> {
    one.phase.window.from_s as u32 + 1..=one.phase.window.to_s as u32
}

#[test]
fn every_phases_figures_equal_those_computed_from_the_raw_seconds() {
    let judged = judged();
    assert_eq!(judged.phases.of_trials.len(), 6 * PHASES.len());
    for one in &judged.phases.of_trials {
        let config = usize::from(one.key.config == "other");
        let seconds = || seconds_of(one);
        let n = seconds().count() as f64;
        let mut all: Vec<u64> =
            seconds().flat_map(|second| times(config, one.key.repeat, second)).collect();
        all.sort_unstable();
        let is = |name: &str, truth: f64| {
            let found = one.results[name];
            assert!(
                is_near(found, truth, 1e-9) || found == truth,
                "{name} of {}: {found}, {truth}",
                one.phase.name
            );
        };
        is("tps", all.len() as f64 / n);
        is("transactions", all.len() as f64);
        is("disk_write_bytes_per_s", seconds().map(bytes).sum::<f64>() / n);
        let writes: f64 = seconds().map(f64::from).sum();
        let waited: f64 = seconds().map(|second| f64::from(second) * latency_ms(second)).sum();
        is("disk_write_latency_ms", waited / writes);
        let (from, to) = (one.phase.window.from_s as u32, one.phase.window.to_s as u32);
        is("model_stalled_ms", grown_ms(to) - grown_ms(from));
        is("space_file_bytes", 1e9 + f64::from(to));
        assert_eq!(one.queue_length_end, Some(f64::from(to)));
        if all.is_empty() {
            assert!(
                !one.results.contains_key("latency_ms_p99"),
                "of nothing there is no percentile"
            );
            continue;
        }
        is("latency_ms_mean", all.iter().sum::<u64>() as f64 / all.len() as f64 / 1e6);
        is("latency_ms_max", all[all.len() - 1] as f64 / 1e6);
        is("write_bytes_per_transaction", seconds().map(bytes).sum::<f64>() / all.len() as f64);
        for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)] {
            let truth = all[(all.len() as f64 * share).ceil() as usize - 1] as f64 / 1e6;
            let found = one.results[&format!("latency_ms_{name}")];
            // A bucket of a second's histogram is at most 1.6 % wide.
            assert!(found >= truth && is_near(found, truth, 0.016), "{name}: {found}, {truth}");
        }
    }
}

/// The negative control: the same phases a second later have other figures.
#[test]
fn a_second_more_or_less_would_be_seen() {
    let judged = judged();
    let calm = judged.phases.of_trials.iter().find(|one| one.phase.name == "calm").unwrap();
    let later = (7..=16).map(bytes).sum::<f64>() / 10.0;
    assert!(!is_near(calm.results["disk_write_bytes_per_s"], later, 0.01));
}

#[test]
fn each_phase_has_verdicts_of_its_own_and_a_pause_none() {
    let phases = judged().phases;
    let names: Vec<&str> = phases.verdicts.iter().map(|one| one.phase.as_str()).collect();
    assert_eq!(names, ["calm", "burst"]);
    let word = |place: usize, metric: Metric| {
        let its = &phases.verdicts[place].comparisons;
        its.iter().find(|one| one.metric == metric).unwrap().verdict.conclusion
    };
    assert_eq!(word(0, Metric::Throughput), Conclusion::Equivalent);
    assert_eq!(word(1, Metric::Throughput), Conclusion::Better);
}

#[test]
fn a_run_with_phases_is_not_asked_whether_it_held_still() {
    assert!(judged().trials.iter().all(|one| one.steady.is_none() && one.stalls.is_none()));
}
