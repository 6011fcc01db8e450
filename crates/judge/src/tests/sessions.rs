//! Two studies with nothing between them but the days on which they were made, and sides of one
//! study that start from tables of their own.

use assay_study::Day;
use assay_testing::simulations;

use super::judged;
use crate::difference::between::between_studies;
use crate::difference::compare::{Basis, ComparedRuns, Difference};
use crate::difference::verdict::Conclusion;
use crate::simulated::{key, throughput_alone};
use crate::statistics::simulated::Noise;
use crate::statistics::unpaired;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// Deviation of a run within its day, and of days, as logarithms.
const RUN: f64 = 0.02;
const DAY: f64 = 0.02;

/// How a study was made.
#[derive(Debug, Clone, Copy)]
struct Made {
    days: u32,
    repeats: u32,
    /// How much noisier both its runs and its days are.
    times: f64,
}

impl Made {
    fn of(days: u32, repeats: u32) -> Made {
        Made { days, repeats, times: 1.0 }
    }

    /// Its runs at each of these thread counts, which share what a day does to them.
    fn runs(&self, noise: &mut Noise, threads: &[u32], effect: f64) -> Vec<Vec<Measured>> {
        let mut all = vec![Vec::new(); threads.len()];
        for day in 0..self.days {
            let level = effect + DAY * self.times * noise.normal();
            for repeat in day * self.repeats + 1..=(day + 1) * self.repeats {
                for (runs, threads) in all.iter_mut().zip(threads) {
                    let tps = 1000.0 * (level + RUN * self.times * noise.normal()).exp();
                    runs.push(throughput_alone(key("a", *threads, repeat), tps));
                }
            }
        }
        all
    }

    fn days(&self) -> Vec<Day> {
        let of = |day: u32| Day {
            first: day * self.repeats + 1,
            last: (day + 1) * self.repeats,
            began: None,
        };
        (0..self.days).map(of).collect()
    }
}

fn compared(noise: &mut Noise, made: [Made; 2], threads: &[u32], effect: f64) -> Difference {
    let sides = [made[0].runs(noise, threads, 0.0), made[1].runs(noise, threads, effect)];
    let strata: Vec<ComparedRuns<'_>> = sides[0]
        .iter()
        .zip(&sides[1])
        .map(|(a, b)| ComparedRuns {
            base: a.iter().collect(),
            other: b.iter().collect(),
            ..ComparedRuns::default()
        })
        .collect();
    let [a, b] = made.map(|one| one.days());
    between_studies(Metric::Throughput, &strata, [&a, &b], None, 1).unwrap()
}

fn has_direction(found: &Difference) -> bool {
    let (low, high) = found.ratio_interval;
    low > 1.0 || high < 1.0
}

/// The share of studies with nothing between them of which repeats as units tell a direction.
fn by_repeats(noise: &mut Noise, repeats: u32, cases: u32) -> f64 {
    let logs = |noise: &mut Noise| -> Vec<f64> {
        let runs = Made::of(1, repeats).runs(noise, &[8], 0.0).remove(0);
        runs.iter().map(|run| run.figure(Metric::Throughput).unwrap().value.ln()).collect()
    };
    let false_ones = (0..cases).filter(|_| {
        let (a, b) = (logs(noise), logs(noise));
        let (low, high) = unpaired(&a, &b).unwrap().interval(0.95);
        low > 0.0 || high < 0.0
    });
    false_ones.count() as f64 / f64::from(cases)
}

#[test]
fn repeats_of_one_day_tell_a_difference_between_days_and_days_do_not() {
    let cases = simulations(300, 8000);
    let error = (0.05 * 0.95 / f64::from(cases)).sqrt();
    let mut noise = Noise::new(11);
    for repeats in [3, 5, 10] {
        let old = by_repeats(&mut noise, repeats, cases);
        println!("{repeats} repeats of one day as units: {:.0} % false", old * 100.0);
        assert!(old > 0.12, "{repeats}: {old}");
        let one_day = compared(&mut noise, [Made::of(1, repeats), Made::of(3, repeats)], &[8], 0.0);
        assert_eq!(one_day.basis, Basis::SeparateRuns, "no verdict rests on it");
    }
    for (days, repeats, threads) in
        [(2, 3, &[8][..]), (3, 3, &[8]), (5, 3, &[8]), (3, 2, &[1, 8, 32]), (2, 5, &[1, 8, 32])]
    {
        let made = [Made::of(days, repeats); 2];
        let all: Vec<Difference> =
            (0..cases).map(|_| compared(&mut noise, made, threads, 0.0)).collect();
        let share = all.iter().filter(|one| has_direction(one)).count() as f64 / f64::from(cases);
        println!(
            "{days} days of {repeats} repeats at {} thread counts: {:.1} % false",
            threads.len(),
            share * 100.0
        );
        assert!(all.iter().all(|one| one.basis == Basis::SeparateSessions));
        assert!(share <= 0.05 + 4.0 * error, "{days} days: {share}");
    }
}

/// Type I, coverage and power of two studies on so many days each, with three repeats a day.
pub(super) fn between_days(days: u32, effect: f64, cases: u32) -> [f64; 3] {
    let mut noise = Noise::new(14 + u64::from(days));
    let made = [Made::of(days, 3); 2];
    let mut sums = [0_u32; 3];
    for _ in 0..cases {
        let nothing = compared(&mut noise, made, &[8], 0.0);
        let there = compared(&mut noise, made, &[8], effect);
        let (low, high) = there.ratio_interval;
        sums[0] += u32::from(has_direction(&nothing));
        sums[1] += u32::from((low..=high).contains(&effect.exp()));
        sums[2] += u32::from(has_direction(&there) && there.ratio > 1.0);
    }
    sums.map(|sum| f64::from(sum) / f64::from(cases))
}

#[test]
fn days_hold_the_truth_though_one_study_is_noisier() {
    let cases = simulations(300, 8000);
    let error = (0.05 * 0.95 / f64::from(cases)).sqrt();
    let mut noise = Noise::new(12);
    for days in [2, 3, 5] {
        let made = [Made::of(days, 3), Made { times: 3.0, ..Made::of(days + 1, 2) }];
        let held = (0..cases).filter(|_| {
            let (low, high) = compared(&mut noise, made, &[8], 0.1).ratio_interval;
            (low..=high).contains(&0.1_f64.exp())
        });
        let held = held.count() as f64 / f64::from(cases);
        println!("{days} days: {:.1} % held", held * 100.0);
        assert!(held >= 0.95 - 4.0 * error, "{days}: {held}");
    }
}

/// Five repeats of two configurations, of which each starts from tables of its own, and of an A/A
/// run of the first that starts from these or from others.
fn with_tables(noise: &mut Noise, tables: f64, is_aa_loaded_anew: bool) -> Vec<Measured> {
    let [base, other, anew] = [0; 3].map(|_| tables * noise.normal());
    let again = if is_aa_loaded_anew { anew } else { base };
    let mut all = Vec::new();
    for repeat in 1..=5 {
        for (config, level) in [("base", base), ("again", again), ("other", other)] {
            let tps = 1000.0 * (level + RUN * noise.normal()).exp();
            all.push(throughput_alone(key(config, 8, repeat), tps));
        }
    }
    all
}

#[test]
fn an_aa_run_with_tables_of_its_own_knows_how_loads_of_the_same_differ() {
    let cases = simulations(300, 8000);
    let mut noise = Noise::new(13);
    let mut rate = |tables: f64, is_aa_loaded_anew: bool| {
        let false_ones = (0..cases).filter(|_| {
            let all = with_tables(&mut noise, tables, is_aa_loaded_anew);
            judged(&all, &[("again", "base")]).iter().any(|one| {
                one.config == "other"
                    && one.verdict.conclusion != Conclusion::Inconclusive
                    && one.verdict.conclusion.has_direction()
            })
        });
        false_ones.count() as f64 / f64::from(cases)
    };
    for tables in [0.005, 0.01, 0.02] {
        let (shared, anew) = (rate(tables, false), rate(tables, true));
        println!(
            "loads that differ by {} %: {:.0} % false, the A/A run on the same, {:.0} % on another",
            tables * 100.0,
            shared * 100.0,
            anew * 100.0
        );
        assert!(anew < shared || tables < 0.02, "{tables}: {shared} {anew}");
    }
}
