//! Whether throughput had settled before the windows of runs that are too short or too noisy to
//! show it each by itself: all runs of a configuration and workload together.

use std::collections::BTreeMap;

use crate::interval::LEVEL;
use crate::statistics::{line, mean, paired};
use crate::trial::measured::Measured;
use crate::trial::steady::{Steadiness, Steady, of_interval};

/// The drift that the runs of a configuration and workload have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Settling {
    pub config: String,
    pub workload: String,
    /// Number of runs.
    pub runs: usize,
    /// Seconds of the longest window.
    pub seconds: usize,
    /// The mean rise over the window in percent of the throughput, and its interval; `None` of
    /// fewer than two runs of four seconds.
    pub drift_percent: Option<(f64, (f64, f64))>,
    pub held: Steadiness,
}

/// Settling of every configuration and workload with runs that show none by themselves, in the
/// order of the runs.
pub(crate) fn settling<'a>(
    each: impl Iterator<Item = (&'a Measured, Option<&'a Steady>)>,
) -> Vec<Settling> {
    let mut groups: Vec<(&str, &str)> = Vec::new();
    let mut its: BTreeMap<(&str, &str), Vec<JudgedRun<'_>>> = BTreeMap::new();
    for (run, steady) in each {
        let group = (run.key.config.as_str(), run.key.workload.as_str());
        if !its.contains_key(&group) {
            groups.push(group);
        }
        its.entry(group).or_default().push((run, steady));
    }
    groups.iter().filter_map(|group| of_group(*group, &its[group])).collect()
}

/// A run and its own steadiness.
type JudgedRun<'a> = (&'a Measured, Option<&'a Steady>);

fn of_group((config, workload): (&str, &str), runs: &[JudgedRun<'_>]) -> Option<Settling> {
    let is_told =
        |steady: &Option<&Steady>| steady.is_some_and(|one| one.held != Steadiness::TooShortToTell);
    if runs.iter().all(|(_, steady)| is_told(steady)) {
        return None;
    }
    let drifts: Vec<f64> = runs.iter().filter_map(|(run, _)| drift_percent(&run.tps)).collect();
    let together = paired(&drifts).map(|spread| (spread.mean, spread.interval(LEVEL)));
    Some(Settling {
        config: config.to_owned(),
        workload: workload.to_owned(),
        runs: runs.len(),
        seconds: runs.iter().map(|(run, _)| run.tps.len()).max().unwrap_or(0),
        drift_percent: together,
        held: together.map_or(Steadiness::TooShortToTell, |(_, interval)| of_interval(interval)),
    })
}

/// The rise over these seconds, in percent of their mean. Runs are independent, so its spread is
/// that from run to run, and no run has to show how its seconds depend on each other.
fn drift_percent(tps: &[f64]) -> Option<f64> {
    let level = mean(tps);
    let fitted = line(tps, LEVEL).filter(|_| level > 0.0)?;
    Some(fitted.slope * tps.len() as f64 / level * 100.0)
}

#[cfg(test)]
mod tests {
    use assay_testing::count;

    use super::*;
    use crate::simulated::key;
    use crate::statistics::simulated::{Noise, autoregression};
    use crate::trial::measured::Eligibility;
    use crate::trial::steady::steady;

    /// A run that approaches its rest from half of it.
    fn run(noise: &mut Noise, repeat: u32, seconds: usize, tau: Option<f64>) -> Measured {
        let gone =
            |second: usize| tau.map_or(0.0, |tau| 0.5 * (-(second as f64 + 0.5) / tau).exp());
        let flat = autoregression(noise, seconds, 1000.0, 0.05, 0.5);
        Measured {
            key: key("base", 1, repeat),
            eligibility: Eligibility::Usable,
            tps: flat.iter().enumerate().map(|(t, tps)| tps * (1.0 - gone(t))).collect(),
            latencies: assay_study::SecondLatencies::default(),
            figures: [].into(),
            absent: [].into(),
        }
    }

    /// Shares of studies found to drift: by any run alone (control), and by all together; and the
    /// share called steady together.
    fn shares(runs: u32, seconds: usize, tau: Option<f64>) -> [f64; 3] {
        let mut noise = Noise::new(u64::from(runs) + seconds as u64);
        let cases = count(200, 2000);
        let mut found = [0; 3];
        for _ in 0..cases {
            let all: Vec<Measured> =
                (1..=runs).map(|repeat| run(&mut noise, repeat, seconds, tau)).collect();
            let alone: Vec<Option<Steady>> = all.iter().map(|run| steady(&run.tps)).collect();
            let drifts =
                |one: &Option<Steady>| one.as_ref().is_some_and(|s| s.held == Steadiness::Drifting);
            found[0] += u32::from(alone.iter().any(drifts));
            let together = settling(all.iter().zip(alone.iter().map(Option::as_ref)));
            let held = |word| u32::from(together.iter().any(|one| one.held == word));
            found[1] += held(Steadiness::Drifting);
            found[2] += held(Steadiness::Steady);
        }
        found.map(|n| f64::from(n) / f64::from(cases))
    }

    #[test]
    fn short_windows_show_together_that_throughput_had_not_settled() {
        for seconds in [5, 8, 10] {
            for runs in [3, 6, 12] {
                let [alone, together, _] = shares(runs, seconds, Some(5.0));
                let [_, false_alarms, steady] = shares(runs, seconds, None);
                println!(
                    "{runs} runs of {seconds} s: drift found alone {alone:.3}, together \
                     {together:.3}; at rest together {false_alarms:.3}, called steady {steady:.3}"
                );
                assert!(alone <= together || seconds == 10, "{alone} {together}");
                assert!(together > 0.7, "{together}");
                assert!(false_alarms < 0.05, "{false_alarms}");
            }
        }
        let [.., steady] = shares(12, 8, Some(5.0));
        assert!(steady < 0.01, "{steady} are called steady");
    }

    #[test]
    fn too_few_runs_or_seconds_tell_nothing() {
        let mut noise = Noise::new(1);
        for (runs, seconds) in [(1, 8), (4, 3)] {
            let all: Vec<Measured> =
                (0..runs).map(|repeat| run(&mut noise, repeat, seconds, None)).collect();
            let [one] = &settling(all.iter().map(|run| (run, None)))[..] else { panic!() };
            assert_eq!((one.drift_percent, one.held), (None, Steadiness::TooShortToTell));
        }
    }
}
