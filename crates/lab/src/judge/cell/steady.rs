//! Whether throughput held still while it was measured.

use serde::Serialize;

use crate::judge::difference::compare::LEVEL;
use crate::judge::statistics::{
    Line, autocorrelation, line, mean, mean_variance, standard_deviation, t_quantile,
};

/// Drift over the window that counts, in percent of its mean: what the warm-up until steady allows (`assay_load`, five seconds
/// against five).
const DRIFT_MOST_PERCENT: f64 = 5.0;

/// Windows shorter than this, in seconds, cannot tell drift from a wave.
const SECONDS_LEAST: usize = 10;

/// The part of a window that must be left behind the moment it is said to have settled.
const REST_LEAST: f64 = 1.0 / 3.0;

/// How throughput went within the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Steady {
    /// By how much it rose each minute, in percent of its mean.
    pub(crate) slope_percent_per_minute: f64,
    /// The interval of that.
    pub(crate) slope_interval: (f64, f64),
    /// By how much it rose over the window, in percent of its mean.
    pub(crate) drift_percent: f64,
    /// Standard deviation of its seconds, in percent of its mean.
    pub(crate) spread_percent: f64,
    /// How much of a second's deviation is left in the next (autocorrelation at lag 1).
    pub(crate) autocorrelation: f64,
    /// Seconds of the window after which no drift is shown any more: 0 if it was settled, nothing if it never was.
    pub(crate) settled_after_s: Option<usize>,
    /// The same in words.
    pub(crate) text: String,
}

/// Of the seconds of a window; nothing of a window too short to say.
pub(crate) fn steady(tps: &[f64]) -> Option<Steady> {
    let level = mean(tps);
    if tps.len() < SECONDS_LEAST || level <= 0.0 {
        return None;
    }
    let fitted = line(tps, LEVEL)?;
    let percent = |value: f64| value / level * 100.0;
    let settled_after_s = settled_after(tps);
    let drift_percent = percent(fitted.slope * tps.len() as f64);
    let way = if drift_percent > 0.0 { "rose" } else { "fell" };
    let text = match settled_after_s {
        Some(0) => "steady".to_owned(),
        Some(after) => format!("settled after {after} s of the window"),
        None => format!("never settled: it {way} by {:.0} % over the window", drift_percent.abs()),
    };
    Some(Steady {
        slope_percent_per_minute: percent(fitted.slope * 60.0),
        slope_interval: (percent(fitted.interval.0 * 60.0), percent(fitted.interval.1 * 60.0)),
        drift_percent,
        spread_percent: percent(standard_deviation(tps)),
        autocorrelation: autocorrelation(tps, 1),
        settled_after_s,
        text,
    })
}

/// The first of ten moments from which the rest of the window shows no drift.
fn settled_after(tps: &[f64]) -> Option<usize> {
    let least = SECONDS_LEAST.max((tps.len() as f64 * REST_LEAST) as usize);
    let step = (tps.len() / 10).max(1);
    let starts = (0..=tps.len() - least).step_by(step);
    starts.into_iter().find(|start| !drifts(&tps[*start..]))
}

/// Whether throughput moves, or begins elsewhere than it ends, by more than matters and more than chance.
fn drifts(tps: &[f64]) -> bool {
    let Some(Line { slope, interval }) = line(tps, LEVEL) else { return false };
    let drift = (slope * tps.len() as f64 / mean(tps) * 100.0).abs();
    let moves = drift > DRIFT_MOST_PERCENT && (interval.0 > 0.0 || interval.1 < 0.0);
    moves || begins_elsewhere(tps)
}

/// A warm-up that is nearly over is no straight line: its first part is held against the second half.
fn begins_elsewhere(tps: &[f64]) -> bool {
    let first = (tps.len() / 10).max(5).min(tps.len() / 2);
    let half = &tps[tps.len() / 2..];
    let Some(known) = mean_variance(half) else { return false };
    let gap = mean(&tps[..first]) - mean(half);
    // The variance of a mean falls as its seconds rise.
    let variance = known.variance * (1.0 + half.len() as f64 / first as f64);
    let reach = t_quantile(0.5 + LEVEL / 2.0, known.df) * variance.sqrt();
    (gap / mean(half) * 100.0).abs() > DRIFT_MOST_PERCENT && gap.abs() > reach
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::simulated::{Noise, autoregression};

    #[test]
    fn drift_is_told_from_noise() {
        let mut noise = Noise::new(5);
        let mut steadies = 0;
        for _ in 0..100 {
            let found = steady(&autoregression(&mut noise, 120, 1000.0, 0.05, 0.5)).unwrap();
            steadies += u32::from(found.settled_after_s == Some(0));
        }
        assert!(steadies >= 92, "{steadies} of 100 that are steady");
        let mut never = 0;
        for _ in 0..100 {
            let flat = autoregression(&mut noise, 120, 1000.0, 0.02, 0.5);
            let falling: Vec<f64> =
                flat.iter().enumerate().map(|(t, tps)| tps - 4.0 * t as f64).collect();
            let found = steady(&falling).unwrap();
            assert!(found.slope_percent_per_minute < 0.0);
            never += u32::from(found.text.starts_with("never settled: it fell by"));
        }
        assert!(never >= 95, "{never} of 100 that never settle");
    }

    #[test]
    fn when_it_settled_is_said() {
        let mut noise = Noise::new(6);
        let flat = autoregression(&mut noise, 120, 1000.0, 0.02, 0.3);
        let warming: Vec<f64> = flat
            .iter()
            .enumerate()
            .map(|(t, tps)| tps * (1.0 - 0.6 * (-(t as f64) / 10.0).exp()))
            .collect();
        let found = steady(&warming).unwrap();
        let after = found.settled_after_s.unwrap();
        assert!((12..=48).contains(&after), "{after}");
        assert!(steady(&[1.0; 9]).is_none(), "too short to say");
        assert_eq!(steady(&[7.0; 20]).unwrap().settled_after_s, Some(0));
    }
}
