//! Tests how often one side is called more disturbed than the other on a machine that disturbs both
//! alike, and where a configuration causes the disturbance itself.

use assay_study::{CpuUse, Discarded, Study, Trial, Warning};
use assay_testing::simulations;

use super::throughput;
use crate::difference::comparison::JudgedComparison;
use crate::difference::exclusions::Exclusions;
use crate::simulated::{key, study, throughput_alone};
use crate::statistics::simulated::Noise;

/// Attempts at a run before it is kept as it is.
const ATTEMPTS_MOST: u32 = 4;

/// p from which on the report names the test (`comparisons::uneven_loss`).
const P_MOST: f64 = 0.05;

const NAMES: [&str; 2] = ["base", "other"];

/// The warnings and results of an attempt that the machine disturbs with this probability.
fn attempt(noise: &mut Noise, probability: f64) -> (Vec<Warning>, f64) {
    let is_disturbed = noise.uniform() < probability;
    let steal_percent = if is_disturbed { 30.0 } else { 5.0 * (0.6 * noise.normal()).exp() };
    let cpu = CpuUse { steal_percent, busy_percent: 90.0, ..CpuUse::default() };
    let taken = Warning::CpuTaken { cpu, is_too_much: true };
    (if is_disturbed { vec![taken] } else { Vec::new() }, steal_percent)
}

/// A study of which disturbed attempts were discarded with their partners, as runs are made.
fn made(noise: &mut Noise, repeats: u32, probabilities: [f64; 2]) -> Study {
    let mut study = study(&NAMES, &[]);
    for repeat in 1..=repeats {
        for number in 1..=ATTEMPTS_MOST {
            let both = probabilities.map(|one| attempt(noise, one));
            let is_kept = number == ATTEMPTS_MOST || both.iter().all(|one| one.0.is_empty());
            for (place, (warnings, steal_percent)) in both.into_iter().enumerate() {
                let key_of = |place: usize| key(NAMES[place], 8, repeat);
                let results = [("cpu_steal_percent", steal_percent), ("tps", 1000.0)];
                let trial = Trial::done(key_of(place), &results);
                if is_kept {
                    study.trials.push(Trial { warnings, ..trial });
                    continue;
                }
                let is_own = !warnings.is_empty();
                study.discarded.push(Discarded {
                    key: trial.key,
                    ended_at: String::new(),
                    because_of: (!is_own).then(|| key_of(1 - place)),
                    warnings,
                    results: trial.results,
                });
            }
        }
        // The attempts after the first that was kept were not made.
        let its = |one: &Trial| one.key.repeat == repeat;
        let first = study.trials.iter().position(its).unwrap_or(0);
        study.trials.truncate(first + NAMES.len());
    }
    study
}

/// The comparison that both sides are of; its figures do not matter.
fn compared() -> JudgedComparison {
    let all: Vec<_> = (1..=2)
        .flat_map(|repeat| NAMES.map(|name| throughput_alone(key(name, 8, repeat), 1000.0)))
        .collect();
    throughput(&all)
}

/// Shares of studies with a p of at most 5 %: by Fisher's test, and by lost CPU time.
fn told(repeats: u32, probabilities: [f64; 2]) -> [f64; 2] {
    let one = compared();
    let cases = simulations(300, 4000);
    let mut noise = Noise::new(u64::from(repeats));
    let mut sums = [0_u32; 2];
    for _ in 0..cases {
        let found = Exclusions::of(&made(&mut noise, repeats, probabilities), &one);
        sums[0] += u32::from(found.fisher_p <= P_MOST);
        sums[1] += u32::from(found.loss.is_some_and(|loss| loss.p <= P_MOST));
    }
    sums.map(|sum| f64::from(sum) / f64::from(cases))
}

#[test]
fn a_machine_that_disturbs_both_alike_is_seldom_called_uneven() {
    let most = P_MOST + 3.0 * (0.05 * 0.95 / f64::from(simulations(300, 4000))).sqrt();
    for repeats in [3, 5, 10, 20] {
        for probability in [0.02, 0.1, 0.3] {
            let [discards, loss] = told(repeats, [probability; 2]);
            println!(
                "{repeats} repeats, {probability} disturbed: uneven by Fisher's test \
                 {discards:.3}, by lost CPU time {loss:.3}"
            );
            assert!(discards <= most, "{repeats}, {probability}: {discards}");
            // The t test takes means over one to four attempts for equally sure.
            assert!(loss <= most + 0.02, "{repeats}, {probability}: {loss}");
        }
    }
    // Negative control: a configuration that brings it about itself is named.
    let [discards, _] = told(20, [0.05, 0.5]);
    println!("a side that is disturbed ten times as often: {discards:.3}");
    assert!(discards > 0.8, "{discards}");
}
