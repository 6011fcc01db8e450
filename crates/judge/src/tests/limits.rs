//! Tests sentences that set a limit: two configurations are equivalent, or would be within a wider
//! margin; a loss is ruled out; more repeats are of no use.

use assay_testing::simulations;

use super::{at_look, pairs_of_runs, planned};
use crate::difference::comparison::JudgedComparison;
use crate::difference::reason::Reason;
use crate::difference::verdict::Conclusion;
use crate::statistics::simulated::Noise;

/// The margin of equivalence of a plan that names none.
const MARGIN: f64 = 0.03;

fn judged(noise: &mut Noise, repeats: u32, effect: f64, deviation: f64) -> JudgedComparison {
    let runs = pairs_of_runs(noise, repeats, effect, deviation);
    at_look(&planned(&[], repeats, repeats), &runs)
}

/// Three standard errors of a share of this many cases.
fn tolerance(share: f64, cases: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(cases)).sqrt()
}

fn interval(one: &JudgedComparison) -> (f64, f64) {
    one.difference.as_ref().unwrap().ratio_interval
}

#[test]
fn two_that_differ_by_the_margin_are_seldom_called_equivalent() {
    let cases = simulations(250, 5000);
    for (repeats, deviation) in [(3, 0.005), (3, 0.02), (5, 0.01), (8, 0.02), (20, 0.05)] {
        let mut noise = Noise::new(u64::from(repeats) + 100);
        for effect in [MARGIN.ln_1p(), -MARGIN.ln_1p()] {
            let (mut told, mut control) = (0, 0);
            for _ in 0..cases {
                let found = judged(&mut noise, repeats, effect, deviation);
                let ratio = found.difference.as_ref().unwrap().ratio;
                told += u32::from(found.verdict.conclusion == Conclusion::Equivalent);
                control += u32::from(ratio.ln().abs() <= MARGIN.ln_1p());
            }
            let [told, control] = [told, control].map(|all| f64::from(all) / f64::from(cases));
            println!(
                "{repeats} repeats that vary by {deviation}, truth {effect:.3}: equivalent \
                 {told:.4}, by the estimate alone {control:.3}"
            );
            assert!(told <= 0.025 + tolerance(0.025, cases), "{repeats}, {effect}: {told}");
            assert!(control > 0.3, "the control: {control}");
        }
    }
    let mut noise = Noise::new(101);
    let same = (0..cases).filter(|_| {
        let word = judged(&mut noise, 5, 0.0, 0.01).verdict.conclusion;
        word == Conclusion::Equivalent
    });
    let same = same.count() as f64 / f64::from(cases);
    println!("power: the same twice is equivalent in {same:.3}");
    assert!(same > 0.9, "{same}");
}

/// The margin in "equivalent within X %", as a logarithm: the smallest that the interval fits into.
fn fitting_margin(one: &JudgedComparison) -> f64 {
    let (low, high) = interval(one);
    high.max(1.0 / low).ln()
}

#[test]
fn a_difference_seldom_lies_beyond_the_margin_within_which_two_are_equivalent() {
    let cases = simulations(250, 5000);
    for repeats in [2, 3, 5] {
        let mut noise = Noise::new(u64::from(repeats) + 200);
        for effect in [0.0, 0.02, 0.05, 0.1, 0.2] {
            let (mut said, mut beyond, mut control) = (0, 0, 0);
            for _ in 0..cases {
                let found = judged(&mut noise, repeats, effect, 0.05);
                if found.verdict.reason != Some(Reason::IntervalHasBothSigns) {
                    continue;
                }
                let (low, high) = interval(&found);
                said += 1;
                beyond += u32::from(effect > fitting_margin(&found));
                // Half the width, which forgets that the estimate is not zero.
                control += u32::from(effect > (high / low).ln() / 2.0);
            }
            let [beyond, control] = [beyond, control].map(|all| f64::from(all) / f64::from(cases));
            println!(
                "{repeats} repeats, truth {effect}: said in {said} of {cases}, beyond {beyond:.4}, \
                 beyond half the width {control:.4}"
            );
            assert!(beyond <= 0.025 + tolerance(0.025, cases), "{repeats}, {effect}: {beyond}");
        }
    }
}

#[test]
fn a_loss_that_is_ruled_out_is_seldom_there() {
    let cases = simulations(250, 5000);
    let loss = 1.0 - MARGIN;
    for (repeats, deviation) in [(2, 0.01), (3, 0.02), (5, 0.05)] {
        let mut noise = Noise::new(u64::from(repeats) + 300);
        let (mut ruled_out, mut control, mut worse) = (0, 0, 0);
        for _ in 0..cases {
            let lost = judged(&mut noise, repeats, loss.ln(), deviation);
            ruled_out += u32::from(interval(&lost).0 > loss);
            control += u32::from(lost.difference.as_ref().unwrap().ratio > loss);
            let same = judged(&mut noise, repeats, 0.0, deviation);
            worse += u32::from(same.verdict.conclusion == Conclusion::Worse);
        }
        let [ruled_out, control, worse] =
            [ruled_out, control, worse].map(|all| f64::from(all) / f64::from(cases));
        println!(
            "{repeats} repeats that vary by {deviation}: a loss of 3 % is ruled out in \
             {ruled_out:.4} where it is there, by the estimate alone in {control:.3}; worse \
             {worse:.4} where nothing differs"
        );
        assert!(ruled_out <= 0.025 + tolerance(0.025, cases), "{repeats}: {ruled_out}");
        assert!(worse <= 0.025 + tolerance(0.025, cases), "{repeats}: {worse}");
        assert!(control > 0.4, "the control: {control}");
    }
}

/// Without a number, the report calls a decision unlikely before so many times the repeats
/// (`words::reason`).
const UNLIKELY_TIMES: u32 = 3;

#[test]
fn a_difference_within_the_noise_is_seldom_decided_by_three_times_as_many_repeats() {
    let cases = simulations(150, 2000);
    let mut noise = Noise::new(64);
    let (mut said, mut early, mut late) = (0, 0, 0);
    for (repeats, effect, deviation) in [
        (2, 0.0, 0.1),
        (2, 0.02, 0.05),
        (2, 0.05, 0.1),
        (3, 0.03, 0.1),
        (3, 0.05, 0.1),
        (5, 0.05, 0.1),
        (5, 0.1, 0.2),
    ] {
        let (mut its, mut its_early) = (0, 0);
        for _ in 0..cases {
            let mut all = pairs_of_runs(&mut noise, repeats, effect, deviation);
            let first = at_look(&planned(&[], repeats, repeats), &all).verdict;
            let is_open = first.conclusion == Conclusion::Inconclusive;
            if !is_open || first.unlikely_before.is_some() {
                continue;
            }
            let more = pairs_of_runs(&mut noise, 20 * repeats, effect, deviation);
            all.extend(more.into_iter().filter(|one| one.key.repeat > repeats));
            let is_decided = |repeats: u32| {
                let until: Vec<_> =
                    all.iter().filter(|one| one.key.repeat <= repeats).cloned().collect();
                let found = at_look(&planned(&[], repeats, repeats), &until).verdict;
                u32::from(found.conclusion != Conclusion::Inconclusive)
            };
            its += 1;
            its_early += is_decided(UNLIKELY_TIMES * repeats - 1);
            late += is_decided(20 * repeats);
        }
        println!("{repeats} repeats, {effect}, {deviation}: {its_early} of {its} decided before");
        (said, early) = (said + its, early + its_early);
    }
    let [early, late] = [early, late].map(|all| f64::from(all) / f64::from(said));
    println!("of {said}: decided before {early:.3}, by twenty times as many {late:.3}");
    assert!(said > 50 && early < 0.1, "{said}: {early}");
    assert!(late > 0.4, "why the report does not call it impossible: {late}");
}
