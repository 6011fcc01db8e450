//! The arithmetic under every verdict: pure functions of numbers, each with its source, each held
//! against scipy.
//!
//! Nothing here knows of configurations or runs. What is random takes a seed and gives the same
//! twice.

mod binomial;
mod corrections;
mod distribution;
mod fisher;
mod line;
mod long_run;
mod permutation;
mod power;
mod sample;
mod spread;

pub use binomial::clopper_pearson;
pub use corrections::{benjamini_hochberg, holm};
pub use distribution::{normal_cdf, t_quantile, t_two_sided_p};
pub use fisher::fisher;

pub use line::{FittedSlope, line};
pub use long_run::{MeanVariance, autocorrelation, mean_variance, settling_seconds};
pub use permutation::{Permuted, exchange, flip_signs};
#[cfg(test)]
pub use power::power;
pub use power::{detectable, unlikely_before};
pub use sample::{mean, median, median_deviation, quantile, standard_deviation};
pub use spread::{Spread, jackknife, paired, unpaired};

#[cfg(test)]
mod scipy_tests;
#[cfg(test)]
pub mod simulated;
#[cfg(test)]
mod tests;
