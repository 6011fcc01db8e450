//! How well the mean of seconds is known that depend on one another.
//!
//! Seconds of a database are no independent draws: a checkpoint or a collection lasts for several.
//! The variance of their mean is the *long-run variance* ÷ n. It is estimated here by the
//! equal-weighted cosine estimator: the mean square of the first B cosine transforms of the series,
//! with B degrees of freedom, used with Student's t (Müller, "A theory of robust long-run variance
//! estimation", Journal of Econometrics 141, 2007; Lazarus, Lewis, Stock and Watson, "HAR
//! inference: recommendations for practice", Journal of Business & Economic Statistics 36, 2018,
//! whose rule for B is used). At a given length its intervals cover better than those of a block
//! bootstrap, whose variance is too small by what its blocks cut apart (a test shows by how much).

/// The variance of a mean and how well that variance itself is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanVariance {
    /// Variance of the mean, in the square of the values' unit.
    pub variance: f64,
    /// Degrees of freedom of that variance.
    pub df: f64,
}

/// Fewer seconds than this say nothing about how seconds depend on one another.
const SECONDS_LEAST: usize = 4;

/// How much of the long-run variance the B frequencies may miss when the series is as persistent as
/// it looks.
const BIAS_MOST: f64 = 0.1;

/// The variance of the mean of `series`, whose neighbours depend on one another; nothing of fewer
/// than four values.
#[must_use]
pub fn mean_variance(series: &[f64]) -> Option<MeanVariance> {
    let (variance, df) = long_run_variance(series, 1)?;
    Some(MeanVariance { variance: variance / series.len() as f64, df })
}

/// The long-run variance from the B cosine transforms that begin with the one numbered `first`, and
/// B.
pub(super) fn long_run_variance(series: &[f64], first: usize) -> Option<(f64, f64)> {
    if series.len() < SECONDS_LEAST {
        return None;
    }
    let cosines = cosines(series.len(), persistence(series));
    let sum: f64 = (first..first + cosines).map(|j| transform(series, j).powi(2)).sum();
    Some((sum / cosines as f64, cosines as f64))
}

/// The `j`-th cosine transform, scaled so that its variance is the spectrum at that frequency × 2π.
fn transform(series: &[f64], j: usize) -> f64 {
    let n = series.len() as f64;
    let weight = |t: usize| (std::f64::consts::PI * j as f64 * (t as f64 + 0.5) / n).cos();
    let sum: f64 = series.iter().enumerate().map(|(t, value)| value * weight(t)).sum();
    sum * (2.0 / n).sqrt()
}

/// B = 0.4 n^(2/3), or fewer where the series is so persistent that the spectrum of a first-order
/// autoregression would fall by more than a tenth on average over them.
fn cosines(n: usize, persistence: f64) -> usize {
    let most = ((0.4 * (n as f64).powf(2.0 / 3.0)) as usize).max(1);
    let share = |j: usize| {
        let frequency = std::f64::consts::PI * j as f64 / n as f64;
        let at = 1.0 + persistence * persistence - 2.0 * persistence * frequency.cos();
        (1.0 - persistence).powi(2) / at
    };
    let mut sum = 0.0;
    for j in 1..=most {
        sum += share(j);
        if sum / (j as f64) < 1.0 - BIAS_MOST {
            return (j - 1).max(1);
        }
    }
    most
}

/// The first autocorrelation, freed of its bias in short series (Kendall, "Note on bias in the
/// estimation of autocorrelation", Biometrika 41, 1954), from 0 to 0.97.
fn persistence(series: &[f64]) -> f64 {
    let found = autocorrelation(series, 1);
    (found + (1.0 + 4.0 * found) / series.len() as f64).clamp(0.0, 0.97)
}

/// The autocorrelation at `lag` (Box and Jenkins: both sums over the whole series' mean, divided by
/// the variance at lag 0); 0 of a constant series.
#[must_use]
pub fn autocorrelation(series: &[f64], lag: usize) -> f64 {
    let mean = super::mean(series);
    let at = |lag: usize| -> f64 {
        series.iter().zip(series.iter().skip(lag)).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let whole = at(0);
    if whole > 0.0 { at(lag) / whole } else { 0.0 }
}

/// After how many seconds a first-order autoregression as persistent as the series has forgotten
/// itself: twice its integrated autocorrelation time (1 + ρ) ÷ (1 − ρ) (Sokal, "Monte Carlo methods
/// in statistical mechanics", 1997), at least 1. Means of blocks of this length may be taken for
/// independent.
#[must_use]
pub fn settling_seconds(series: &[f64]) -> usize {
    let rho = autocorrelation(series, 1).clamp(0.0, 0.97);
    (2.0 * (1.0 + rho) / (1.0 - rho)).ceil() as usize
}
