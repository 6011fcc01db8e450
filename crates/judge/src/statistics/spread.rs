//! The mean difference of repeats, with what is known of its spread.

use super::{mean, standard_deviation};

/// A mean difference, its standard error and the degrees of freedom of that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// Its standard error, in the same unit.
    pub error: f64,
    /// Degrees of freedom of the error; need not be whole.
    pub df: f64,
}

/// Spread of differences between pairs: Student's paired t ("The probable error of a mean",
/// Biometrika 6, 1908). Whatever the repeats share cancels, and no two configurations need be
/// equally noisy. `None` for fewer than two.
#[must_use]
pub fn paired(differences: &[f64]) -> Option<Spread> {
    let n = differences.len() as f64;
    (differences.len() >= 2).then(|| Spread {
        mean: mean(differences),
        error: standard_deviation(differences) / n.sqrt(),
        df: n - 1.0,
    })
}

/// The spread of an estimate by the estimates `without` each of its blocks: the delete-one
/// jackknife (Tukey, "Bias and confidence in not quite large samples", Annals of Mathematical
/// Statistics 29, 1958). For the mean of blocks of one size it is [`paired`]. `None` for fewer than
/// two.
#[must_use]
pub fn jackknife(estimate: f64, without: &[f64]) -> Option<Spread> {
    let n = without.len() as f64;
    (without.len() >= 2).then(|| Spread {
        mean: estimate,
        error: standard_deviation(without) * (n - 1.0) / n.sqrt(),
        df: n - 1.0,
    })
}

/// Spread of the mean of `b` less that of `a`, independent samples: Welch ("The generalization of
/// Student's problem when several different population variances are involved", Biometrika 34,
/// 1947). `None` if one has fewer than two.
#[must_use]
pub fn unpaired(a: &[f64], b: &[f64]) -> Option<Spread> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let part = |one: &[f64]| standard_deviation(one).powi(2) / one.len() as f64;
    let parts = [(part(a), a.len() as f64 - 1.0), (part(b), b.len() as f64 - 1.0)];
    Some(Spread::of_parts(mean(b) - mean(a), &parts))
}

impl Spread {
    /// A value whose variance is the sum of variances that are known each with its degrees of
    /// freedom (Satterthwaite, "An approximate distribution of estimates of variance components",
    /// Biometrics Bulletin 2, 1946).
    #[must_use]
    pub fn of_parts(value: f64, parts: &[(f64, f64)]) -> Spread {
        let variance: f64 = parts.iter().map(|(variance, _)| variance).sum();
        let doubt: f64 = parts.iter().map(|(variance, df)| variance * variance / df).sum();
        let least = parts.iter().map(|(_, df)| *df).fold(f64::INFINITY, f64::min);
        let df = if doubt > 0.0 { variance * variance / doubt } else { least };
        Spread { mean: value, error: variance.sqrt(), df }
    }

    /// The interval that covers the truth in the share `level` of cases.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let reach = if self.error > 0.0 {
            super::t_quantile(0.5 + level / 2.0, self.df) * self.error
        } else {
            0.0
        };
        (self.mean - reach, self.mean + reach)
    }

    /// The same with an error large enough that the interval at `level` reaches at least this far
    /// to either side: values that were read from buckets differ by no less than can be seen.
    #[must_use]
    pub fn at_least(self, reach: f64, level: f64) -> Spread {
        let least = reach / super::t_quantile(0.5 + level / 2.0, self.df);
        Spread { error: self.error.max(least), ..self }
    }

    /// How probable a mean at least as far from zero would be if there were no difference.
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.error > 0.0 {
            return super::t_two_sided_p(self.mean / self.error, self.df);
        }
        if self.mean == 0.0 { 1.0 } else { 0.0 }
    }
}
