//! A weighted sum of differences by repeat, of which some may be missing.
//!
//! Guarantees: the repeat is the unit, whether all its differences are there or not; differences of
//! one repeat may depend on each other in any way.

use std::collections::BTreeSet;

use crate::statistics::{Spread, jackknife, mean, paired};

/// Differences by repeat, and the weight of their mean in the sum.
#[derive(Debug, Clone)]
pub(crate) struct WeightedStratum {
    pub(crate) weight: f64,
    /// Repeats and differences, as logarithms.
    pub(crate) values: Vec<(u32, f64)>,
}

/// The sum over strata of weight × mean over repeats.
#[derive(Debug, Clone)]
pub(crate) struct Contrast(Vec<WeightedStratum>);

impl Contrast {
    /// `None` if there is no stratum, or one has no repeat.
    pub(crate) fn of(strata: Vec<WeightedStratum>) -> Option<Contrast> {
        let is_known = !strata.is_empty() && strata.iter().all(|one| !one.values.is_empty());
        is_known.then_some(Contrast(strata))
    }

    /// Repeats of the stratum that has the fewest.
    pub(crate) fn repeats_least(&self) -> usize {
        self.0.iter().map(|one| one.values.len()).min().unwrap_or(0)
    }

    /// Number of strata of equal weight whose mean would vary as much: 1 ÷ the sum of squared
    /// weights that add up to 1.
    pub(crate) fn strata_effective(&self) -> f64 {
        1.0 / self.0.iter().map(|one| one.weight * one.weight).sum::<f64>()
    }

    pub(crate) fn value(&self) -> f64 {
        self.sum(|values| mean(&values.iter().map(|one| one.1).collect::<Vec<f64>>()))
    }

    /// The value with its spread: Student's over the repeats if each has all its differences, else
    /// the jackknife over them. `None` if a stratum has a single repeat.
    pub(crate) fn spread(&self) -> Option<Spread> {
        if self.repeats_least() < 2 {
            return None;
        }
        let repeats: BTreeSet<u32> =
            self.0.iter().flat_map(|one| &one.values).map(|one| one.0).collect();
        if self.repeats_least() == repeats.len() {
            let of_repeat = |repeat: &u32| {
                self.sum(|all| all.iter().find(|one| one.0 == *repeat).map_or(0.0, |one| one.1))
            };
            return paired(&repeats.iter().map(of_repeat).collect::<Vec<f64>>());
        }
        let without = |repeat: &u32| {
            self.sum(|all| {
                let rest = all.iter().filter(|one| one.0 != *repeat);
                mean(&rest.map(|one| one.1).collect::<Vec<f64>>())
            })
        };
        jackknife(self.value(), &repeats.iter().map(without).collect::<Vec<f64>>())
    }

    fn sum(&self, of: impl Fn(&[(u32, f64)]) -> f64) -> f64 {
        self.0.iter().map(|one| one.weight * of(&one.values)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stratum(weight: f64, values: &[(u32, f64)]) -> WeightedStratum {
        WeightedStratum { weight, values: values.to_vec() }
    }

    #[test]
    fn whole_repeats_are_students_and_lost_ones_are_jackknifed() {
        let whole = [(1, 0.1), (2, 0.3), (3, 0.2)];
        let one = Contrast::of(vec![stratum(1.0, &whole)]).unwrap();
        assert_eq!(one.spread(), paired(&[0.1, 0.3, 0.2]));
        let twice = Contrast::of(vec![stratum(0.5, &whole), stratum(0.5, &whole)]).unwrap();
        assert!((twice.spread().unwrap().error - one.spread().unwrap().error).abs() < 1e-12);
        let opposite = Contrast::of(vec![stratum(1.0, &whole), stratum(-1.0, &whole)]).unwrap();
        assert!(opposite.value().abs() < 1e-12 && opposite.spread().unwrap().error < 1e-12);
        let lost = Contrast::of(vec![stratum(0.5, &whole), stratum(0.5, &whole[..2])]).unwrap();
        let spread = lost.spread().unwrap();
        assert!((spread.mean - 0.2).abs() < 1e-12 && spread.df.to_bits() == 2f64.to_bits());
    }

    #[test]
    fn a_single_repeat_has_a_value_and_no_spread() {
        let one = Contrast::of(vec![stratum(1.0, &[(1, 0.1)])]).unwrap();
        assert_eq!((one.value(), one.spread()), (0.1, None));
        assert!(Contrast::of(vec![stratum(1.0, &[])]).is_none());
        assert!(Contrast::of(Vec::new()).is_none());
    }
}
