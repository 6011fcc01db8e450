//! Verdicts on invented studies whose truth is known, and what no verdict may be given on.

use super::Comparison;
use crate::judge::cell::measured::{Measured, Standing};
use crate::judge::cell::metric::Metric;
use crate::judge::difference::compare::{Basis, LEVEL, Stratum, between_studies, estimated};
use crate::judge::difference::noise::Twins;
use crate::judge::difference::verdict::Word;
use crate::judge::judgement::comparisons;
use crate::judge::simulated::{Truth, key, study};
use crate::judge::statistics::simulated::Noise;
use crate::judge::statistics::{mean, power};

const CASES: u32 = 1000;

/// Three binomial standard errors of 95 % in a thousand cases.
const BINOMIAL: f64 = 0.0207;

/// Cells of two arms, the other's level `ratio` times the baseline's.
fn cells(
    noise: &mut Noise,
    truth: &Truth,
    threads: u32,
    repeats: u32,
    ratio: f64,
) -> Vec<Measured> {
    let mut cells = Vec::new();
    for repeat in 1..=repeats {
        cells.push(truth.cell(noise, key("base", threads, repeat), 1000.0));
        cells.push(truth.cell(noise, key("other", threads, repeat), 1000.0 * ratio));
    }
    cells
}

fn judged(cells: &[Measured], twins: &[(&str, &str)]) -> Vec<Comparison> {
    let study = study(&["base", "other"], twins);
    comparisons(&study, cells, &Twins::of(cells, &study.judging.twins), 0.03)
}

fn throughput(cells: &[Measured]) -> Comparison {
    judged(cells, &[]).remove(0)
}

/// How often the interval of `metric` holds the truth.
fn coverage(metric: Metric, truth: &Truth, repeats: u32, twins: u32) -> f64 {
    let mut noise = Noise::new(u64::from(repeats) * 31 + u64::from(twins));
    let (ratio, mut covered) = (1.1, 0);
    for _ in 0..CASES {
        let mut all = cells(&mut noise, truth, 8, repeats, ratio);
        for threads in 100..100 + twins {
            all.push(truth.cell(&mut noise, key("base", threads, 1), 1000.0));
            all.push(truth.cell(&mut noise, key("again", threads, 1), 1000.0));
        }
        let again = [("again".to_owned(), "base".to_owned())].into();
        let floor = Twins::of(&all, &again).spread(metric, "w");
        let of = |arm: &str| -> Vec<&Measured> {
            all.iter().filter(|one| one.key.arm == arm && one.key.threads == 8).collect()
        };
        let stratum = Stratum { base: of("base"), other: of("other"), left_out: Vec::new() };
        let found = estimated(metric, &[stratum], floor.as_ref()).unwrap();
        let (low, high) = found.ratio_interval;
        covered += u32::from((low..=high).contains(&ratio));
    }
    f64::from(covered) / f64::from(CASES)
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    for (cell, repeats) in [(0.0, 1), (0.0, 2), (0.0, 3), (0.0, 5), (0.03, 2), (0.03, 3), (0.03, 5)]
    {
        let found = coverage(Metric::Throughput, &Truth::minute(cell), repeats, 0);
        println!("cells ± {cell}, {repeats} repeats: {found}");
        assert!((found - LEVEL).abs() <= BINOMIAL, "cells ± {cell}, {repeats} repeats: {found}");
    }
}

#[test]
fn repeats_of_two_studies_are_covered_though_one_is_noisier() {
    for repeats in [3, 5] {
        let mut noise = Noise::new(40 + u64::from(repeats));
        let (quiet, loud) = (Truth::minute(0.01), Truth::minute(0.04));
        let covered = (0..CASES)
            .filter(|_| {
                let of = |truth: &Truth, level: f64, noise: &mut Noise| -> Vec<Measured> {
                    (1..=repeats).map(|one| truth.cell(noise, key("a", 8, one), level)).collect()
                };
                let (a, b) = (of(&quiet, 1000.0, &mut noise), of(&loud, 1100.0, &mut noise));
                let stratum = Stratum {
                    base: a.iter().collect(),
                    other: b.iter().collect(),
                    left_out: Vec::new(),
                };
                let found = between_studies(Metric::Throughput, &[stratum], None, 1).unwrap();
                let (low, high) = found.ratio_interval;
                (low..=high).contains(&1.1)
            })
            .count();
        println!("two studies, {repeats} repeats: {covered} of {CASES}");
        assert!((930..=980).contains(&covered), "{repeats}: {covered} of {CASES}");
    }
}

#[test]
fn one_repeat_covers_what_repeats_vary_by_if_an_arm_ran_twice_and_not_else() {
    let truth = Truth::minute(0.05);
    let alone = coverage(Metric::Throughput, &truth, 1, 0);
    let found = coverage(Metric::Throughput, &truth, 1, 4);
    println!("alone {alone}, with four twins {found}");
    assert!(alone < 0.9, "{alone}");
    assert!((found - LEVEL).abs() <= BINOMIAL, "{found}");
}

#[test]
fn percentiles_are_covered_too() {
    let truth = Truth { timed: 60, seconds: 60, ..Truth::minute(0.0) };
    for (metric, repeats) in [(Metric::P50, 1), (Metric::P99, 1), (Metric::P99, 3)] {
        let found = coverage(metric, &truth, repeats, 0);
        println!("{metric:?}, {repeats} repeats: {found}");
        assert!((found - LEVEL).abs() <= 0.025, "{metric:?}, {repeats}: {found}");
    }
}

/// What is not used: repeats drawn with replacement, and their seconds in blocks; the interval from the quantiles of 199 draws.
fn bootstrap_covers(noise: &mut Noise, all: &[Measured], ratio: f64) -> bool {
    let of =
        |arm: &str| -> Vec<&Measured> { all.iter().filter(|one| one.key.arm == arm).collect() };
    let sides = [of("base"), of("other")];
    let draw = |noise: &mut Noise, from: usize| (noise.uniform() * from as f64) as usize;
    let mut ratios: Vec<f64> = (0..199)
        .map(|_| {
            let levels = sides.each_ref().map(|side| {
                let cells: Vec<f64> = (0..side.len())
                    .map(|_| {
                        let tps = &side[draw(noise, side.len())].tps;
                        let blocks: Vec<f64> = (0..tps.len() / 5)
                            .map(|_| mean(&tps[draw(noise, tps.len() - 4)..][..5]))
                            .collect();
                        mean(&blocks)
                    })
                    .collect();
                mean(&cells)
            });
            levels[1] / levels[0]
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    (ratios[4]..=ratios[194]).contains(&ratio)
}

#[test]
fn a_plain_bootstrap_of_few_repeats_covers_less() {
    for (repeats, most) in [(2, 264), (3, 279)] {
        let mut noise = Noise::new(12);
        let truth = Truth::minute(0.03);
        let covered = (0..300)
            .filter(|_| {
                let all = cells(&mut noise, &truth, 8, repeats, 1.1);
                bootstrap_covers(&mut noise, &all, 1.1)
            })
            .count();
        println!("bootstrap, {repeats} repeats: {}", covered as f64 / 300.0);
        assert!(covered < most, "{covered} of 300 with {repeats} repeats");
    }
}

#[test]
fn the_same_drive_twice_is_equivalent() {
    let mut noise = Noise::new(21);
    let truth = Truth { second: 0.03, ..Truth::minute(0.004) };
    let equivalent = (0..100)
        .filter(|_| {
            throughput(&cells(&mut noise, &truth, 8, 5, 1.0)).verdict.verdict == Word::Equivalent
        })
        .count();
    println!("equivalent: {equivalent} of 100");
    assert!(equivalent >= 95, "{equivalent} of 100");
}

#[test]
fn a_drive_that_is_5_percent_slower_is_found_as_often_as_promised() {
    let mut noise = Noise::new(22);
    let truth = Truth::minute(0.02);
    // Of a cell's log mean: its own, and what is left of seconds (of which so many count as independent).
    let seconds = 0.1_f64.powi(2) * (1.5 / 0.5) / 60.0;
    let deviation = (2.0 * (0.02_f64.powi(2) + seconds)).sqrt();
    for repeats in [3, 5, 8] {
        let promised = power((1.0_f64 / 0.95).ln(), deviation, repeats, LEVEL);
        let mut words = [0.0; 4];
        for _ in 0..500 {
            let found = throughput(&cells(&mut noise, &truth, 8, repeats, 0.95)).verdict.verdict;
            words[found as usize] += 1.0 / 500.0;
        }
        let worse = words[Word::Worse as usize];
        println!("{repeats} repeats: promised {promised:.3}, found {worse:.3}");
        assert!((worse - promised).abs() < 0.06, "{repeats}: {worse} for {promised}");
        assert!(words[Word::Better as usize] < 0.01);
    }
}

#[test]
fn a_family_of_thread_counts_raises_no_more_false_alarms_than_one_test() {
    let mut noise = Noise::new(23);
    let truth = Truth { seconds: 30, ..Truth::minute(0.03) };
    let alarms = (0..400)
        .filter(|_| {
            let all: Vec<Measured> =
                (1..=8).flat_map(|threads| cells(&mut noise, &truth, threads, 4, 1.0)).collect();
            judged(&all, &[]).iter().any(|one| {
                one.threads.is_some() && matches!(one.verdict.verdict, Word::Better | Word::Worse)
            })
        })
        .count();
    println!("false alarms: {alarms} of 400 families of 8");
    assert!(alarms <= 33, "{alarms} of 400");
}

#[test]
fn one_repeat_says_what_it_rests_on_and_never_equivalent() {
    let mut noise = Noise::new(24);
    let truth = Truth { second: 0.01, ..Truth::minute(0.0) };
    let same = throughput(&cells(&mut noise, &truth, 8, 1, 1.0));
    assert_eq!(same.verdict.verdict, Word::CannotTell);
    assert!(same.verdict.because.as_ref().unwrap().starts_with("one repeat, and no arm ran twice"));
    let faster = throughput(&cells(&mut noise, &truth, 8, 1, 1.5));
    assert_eq!(faster.verdict.verdict, Word::Better);
    assert!(faster.verdict.text.starts_with("in this one run "), "{}", faster.verdict.text);
    assert_eq!(faster.difference.unwrap().basis, Basis::OneRepeat);
}

#[test]
fn a_difference_within_the_noise_floor_is_neither_better_nor_worse() {
    let quiet = Truth { second: 0.01, ..Truth::minute(0.001) };
    let mut noise = Noise::new(25);
    let mut all = cells(&mut noise, &quiet, 8, 3, 1.05);
    assert_eq!(throughput(&all).verdict.verdict, Word::Better, "without a noise floor");
    for (repeat, level) in [(1, 1080.0), (2, 920.0), (3, 1075.0), (4, 925.0)] {
        if repeat == 4 {
            all.push(quiet.cell(&mut noise, key("base", 8, 4), 1000.0));
        }
        all.push(quiet.cell(&mut noise, key("again", 8, repeat), level));
    }
    let found = judged(&all, &[("again", "base")]).remove(0);
    assert_eq!(found.verdict.verdict, Word::CannotTell, "{found:?}");
    assert!(found.verdict.because.as_ref().unwrap().contains("within the noise floor of"));
}

#[test]
fn no_verdict_where_a_cell_forbids_one() {
    let mut noise = Noise::new(26);
    let mut all = cells(&mut noise, &Truth::minute(0.0), 8, 3, 2.0);
    assert_eq!(throughput(&all).verdict.verdict, Word::Better);
    all[3].standing = Standing::Forbidden("other / w / 8 threads / repeat 2 failed".into());
    let found = throughput(&all);
    assert_eq!((found.verdict.verdict, &found.difference), (Word::CannotTell, &None));
    assert!(found.verdict.because.unwrap().contains("repeat 2 failed"));
    all[3].standing = Standing::LeftOut("other / w / 8 threads / repeat 2 is late".into());
    let found = throughput(&all);
    assert_eq!((found.verdict.verdict, found.difference.unwrap().repeats), (Word::Better, 2));
    assert!(found.verdict.text.ends_with("; left out: other / w / 8 threads / repeat 2 is late"));
    let mut fewer = all.clone();
    fewer[0].standing = Standing::LeftOut("base / w / 8 threads / repeat 1 is late".into());
    let found = throughput(&fewer);
    assert_eq!(found.verdict.verdict, Word::CannotTell, "one repeat of three is what was chosen");
    assert!(found.verdict.because.unwrap().contains("is late"));
    all[3].standing = Standing::Missing;
    assert_eq!(
        throughput(&all).difference.unwrap().repeats,
        2,
        "what is not run yet is not waited for"
    );
}

/// Two thread counts, of which one has lost a repeat.
#[test]
fn a_whole_with_a_repeat_left_out_covers_the_truth_too() {
    let mut noise = Noise::new(33);
    let truth = Truth::minute(0.03);
    let covered = (0..1000).filter(|_| {
        let one = cells(&mut noise, &truth, 1, 3, 1.1);
        let mut two = cells(&mut noise, &truth, 8, 3, 1.1);
        two[3].standing = Standing::LeftOut("late".into());
        let strata = [&one, &two].map(|all| {
            let of = |arm: &'static str| all.iter().filter(move |cell| cell.key.arm == arm);
            Stratum::of(of("base"), of("other"), true).unwrap()
        });
        let found = estimated(Metric::Throughput, &strata, None).unwrap();
        found.ratio_interval.0 <= 1.1 && 1.1 <= found.ratio_interval.1
    });
    let covered = covered.count();
    assert!((925..=985).contains(&covered), "{covered} of 1000");
}

#[test]
fn what_would_tell_is_said_and_does() {
    let mut noise = Noise::new(27);
    let truth = Truth::minute(0.02);
    let found = throughput(&cells(&mut noise, &truth, 8, 2, 1.06));
    assert_eq!(found.verdict.verdict, Word::CannotTell);
    let more = found.verdict.repeats_more.unwrap();
    assert!(found.verdict.because.unwrap().contains(&format!("about {more} more repeat")));
    let needed = 2 + more;
    assert!((3..200).contains(&needed), "{needed}");
}

#[test]
fn enough_repeats_are_permuted_and_few_are_not() {
    let mut noise = Noise::new(28);
    let of = |noise: &mut Noise, repeats| {
        let found = throughput(&cells(noise, &Truth::minute(0.01), 8, repeats, 1.1));
        found.difference.unwrap().permutation.unwrap()
    };
    let many = of(&mut noise, 7);
    assert_eq!((many.of.as_str(), many.units), ("repeats", 7));
    let few = of(&mut noise, 2);
    assert!(few.of.starts_with("blocks of ") && few.units >= 6, "{few:?}");
}

#[test]
fn two_thread_counts_give_a_whole_and_holm_corrects_them() {
    let mut noise = Noise::new(29);
    let all: Vec<Measured> = [1, 8]
        .iter()
        .flat_map(|one| cells(&mut noise, &Truth::minute(0.02), *one, 4, 1.2))
        .collect();
    let found = judged(&all, &[]);
    let whole = found.iter().find(|one| one.threads.is_none() && one.metric == Metric::Throughput);
    let ratios: Vec<f64> =
        found[..2].iter().map(|one| one.difference.as_ref().unwrap().ratio.ln()).collect();
    let ratio = whole.unwrap().difference.as_ref().unwrap().ratio;
    assert!((ratio.ln() - mean(&ratios)).abs() < 1e-12, "the geometric mean");
    let raw: Vec<f64> = found[..2].iter().map(|one| one.difference.as_ref().unwrap().p_t).collect();
    let largest = raw.iter().copied().fold(0.0, f64::max);
    let corrected: Vec<f64> = found[..2].iter().map(|one| one.p_corrected.unwrap()).collect();
    assert!(
        corrected.iter().all(|p| *p >= largest.min(2.0 * raw[0].min(raw[1]))),
        "{corrected:?} {raw:?}"
    );
}

#[test]
fn a_percentile_of_too_few_transactions_is_not_judged() {
    let mut noise = Noise::new(30);
    let truth = Truth { timed: 4, ..Truth::minute(0.0) };
    let found = judged(&cells(&mut noise, &truth, 8, 3, 1.0), &[]);
    let p99 = found.iter().find(|one| one.metric == Metric::P99).unwrap();
    assert!(p99.verdict.because.as_ref().unwrap().contains("fewer than 5 transactions"), "{p99:?}");
}
