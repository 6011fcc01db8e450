//! Invented runs whose truth is known.

use std::collections::BTreeMap;

use crate::statistics::MeanVariance;
use crate::statistics::simulated::{Noise, autoregression};
use crate::trial::figure::{OF_THREE_DIGITS, RunFigure, figures};
use crate::trial::measured::{Eligibility, Measured};
use crate::trial::metric::Metric;
use assay_study::RigRecord;
use assay_study::metrics::Window;
use assay_study::{
    Config, Judging, SecondLatencies, SecondLatency, Study, Trial, TrialKey, WorkloadRecord,
};

/// How the runs of a configuration come about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Truth {
    /// Seconds of the window.
    pub(crate) seconds: usize,
    /// Autocorrelation of the seconds.
    pub(crate) rho: f64,
    /// Deviation of a second, as a share.
    pub(crate) second: f64,
    /// Deviation of a run from its configuration, as a share.
    pub(crate) trial: f64,
    /// Transactions of each second that are timed; 0 for throughput alone.
    pub(crate) timed: usize,
}

impl Truth {
    /// A minute of seconds that depend on one another, runs that differ by `run`.
    pub(crate) fn minute(trial: f64) -> Truth {
        Truth { seconds: 60, rho: 0.5, second: 0.1, trial, timed: 0 }
    }

    /// A run of a configuration whose throughput is `level`; response times are in proportion to
    /// it, with a tail.
    pub(crate) fn trial(&self, noise: &mut Noise, key: TrialKey, level: f64) -> Measured {
        let own = level * (self.trial * noise.normal()).exp();
        let tps = autoregression(noise, self.seconds, own, self.second, self.rho);
        let mut results = BTreeMap::from([("tps".to_owned(), crate::statistics::mean(&tps))]);
        let mut latencies = SecondLatencies::default();
        let mut all: Vec<(u64, u64)> = Vec::new();
        for (second, rate) in (1..).zip(tps.iter().filter(|_| self.timed > 0)) {
            let slow = own / rate;
            let times: Vec<(u64, u64)> = (0..self.timed)
                .map(|_| ((slow * own * 1e4 * (0.5 * noise.normal()).exp()) as u64, 1))
                .collect();
            latencies.push(&SecondLatency::of(second, &times));
            all.extend(times);
        }
        all.sort_unstable();
        for (name, share) in [("latency_ms_p50", 0.5), ("latency_ms_p99", 0.99)] {
            if let Some((ns, _)) = all.get((all.len() as f64 * share) as usize) {
                results.insert(name.into(), *ns as f64 / 1e6);
            }
        }
        let mut trial = Measured {
            key,
            eligibility: Eligibility::Usable,
            tps,
            latencies,
            figures: BTreeMap::new(),
            absent: BTreeMap::new(),
        };
        figures(&mut trial, &results, &all, OF_THREE_DIGITS);
        trial
    }
}

/// A figure that is exact, of a run whose seconds are not known.
pub(crate) fn exactly(value: f64) -> RunFigure {
    let within = Some(MeanVariance { variance: 0.0, df: 1.0 });
    RunFigure { value, within, resolution: 0.0 }
}

/// A run of which these figures alone are known.
pub(crate) fn figures_alone(
    key: TrialKey,
    figures: impl IntoIterator<Item = (Metric, RunFigure)>,
) -> Measured {
    Measured {
        key,
        eligibility: Eligibility::Usable,
        tps: Vec::new(),
        latencies: SecondLatencies::default(),
        figures: figures.into_iter().collect(),
        absent: BTreeMap::new(),
    }
}

/// A run with this throughput alone.
pub(crate) fn throughput_alone(key: TrialKey, tps: f64) -> Measured {
    figures_alone(key, [(Metric::Throughput, exactly(tps))])
}

pub(crate) fn key(config: &str, threads: u32, repeat: u32) -> TrialKey {
    TrialKey { config: config.into(), workload: "w".into(), threads, repeat }
}

/// A study of these configurations under one workload, without its runs.
pub(crate) fn study(configs: &[&str], aa_runs: &[(&str, &str)]) -> Study {
    let config = |name: &&str| Config {
        name: (*name).into(),
        rig: RigRecord::default(),
        settings: [].into(),
    };
    Study {
        title: String::new(),
        question: None,
        form: None,
        paper: None,
        judging: Judging {
            aa_runs: aa_runs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
            ..Judging::default()
        },
        prices: None,
        plan_toml: String::new(),
        calibration: None,
        facts: [].into(),
        notes: vec![],
        looks: vec![],
        sessions: assay_study::Sessions::default(),
        configs: configs.iter().map(config).collect(),
        workloads: vec![WorkloadRecord {
            name: "w".into(),
            workload: "w".into(),
            data_profile: None,
            recipe: String::new(),
            options: [].into(),
        }],
        trials: vec![],
        discarded: vec![],
        power_cuts: Vec::new(),
    }
}

/// A run of `w` at 8 threads that was measured from second 2 to 12, with these results.
pub(crate) fn trial(config: &str, results: &[(&str, f64)]) -> Trial {
    Trial {
        started_at: Some("2026-01-02T03:04:05Z".into()),
        window: Some(Window { from_s: 2.0, to_s: 12.0 }),
        ..Trial::done(key(config, 8, 1), results)
    }
}
