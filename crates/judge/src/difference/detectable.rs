//! The smallest difference that comparisons could have found.
//!
//! One value for all of them: each comparison's own interval is narrow or wide by chance, so the
//! narrowest of several says nothing of what could have been seen.

use crate::difference::comparison::JudgedComparison;
use crate::difference::noise::NoiseFloor;
use crate::statistics::detectable;

/// The smallest difference, in percent, that these comparisons of one metric find four times in
/// five: by the power of the t test at the corrected level, with the deviation of a repeat pooled
/// over the comparisons, and never below the noise floor of as many repeats. `None` where only one
/// repeat is known of each.
pub(crate) fn detectable_percent(
    noise_floor: Option<&NoiseFloor>,
    all: &[&JudgedComparison],
) -> Option<f64> {
    let is_known = |one: &&&JudgedComparison| {
        one.difference.as_ref().is_some_and(|found| found.repeats >= 2 && found.log.df > 0.0)
    };
    let known: Vec<&JudgedComparison> = all.iter().filter(is_known).copied().collect();
    let differences = known.iter().filter_map(|one| one.difference.as_ref());
    let (squares, df) = differences.clone().fold((0.0, 0.0), |(squares, df), found| {
        (squares + found.log.df * found.deviation.powi(2), df + found.log.df)
    });
    let repeats = differences.map(|found| found.repeats).min()?;
    let family = known.iter().filter_map(|one| one.correction.comparisons()).max().unwrap_or(1);
    let alpha = known.iter().filter_map(|one| Some(1.0 - one.difference.as_ref()?.level)).next()?;
    let level = 1.0 - alpha / family as f64;
    let found = detectable((squares / df).sqrt(), u32::try_from(repeats).ok()?, level)?;
    let floor = known.iter().map(|one| floor(noise_floor, one, repeats)).fold(0.0, f64::max);
    Some(found.max(floor).exp_m1() * 100.0)
}

/// The noise floor of the mean over so many repeats, as a logarithm; 0 if no configuration ran
/// twice.
fn floor(noise_floor: Option<&NoiseFloor>, one: &JudgedComparison, repeats: usize) -> f64 {
    let seen = noise_floor.iter().flat_map(|floor| &floor.seen);
    let of_metric = || seen.clone().filter(|seen| seen.metric == one.metric);
    let its = of_metric().find(|seen| seen.workload == one.workload);
    its.or_else(|| of_metric().find(|seen| seen.is_of_study))
        .filter(|seen| seen.spread.makes_a_floor())
        .map_or(0.0, |seen| seen.spread.reach(repeats))
}
