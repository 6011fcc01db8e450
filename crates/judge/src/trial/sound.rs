//! Results and samples that can be: a store that was damaged or forged may hold figures that no
//! machine measures, and sums of those are no numbers at all. Such a figure is taken away before
//! anything is made of it, and its run carries a warning, so that nothing rests on it.

use assay_study::{Series, Trial, Warning};

/// The largest figure of any unit that is believed: in bytes an exabyte. Squares and sums of what
/// lies below are numbers.
const LARGEST: f64 = 1e18;

/// Whether a figure is a number that can have been measured.
pub fn is_sound(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// The run without results that cannot be; it is then flagged as not comparable, and with which.
pub fn sound_trial(mut trial: Trial) -> Trial {
    let unsound: Vec<String> = trial
        .results
        .iter()
        .filter(|(_, value)| !is_sound(**value))
        .map(|one| one.0.clone())
        .collect();
    for name in unsound {
        trial.results.remove(&name);
        trial.warnings.push(Warning::NoFigure { name });
    }
    trial
}

/// Series without samples that cannot be.
pub fn sound_series(mut series: Vec<Series>) -> Vec<Series> {
    for one in &mut series {
        one.points.retain(|(_, value)| is_sound(*value));
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_measures_is_told_from_what_one_may() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308] {
            assert!(!is_sound(value), "{value}");
        }
        for value in [0.0, -5.0, 3.2e12, 1e15] {
            assert!(is_sound(value), "{value}");
        }
    }
}
