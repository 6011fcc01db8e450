//! Tests why each comparison keeps its own variance: intervals that borrow it from others are
//! narrower, and hold the truth where all vary alike and nowhere else.
//!
//! Twelve pairs at three repeats. What is borrowed: Smyth's moderated t, whose prior weighs as much
//! as at most [`PRIOR_DF_MOST`] degrees of freedom; the same behind a test for equal variances; and
//! variances of the thread counts of one pair, as if they were independent.

use std::f64::consts::PI;

use assay_testing::simulations;
use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};
use statrs::function::gamma::digamma;

use crate::difference::compare::mean_of;
use crate::interval::LEVEL;
use crate::statistics::simulated::Noise;
use crate::statistics::{Spread, mean, paired, standard_deviation};

const PAIRS: usize = 12;
const REPEATS: usize = 3;

/// Pairs of a study that vary more than the others: one in six.
const NOISY: usize = PAIRS / 6;

/// Degrees of freedom of a variance of its own.
const DF: f64 = REPEATS as f64 - 1.0;

/// The weight of the prior variance. Without a limit, intervals are narrower still, and hold the
/// truth less often.
const PRIOR_DF_MOST: f64 = 4.0;

/// How the deviations of pairs differ.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pairs {
    /// Not at all.
    Alike,
    /// One in six varies so many times as much as the others.
    FewNoisy(f64),
    /// Log-normally, with this deviation of ln deviation.
    LogNormal(f64),
}

impl Pairs {
    /// The deviation of each pair, the noisiest first.
    fn deviations(self, noise: &mut Noise) -> Vec<f64> {
        let mut all: Vec<f64> = (0..PAIRS)
            .map(|place| match self {
                Pairs::Alike => 0.05,
                Pairs::FewNoisy(times) => 0.05 * if place < NOISY { times } else { 1.0 },
                Pairs::LogNormal(of_log) => 0.05 * (of_log * noise.normal()).exp(),
            })
            .collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }
}

/// The log ratios of the repeats of each pair; the truth is zero.
fn study(noise: &mut Noise, pairs: Pairs) -> Vec<Vec<f64>> {
    let repeats = |deviation: f64, noise: &mut Noise| {
        (0..REPEATS).map(|_| deviation * noise.normal()).collect()
    };
    let deviations = pairs.deviations(noise);
    deviations.into_iter().map(|deviation| repeats(deviation, noise)).collect()
}

/// The second derivative of ln Γ: by recurrence to where its asymptotic series is exact enough
/// (Abramowitz and Stegun, 6.4.6 and 6.4.12).
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0);
    sum + inverse * (1.0 + inverse / 2.0 + square * series)
}

/// The `x` with this trigamma, by bisection on a logarithmic scale.
fn trigamma_inverse(of: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64, 1e9_f64);
    for _ in 0..80 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > of { low = middle } else { high = middle }
    }
    low
}

/// The prior of variances: its degrees of freedom, infinite where variances differ no more than by
/// chance, and its variance (Smyth, "Linear models and empirical Bayes methods for assessing
/// differential expression in microarray experiments", Statistical Applications in Genetics and
/// Molecular Biology 3, 2004, section 6.2).
fn prior(variances: &[f64]) -> (f64, f64) {
    let centred = |variance: &f64| variance.ln() - digamma(DF / 2.0) + (DF / 2.0).ln();
    let logs: Vec<f64> = variances.iter().map(centred).collect();
    let beyond = standard_deviation(&logs).powi(2) - trigamma(DF / 2.0);
    if beyond <= 0.0 {
        return (f64::INFINITY, mean(&logs).exp());
    }
    let half = trigamma_inverse(beyond);
    (2.0 * half, (mean(&logs) + digamma(half) - half.ln()).exp())
}

/// Each pair with a variance that it shares with the others.
fn moderated(study: &[Vec<f64>]) -> Vec<Spread> {
    let variances: Vec<f64> = study.iter().map(|one| standard_deviation(one).powi(2)).collect();
    let (df, variance) = prior(&variances);
    let df = df.min(PRIOR_DF_MOST);
    let of = |(repeats, own): (&Vec<f64>, &f64)| Spread {
        mean: mean(repeats),
        error: ((df * variance + DF * own) / (df + DF) / REPEATS as f64).sqrt(),
        df: df + DF,
    };
    study.iter().zip(&variances).map(of).collect()
}

/// Each pair with its own variance, as the judge has it.
fn own(study: &[Vec<f64>]) -> Vec<Spread> {
    study.iter().filter_map(|repeats| paired(repeats)).collect()
}

/// p of Bartlett's test for equal variances ("Properties of sufficiency and statistical tests",
/// Proceedings of the Royal Society A 160, 1937).
fn bartlett(study: &[Vec<f64>]) -> f64 {
    let variances: Vec<f64> = study.iter().map(|one| standard_deviation(one).powi(2)).collect();
    let pairs = PAIRS as f64;
    let logs: f64 = variances.iter().map(|one| one.ln()).sum();
    let statistic = DF * (pairs * mean(&variances).ln() - logs);
    let scale = 1.0 + (pairs / DF - 1.0 / (pairs * DF)) / (3.0 * (pairs - 1.0));
    ChiSquared::new(pairs - 1.0).unwrap().sf(statistic / scale)
}

/// p of Levene's test for equal variances, by distances from the mean ("Robust tests for equality
/// of variances", in Contributions to Probability and Statistics, 1960).
fn levene(study: &[Vec<f64>]) -> f64 {
    let distances = |one: &Vec<f64>| -> Vec<f64> {
        let centre = mean(one);
        one.iter().map(|value| (value - centre).abs()).collect()
    };
    let all: Vec<Vec<f64>> = study.iter().map(distances).collect();
    let means: Vec<f64> = all.iter().map(|one| mean(one)).collect();
    let between = REPEATS as f64 * standard_deviation(&means).powi(2);
    let within = mean(&all.iter().map(|one| standard_deviation(one).powi(2)).collect::<Vec<f64>>());
    let df = (PAIRS as f64 - 1.0, PAIRS as f64 * DF);
    FisherSnedecor::new(df.0, df.1).unwrap().sf(between / within)
}

/// How often intervals hold the truth, and their half-width.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// Share of all pairs.
    all: f64,
    /// Share of the noisiest of six.
    noisy: f64,
    quiet: f64,
    /// Mean over pairs and studies, as a logarithm.
    half_width: f64,
}

fn held(pairs: Pairs, procedure: impl Fn(&[Vec<f64>]) -> Vec<Spread>) -> Held {
    held_where(pairs, |_| true, procedure).1
}

/// The share of studies that a test lets pass, and the same of these studies.
fn held_where(
    pairs: Pairs,
    passes: impl Fn(&[Vec<f64>]) -> bool,
    procedure: impl Fn(&[Vec<f64>]) -> Vec<Spread>,
) -> (f64, Held) {
    let mut noise = Noise::new(71);
    let all: Vec<Vec<Vec<f64>>> = (0..cases()).map(|_| study(&mut noise, pairs)).collect();
    let passing: Vec<&Vec<Vec<f64>>> = all.iter().filter(|one| passes(one)).collect();
    let cases = passing.len() as f64;
    let mut found = Held::default();
    for one in passing {
        let spreads = procedure(one);
        for (place, spread) in spreads.iter().enumerate() {
            let (low, high) = spread.interval(LEVEL);
            let held = f64::from(u8::from(low <= 0.0 && high >= 0.0)) / cases;
            found.all += held / PAIRS as f64;
            match place < NOISY {
                true => found.noisy += held / NOISY as f64,
                false => found.quiet += held / (PAIRS - NOISY) as f64,
            }
            found.half_width += (high - low) / 2.0 / PAIRS as f64 / cases;
        }
    }
    (cases / all.len() as f64, found)
}

fn cases() -> u32 {
    simulations(1500, 20_000)
}

/// Tolerance of a share over the noisy pairs: three standard errors.
fn tolerance(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(cases()) / NOISY as f64).sqrt()
}

#[test]
fn where_all_pairs_vary_alike_a_shared_variance_is_narrower_and_as_sure() {
    let (own, shared) = (held(Pairs::Alike, own), held(Pairs::Alike, moderated));
    let times = shared.half_width / own.half_width;
    println!("alike: own {own:.4?}; shared {shared:.4?}; half-width {times:.3} of Student's");
    assert!((own.all - LEVEL).abs() < tolerance(LEVEL), "{own:?}");
    assert!((0.945..0.975).contains(&shared.all), "{shared:?}");
    assert!((0.5..0.75).contains(&times), "{times}");
}

#[test]
fn where_pairs_vary_differently_a_shared_variance_does_not_hold_for_the_noisy_ones() {
    let each = [Pairs::FewNoisy(2.0), Pairs::FewNoisy(4.0)];
    for pairs in each.into_iter().chain([Pairs::LogNormal(0.5), Pairs::LogNormal(1.0)]) {
        let (own, shared) = (held(pairs, own), held(pairs, moderated));
        println!("{pairs:?}: own {own:.4?}; shared {shared:.4?}");
        assert!((own.noisy - LEVEL).abs() < tolerance(LEVEL), "{pairs:?}: {own:?}");
        assert!(shared.noisy < 0.9, "{pairs:?}: {shared:?}");
        assert!(shared.quiet > 0.93, "{pairs:?}: {shared:?}");
    }
}

/// The tests that let variances be shared if they do not tell them apart.
const GUARDS: [(&str, Test, f64); 4] = [
    ("Bartlett's test at 5 %", bartlett, 0.05),
    ("Bartlett's test at 20 %", bartlett, 0.2),
    ("Levene's test at 5 %", levene, 0.05),
    ("Levene's test at 20 %", levene, 0.2),
];

type Test = fn(&[Vec<f64>]) -> f64;

#[test]
fn no_test_for_equal_variances_protects_the_noisy_ones() {
    for (name, test, level) in GUARDS {
        let (alike, _) = held_where(Pairs::Alike, |one| test(one) > level, own);
        let mut least = 1.0_f64;
        for pairs in [Pairs::FewNoisy(2.0), Pairs::FewNoisy(4.0), Pairs::LogNormal(0.5)] {
            let (passed, found) = held_where(pairs, |one| test(one) > level, moderated);
            println!(
                "{pairs:?}: {name} lets {passed:.3} pass; of their noisy pairs {:.3} are held",
                found.noisy
            );
            least = least.min(found.noisy);
        }
        println!("{name}: {alike:.3} pass where all vary alike; worst {least:.3}");
        assert!(least < 0.8, "{name}: {least}");
    }
}

/// The interval over the thread counts of one pair by the variance of each, as if they were
/// independent (Satterthwaite), and by the mean of each repeat, as the judge has it; shares that
/// hold the truth, and mean half-widths.
fn over_counts(correlation: f64) -> [[f64; 2]; 2] {
    const COUNTS: usize = 4;
    let cases = simulations(3000, 40_000);
    let mut noise = Noise::new(74);
    let mut found = [[0.0; 2]; 2];
    for _ in 0..cases {
        let shared: Vec<f64> = (0..REPEATS).map(|_| correlation.sqrt() * noise.normal()).collect();
        let counts: Vec<Vec<f64>> = (0..COUNTS)
            .map(|_| {
                let own = |of_repeat: &f64| of_repeat + (1.0 - correlation).sqrt() * noise.normal();
                shared.iter().map(own).collect()
            })
            .collect();
        let of_repeat = |repeat: usize| {
            mean(&counts.iter().map(|one: &Vec<f64>| one[repeat]).collect::<Vec<f64>>())
        };
        let repeats: Vec<f64> = (0..REPEATS).map(of_repeat).collect();
        let independent = mean_of(&own(&counts));
        for (sums, spread) in found.iter_mut().zip([independent, paired(&repeats).unwrap()]) {
            let (low, high) = spread.interval(LEVEL);
            sums[0] += f64::from(u8::from(low <= 0.0 && high >= 0.0)) / f64::from(cases);
            sums[1] += (high - low) / 2.0 / f64::from(cases);
        }
    }
    found
}

#[test]
fn thread_counts_of_one_pair_are_no_independent_samples() {
    for correlation in [0.0, 0.25, 0.5, 0.9] {
        let [independent, by_repeat] = over_counts(correlation);
        println!(
            "correlation {correlation}: as if independent {:.3}, by repeat {:.3}; half-width {:.3}",
            independent[0],
            by_repeat[0],
            independent[1] / by_repeat[1]
        );
        let tolerance = 3.0 * (0.05 * 0.95 / f64::from(simulations(3000, 40_000))).sqrt();
        assert!((by_repeat[0] - LEVEL).abs() < tolerance, "{correlation}: {by_repeat:?}");
        // Negative control: without what a repeat does to all of them, the gain is real.
        match correlation {
            0.0 => assert!(independent[0] > LEVEL - tolerance, "{independent:?}"),
            some => assert!(independent[0] < 0.92, "{some}: {independent:?}"),
        }
    }
}

#[test]
fn the_functions_of_the_moderated_t_are_those_of_the_tables() {
    assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-9);
    assert!((trigamma(0.5) - PI * PI / 2.0).abs() < 1e-9);
    assert!((trigamma_inverse(trigamma(3.7)) - 3.7).abs() < 1e-6);
    // scipy.stats.bartlett and scipy.stats.levene(center="mean") of the same samples.
    let one = study(&mut Noise::new(75), Pairs::FewNoisy(4.0));
    assert!((bartlett(&one) - 0.096_347_465_648).abs() < 1e-9, "{}", bartlett(&one));
    assert!((levene(&one) - 0.007_860_944_594).abs() < 1e-9, "{}", levene(&one));
}
