//! A straight line through seconds that depend on one another.

use super::long_run::long_run_variance;
use super::{mean, t_quantile};

/// A fitted slope with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedSlope {
    /// Slope, in the values' unit a step.
    pub slope: f64,
    /// Lower and upper end of its interval.
    pub interval: (f64, f64),
}

/// Least squares; the slope's error from the long-run variance of what is left, as neighbours
/// depend on one another (see [`super::mean_variance`]). The first cosine is left out of that: it
/// is nearly a straight line itself, so the fit has taken it. Nothing of fewer than four values.
#[must_use]
pub fn line(series: &[f64], level: f64) -> Option<FittedSlope> {
    let centre = (series.len() as f64 - 1.0) / 2.0;
    let height = mean(series);
    let places = || (0..series.len()).map(|t| t as f64 - centre);
    let squares: f64 = places().map(|x| x * x).sum();
    let slope = places().zip(series).map(|(x, value)| x * (value - height)).sum::<f64>() / squares;
    let left: Vec<f64> =
        places().zip(series).map(|(x, value)| value - height - slope * x).collect();
    let (variance, df) = long_run_variance(&left, 2)?;
    let reach = t_quantile(0.5 + level / 2.0, df) * (variance / squares).sqrt();
    Some(FittedSlope { slope, interval: (slope - reach, slope + reach) })
}
