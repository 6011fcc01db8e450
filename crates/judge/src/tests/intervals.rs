//! How often the interval of a difference holds the truth, and how often a simpler one would.

use assay_testing::count;

use super::trials;
use crate::difference::compare::{ComparedRuns, estimated};
use crate::difference::noise::AaRuns;
use crate::interval::LEVEL;
use crate::simulated::{Truth, key};
use crate::statistics::mean;
use crate::statistics::simulated::Noise;
use crate::trial::measured::{Eligibility, Measured};
use crate::trial::metric::Metric;

fn cases() -> u32 {
    count(200, 1000)
}

/// Three binomial standard errors of 95 % in so many cases: 2.07 % in a thousand.
fn binomial() -> f64 {
    3.0 * (LEVEL * (1.0 - LEVEL) / f64::from(cases())).sqrt()
}

/// How often the interval of `metric` holds the truth.
fn coverage(metric: Metric, truth: &Truth, repeats: u32, aa_runs: u32) -> f64 {
    let mut noise = Noise::new(u64::from(repeats) * 31 + u64::from(aa_runs));
    let (ratio, mut covered) = (1.1, 0);
    for _ in 0..cases() {
        let mut all = trials(&mut noise, truth, 8, repeats, ratio);
        for threads in 100..100 + aa_runs {
            all.push(truth.trial(&mut noise, key("base", threads, 1), 1000.0));
            all.push(truth.trial(&mut noise, key("again", threads, 1), 1000.0));
        }
        let again = [("again".to_owned(), "base".to_owned())].into();
        let floor = AaRuns::of(&all, &again).spread(metric, "w");
        let of = |config: &str| -> Vec<&Measured> {
            all.iter().filter(|one| one.key.config == config && one.key.threads == 8).collect()
        };
        let stratum =
            ComparedRuns { base: of("base"), other: of("other"), ..ComparedRuns::default() };
        let found = estimated(metric, &[stratum], floor.as_ref()).unwrap();
        let (low, high) = found.ratio_interval;
        covered += u32::from((low..=high).contains(&ratio));
    }
    f64::from(covered) / f64::from(cases())
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    for (trial, repeats) in
        [(0.0, 1), (0.0, 2), (0.0, 3), (0.0, 5), (0.03, 2), (0.03, 3), (0.03, 5)]
    {
        let found = coverage(Metric::Throughput, &Truth::minute(trial), repeats, 0);
        println!("runs ± {trial}, {repeats} repeats: {found}");
        assert!((found - LEVEL).abs() <= binomial(), "runs ± {trial}, {repeats} repeats: {found}");
    }
}

#[test]
fn one_repeat_covers_what_repeats_vary_by_if_a_config_ran_twice_and_not_else() {
    let truth = Truth::minute(0.05);
    let alone = coverage(Metric::Throughput, &truth, 1, 0);
    let found = coverage(Metric::Throughput, &truth, 1, 4);
    println!("alone {alone}, with four A/A runs {found}");
    assert!(alone < 0.9, "{alone}");
    assert!((found - LEVEL).abs() <= binomial(), "{found}");
}

#[test]
fn one_repeat_keeps_its_rate_however_few_differences_the_noise_is_known_from() {
    for differences in [1, 2, 3] {
        let found = coverage(Metric::Throughput, &Truth::minute(0.05), 1, differences);
        println!("one repeat, {differences} A/A runs: {found}");
        // Of so few it is above: what the runs' seconds vary more than those of one pair widens it
        // too.
        assert!(found >= LEVEL - binomial(), "{differences}: {found}");
    }
}

#[test]
fn percentiles_are_covered_too() {
    let truth = Truth { timed: 60, seconds: 60, ..Truth::minute(0.0) };
    for (metric, repeats) in [(Metric::P50, 1), (Metric::P99, 1), (Metric::P99, 3)] {
        let found = coverage(metric, &truth, repeats, 0);
        println!("{metric:?}, {repeats} repeats: {found}");
        assert!((found - LEVEL).abs() <= binomial() + 0.005, "{metric:?}, {repeats}: {found}");
    }
}

/// An interval that the judge does not use: repeats drawn with replacement, and their seconds in
/// blocks; the interval from the quantiles of 199 draws.
fn bootstrap_covers(noise: &mut Noise, all: &[Measured], ratio: f64) -> bool {
    let of = |config: &str| -> Vec<&Measured> {
        all.iter().filter(|one| one.key.config == config).collect()
    };
    let sides = [of("base"), of("other")];
    let draw = |noise: &mut Noise, from: usize| (noise.uniform() * from as f64) as usize;
    let mut ratios: Vec<f64> = (0..199)
        .map(|_| {
            let levels = sides.each_ref().map(|side| {
                let trials: Vec<f64> = (0..side.len())
                    .map(|_| {
                        let tps = &side[draw(noise, side.len())].tps;
                        let blocks: Vec<f64> = (0..tps.len() / 5)
                            .map(|_| mean(&tps[draw(noise, tps.len() - 4)..][..5]))
                            .collect();
                        mean(&blocks)
                    })
                    .collect();
                mean(&trials)
            });
            levels[1] / levels[0]
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    (ratios[4]..=ratios[194]).contains(&ratio)
}

#[test]
fn a_plain_bootstrap_of_few_repeats_covers_less() {
    for (repeats, most) in [(2, count(88, 264)), (3, count(93, 279))] {
        let mut noise = Noise::new(12);
        let cases = count(100, 300);
        let truth = Truth::minute(0.03);
        let covered = (0..cases)
            .filter(|_| {
                let all = trials(&mut noise, &truth, 8, repeats, 1.1);
                bootstrap_covers(&mut noise, &all, 1.1)
            })
            .count();
        println!("bootstrap, {repeats} repeats: {}", covered as f64 / f64::from(cases));
        assert!(covered < most, "{covered} of {cases} with {repeats} repeats");
    }
}

/// Two thread counts, of which one has lost a repeat.
#[test]
fn a_whole_with_a_repeat_left_out_covers_the_truth_too() {
    let mut noise = Noise::new(33);
    let truth = Truth::minute(0.03);
    let cases = cases();
    let covered = (0..cases).filter(|_| {
        let one = trials(&mut noise, &truth, 1, 3, 1.1);
        let mut two = trials(&mut noise, &truth, 8, 3, 1.1);
        two[3].eligibility = Eligibility::Disturbed;
        let strata = [&one, &two].map(|all| {
            let of =
                |config: &'static str| all.iter().filter(move |trial| trial.key.config == config);
            ComparedRuns::of(of("base"), of("other"), true).unwrap()
        });
        let found = estimated(Metric::Throughput, &strata, None).unwrap();
        found.ratio_interval.0 <= 1.1 && 1.1 <= found.ratio_interval.1
    });
    let covered = covered.count();
    let expected = count(180..=199, 925..=985);
    assert!(expected.contains(&covered), "{covered} of {cases}");
}
