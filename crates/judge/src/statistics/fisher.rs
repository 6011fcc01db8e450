//! Fisher's exact test of two shares.

use statrs::distribution::{Discrete, Hypergeometric};

/// Tables whose probabilities differ by less than this share are equally probable.
const SAME: f64 = 1e-7;

/// How probable a table at least as improbable would be if both shares were the same, two-sided:
/// `a` of `of_a` against `b` of `of_b` (Fisher, "The logic of inductive inference", Journal of the
/// Royal Statistical Society 98, 1935; the sum over tables no more probable than the observed one,
/// as in R and scipy). 1 where nothing can be told.
#[must_use]
pub fn fisher([a, of_a]: [u64; 2], [b, of_b]: [u64; 2]) -> f64 {
    let Ok(tables) = Hypergeometric::new(of_a + of_b, a + b, of_a) else { return 1.0 };
    let observed = tables.pmf(a) * (1.0 + SAME);
    let all = (0..=of_a.min(a + b)).map(|one| tables.pmf(one));
    all.filter(|one| *one <= observed).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_tested_as_scipy_tests_them() {
        // scipy.stats.fisher_exact([[a, of_a - a], [b, of_b - b]]).pvalue
        for (one, other, p) in [
            ([5, 8], [0, 8], 0.025_641_025_641_025_64),
            ([3, 5], [1, 5], 0.523_809_523_809_523_8),
            ([10, 12], [2, 10], 0.008_284_285_374_068_657),
            ([0, 4], [0, 4], 1.0),
        ] {
            let found = fisher(one, other);
            assert!((found - p).abs() < 1e-9, "{one:?} {other:?}: {found}");
            assert!((fisher(other, one) - p).abs() < 1e-9);
        }
    }
}
