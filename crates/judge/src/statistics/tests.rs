//! Known truths by simulation; each checker also meets something that it must find wrong.

use assay_testing::count;

use super::simulated::{Noise, autoregression};
use super::*;

/// Share of `cases` in which `covers` holds.
fn rate(cases: u32, mut covers: impl FnMut() -> bool) -> f64 {
    (0..cases).filter(|_| covers()).count() as f64 / f64::from(cases)
}

fn cases() -> u32 {
    count(250, 1000)
}

/// Three binomial standard errors of a rate of 95 % in so many cases: 2.07 % in a thousand.
fn binomial() -> f64 {
    3.0 * (0.95 * 0.05 / f64::from(cases())).sqrt()
}

fn mean_is_covered(noise: &mut Noise, seconds: usize, rho: f64) -> bool {
    let series = autoregression(noise, seconds, 100.0, 0.1, rho);
    let known = mean_variance(&series).unwrap();
    let reach = t_quantile(0.975, known.df) * known.variance.sqrt();
    (mean(&series) - 100.0).abs() <= reach
}

#[test]
fn the_mean_of_dependent_seconds_is_covered_as_often_as_it_says() {
    for (seconds, rho) in [(60, 0.0), (60, 0.5), (300, 0.5), (300, 0.8), (12, 0.0), (12, 0.3)] {
        let mut noise = Noise::new(seconds as u64);
        let found = rate(cases(), || mean_is_covered(&mut noise, seconds, rho));
        println!("{seconds} s, ρ {rho}: {found}");
        assert!((found - 0.95).abs() <= binomial(), "{seconds} s, ρ {rho}: {found}");
    }
}

/// The mean's interval from a moving block bootstrap with blocks of n^(1/3): what is not used.
fn bootstrap_covers(noise: &mut Noise, seconds: usize, rho: f64) -> bool {
    let series = autoregression(noise, seconds, 100.0, 0.1, rho);
    let length = (seconds as f64).cbrt().ceil() as usize;
    let mut means: Vec<f64> = (0..199)
        .map(|_| {
            let blocks = seconds.div_ceil(length);
            let all: Vec<f64> = (0..blocks)
                .flat_map(|_| {
                    let from = (noise.uniform() * (seconds - length + 1) as f64) as usize;
                    series[from..from + length].to_vec()
                })
                .collect();
            mean(&all[..seconds])
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[4]..=means[194]).contains(&100.0)
}

#[test]
fn what_takes_seconds_for_independent_or_cuts_them_into_blocks_covers_less() {
    let mut noise = Noise::new(3);
    let naive = rate(count(150, 500), || {
        let series = autoregression(&mut noise, 60, 100.0, 0.1, 0.5);
        let error = standard_deviation(&series) / 60.0_f64.sqrt();
        (mean(&series) - 100.0).abs() <= t_quantile(0.975, 59.0) * error
    });
    let blocks = rate(count(150, 500), || bootstrap_covers(&mut noise, 60, 0.5));
    println!("independent {naive}, blocks {blocks}");
    assert!(naive < 0.85 && blocks < 0.92, "{naive} {blocks}");
}

#[test]
fn a_slope_is_covered_as_often_as_it_says() {
    let mut noise = Noise::new(4);
    let found = rate(cases(), || {
        let mut series = autoregression(&mut noise, 100, 100.0, 0.1, 0.5);
        series.iter_mut().enumerate().for_each(|(t, value)| *value += 0.2 * t as f64);
        let fitted = line(&series, 0.95).unwrap();
        (fitted.interval.0..=fitted.interval.1).contains(&0.2)
    });
    println!("slope {found}");
    assert!((found - 0.95).abs() <= binomial() + 0.01, "{found}");
}

#[test]
fn the_power_that_is_predicted_is_what_is_found() {
    let mut noise = Noise::new(7);
    for (effect, repeats) in [(0.0, 5), (0.05, 3), (0.05, 5), (0.02, 8)] {
        let predicted = power(effect, 0.03, repeats, 0.95);
        let found = rate(2000, || {
            let pairs: Vec<f64> = (0..repeats).map(|_| effect + 0.03 * noise.normal()).collect();
            paired(&pairs).unwrap().p() <= 0.05
        });
        println!("effect {effect}, {repeats} repeats: predicted {predicted:.3}, found {found:.3}");
        assert!((found - predicted).abs() < 0.035, "{effect} {repeats}: {found} for {predicted}");
    }
    assert_eq!(power(0.1, 0.01, 1, 0.95), 0.0, "one repeat has no deviation");
}

#[test]
fn where_nothing_differs_the_power_is_the_level_however_strict_it_is() {
    for (repeats, level) in [(2, 0.95), (2, 0.9986), (3, 0.9986), (400, 0.95)] {
        let found = power(0.0, 0.05, repeats, level);
        assert!((found - (1.0 - level)).abs() < 1e-5, "{repeats} at {level}: {found}");
    }
}

#[test]
fn a_decision_is_unlikely_before_the_fewest_repeats_with_a_fifth_of_the_power() {
    let before = unlikely_before(0.05, 0.05, 0.03, 0.95).unwrap();
    assert!(power(0.05, 0.05, before, 0.95) >= 0.2);
    assert!(power(0.05, 0.05, before - 1, 0.95) < 0.2, "{before}");
    let equal = unlikely_before(0.0, 0.02, 0.03_f64.ln_1p(), 0.95).unwrap();
    assert!((3..=8).contains(&equal), "{equal}");
    assert_eq!(unlikely_before(0.0, 0.0, 0.03, 0.95), Some(2));
    assert_eq!(unlikely_before(0.001, 1.0, 0.03, 0.95), None);
}

#[test]
fn permutations_keep_their_rate_and_find_what_is_there() {
    let mut noise = Noise::new(8);
    let null = rate(2000, || {
        let units: Vec<f64> = (0..8).map(|_| noise.normal()).collect();
        flip_signs(&units, 1).unwrap().p <= 0.05
    });
    assert!((null - 0.05).abs() < 0.02, "{null}");
    let shifted: Vec<f64> = (0..40).map(|_| 1.5 + noise.normal()).collect();
    let drawn = flip_signs(&shifted, 1).unwrap();
    assert!(!drawn.is_exact && drawn.p < 0.001, "{drawn:?}");
    assert_eq!(flip_signs(&shifted, 1), Some(drawn), "the same seed, the same answer");
    let six = flip_signs(&[1.0, 2.0, 0.5, 3.0, 1.1, 0.2], 1).unwrap();
    assert_eq!((six.p, six.p_least, six.is_exact), (2.0 / 64.0, 2.0 / 64.0, true));
    assert_eq!(flip_signs(&[0.0, 0.0], 1).unwrap().p, 1.0);
    let apart = exchange(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0], 1).unwrap();
    assert_eq!((apart.p, apart.p_least), (0.1, 0.1));
    assert_eq!(exchange(&[], &[1.0], 1), None);
}

#[test]
fn holm_is_stricter_than_no_correction_and_milder_than_bonferroni() {
    assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
    assert_eq!(holm(&[0.5]), [0.5]);
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}
