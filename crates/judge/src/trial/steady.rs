//! Whether throughput held still while it was measured.

use serde::Serialize;

use crate::interval::LEVEL;
use crate::statistics::{
    FittedSlope, autocorrelation, line, mean, mean_variance, standard_deviation, t_quantile,
};

/// Drift over the window that counts, in percent of its mean: as much as the warm-up until steady
/// leaves to come (`assay_load`).
const DRIFT_MOST_PERCENT: f64 = 5.0;

/// Windows shorter than this, in seconds, cannot tell drift from a wave.
pub const SECONDS_LEAST: usize = 10;

/// The part of a window that must be left behind the moment it is said to have settled.
const REST_LEAST: f64 = 1.0 / 3.0;

/// Whether throughput held still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// Whatever drift there is does not count: its whole interval lies within the bound.
    Steady,
    /// It drifted by more than counts, or began elsewhere than it ended.
    Drifting,
    /// The interval of the drift reaches from what counts to what does not.
    TooShortToTell,
}

/// How throughput went within the window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steady {
    /// Over the whole window.
    pub held: Steadiness,
    /// By how much it rose each minute, in percent of its mean.
    pub slope_percent_per_minute: f64,
    /// The interval of that.
    pub slope_interval: (f64, f64),
    /// By how much it rose over the window, in percent of its mean.
    pub drift_percent: f64,
    /// Standard deviation of its seconds, in percent of its mean.
    pub spread_percent: f64,
    /// How much of a second's deviation is left in the next (autocorrelation at lag 1).
    pub autocorrelation: f64,
    /// Seconds of the window after which it was steady: 0 if it was from the first, nothing if that
    /// cannot be told or never was.
    pub settled_after_s: Option<usize>,
    /// The interval of the drift over the window, in percent of the mean.
    #[serde(skip)]
    pub drift_interval: (f64, f64),
}

/// Steadiness of the seconds of a window; `None` for a window that is too short.
pub fn steady(tps: &[f64]) -> Option<Steady> {
    let level = mean(tps);
    if tps.len() < SECONDS_LEAST || level <= 0.0 {
        return None;
    }
    let fitted = line(tps, LEVEL)?;
    let percent = |value: f64| value / level * 100.0;
    let seconds = tps.len() as f64;
    let drift_percent = percent(fitted.slope * seconds);
    let held = held(tps);
    let settled_after_s = match held {
        Steadiness::Steady => Some(0),
        Steadiness::Drifting => settled_after(tps),
        Steadiness::TooShortToTell => None,
    };
    Some(Steady {
        held,
        slope_percent_per_minute: percent(fitted.slope * 60.0),
        slope_interval: (percent(fitted.interval.0 * 60.0), percent(fitted.interval.1 * 60.0)),
        drift_percent,
        spread_percent: percent(standard_deviation(tps)),
        autocorrelation: autocorrelation(tps, 1),
        settled_after_s,
        drift_interval: (
            percent(fitted.interval.0 * seconds),
            percent(fitted.interval.1 * seconds),
        ),
    })
}

/// The first of ten moments from which the rest of the window is steady.
fn settled_after(tps: &[f64]) -> Option<usize> {
    let least = SECONDS_LEAST.max((tps.len() as f64 * REST_LEAST) as usize);
    let step = (tps.len() / 10).max(1);
    let starts = (0..=tps.len() - least).step_by(step);
    starts.into_iter().find(|start| held(&tps[*start..]) == Steadiness::Steady)
}

/// By the interval of the drift over these seconds: within the bound, beyond it, or neither.
fn held(tps: &[f64]) -> Steadiness {
    let Some(FittedSlope { interval, .. }) = line(tps, LEVEL) else {
        return Steadiness::TooShortToTell;
    };
    let percent = |slope: f64| slope * tps.len() as f64 / mean(tps) * 100.0;
    match begins_elsewhere(tps) {
        true => Steadiness::Drifting,
        false => of_interval((percent(interval.0), percent(interval.1))),
    }
}

/// By the interval of a drift in percent.
pub(crate) fn of_interval((low, high): (f64, f64)) -> Steadiness {
    match () {
        () if low > DRIFT_MOST_PERCENT || high < -DRIFT_MOST_PERCENT => Steadiness::Drifting,
        () if low >= -DRIFT_MOST_PERCENT && high <= DRIFT_MOST_PERCENT => Steadiness::Steady,
        () => Steadiness::TooShortToTell,
    }
}

/// A warm-up that is nearly over is no straight line: its first part is held against the second
/// half. It began elsewhere if the interval of what is between them lies beyond the bound.
fn begins_elsewhere(tps: &[f64]) -> bool {
    let first = (tps.len() / 10).max(5).min(tps.len() / 2);
    let half = &tps[tps.len() / 2..];
    let Some(known) = mean_variance(half) else { return false };
    let gap = mean(&tps[..first]) - mean(half);
    // The variance of a mean falls as its seconds rise.
    let variance = known.variance * (1.0 + half.len() as f64 / first as f64);
    let reach = t_quantile(0.5 + LEVEL / 2.0, known.df) * variance.sqrt();
    (gap.abs() - reach) / mean(half) * 100.0 > DRIFT_MOST_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulated::{Noise, autoregression};

    fn held_of(noise: &mut Noise, seconds: usize, share: f64, fall_per_s: f64) -> Steady {
        let flat = autoregression(noise, seconds, 1000.0, share, 0.5);
        let moved: Vec<f64> =
            flat.iter().enumerate().map(|(t, tps)| tps - fall_per_s * t as f64).collect();
        steady(&moved).unwrap()
    }

    #[test]
    fn drift_is_told_from_noise() {
        let mut noise = Noise::new(5);
        let (mut steadies, mut falls) = (0, 0);
        for _ in 0..100 {
            steadies += u32::from(held_of(&mut noise, 120, 0.02, 0.0).held == Steadiness::Steady);
            let found = held_of(&mut noise, 120, 0.02, 4.0);
            assert!(found.slope_percent_per_minute < 0.0);
            let is_settled = found.settled_after_s.is_some() || found.held != Steadiness::Drifting;
            falls += u32::from(!is_settled && found.drift_percent < 0.0);
        }
        assert!(steadies >= 92, "{steadies} of 100 that are steady");
        assert!(falls >= 95, "{falls} of 100 that never settle");
    }

    #[test]
    fn what_seconds_cannot_tell_is_not_called_steady() {
        let mut noise = Noise::new(8);
        let count = |noise: &mut Noise, seconds: usize, fall: f64, held: Steadiness| {
            (0..100).filter(|_| held_of(noise, seconds, 0.1, fall).held == held).count()
        };
        // Ten seconds that waver by a tenth know a drift to some dozens of percent.
        let untold = count(&mut noise, 10, 0.0, Steadiness::TooShortToTell);
        assert!(untold >= 85, "{untold} of 100 short ones");
        // A fall by a tenth in ten seconds hides in them, and is called steady by hardly any.
        let steadies = count(&mut noise, 10, 10.0, Steadiness::Steady);
        assert!(steadies <= 5, "{steadies} of 100 that fall");
        let found = held_of(&mut noise, 10, 0.1, 0.0);
        assert_eq!((found.held, found.settled_after_s), (Steadiness::TooShortToTell, None));
        let (low, high) = found.drift_interval;
        assert!(low < found.drift_percent && found.drift_percent < high, "{found:?}");
        // More seconds tell.
        let steadies = count(&mut noise, 2400, 0.0, Steadiness::Steady);
        assert!(steadies >= 85, "{steadies} of 100 long ones");
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
