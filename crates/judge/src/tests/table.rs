//! The table of rates in `docs/measuring.md`, which `./assay bench judging` prints: how often each
//! procedure errs and finds, under each kind of noise.
//!
//! A repeat holds both configurations next to each other, every second one backwards, as a study
//! runs them; a run takes [`RUN_S`] seconds with its rig.

use assay_testing::simulations;

use super::sessions::between_days;
use super::weather::{Machine, WEATHERS, Weather};
use super::{at_look, planned};
use crate::difference::comparison::JudgedComparison;
use crate::simulated::{key, throughput_alone};
use crate::statistics::simulated::Noise;
use crate::trial::measured::Measured;

/// The difference whose power is told, as a log ratio.
const EFFECT: f64 = 0.1;

fn runs(noise: &mut Noise, weather: Weather, repeats: u32, effect: f64) -> Vec<Measured> {
    let mut machine = Machine::new(weather, noise);
    let mut all = Vec::new();
    for repeat in 1..=repeats {
        machine.begin_repeat();
        let mut order = ["base", "other"];
        if repeat % 2 == 0 {
            order.reverse();
        }
        for config in order {
            let truth = if config == "other" { effect } else { 0.0 };
            let tps = 1000.0 * (truth + machine.run()).exp();
            all.push(throughput_alone(key(config, 8, repeat), tps));
        }
    }
    all
}

/// The comparison at the end of a study: with looks, at the first that decides.
fn ended(looks: &[u32], repeats: u32, all: &[Measured]) -> JudgedComparison {
    let at = |done: u32| {
        let until: Vec<Measured> =
            all.iter().filter(|one| one.key.repeat <= done).cloned().collect();
        at_look(&planned(looks, repeats, done), &until)
    };
    let is_open = |one: &JudgedComparison| {
        one.verdict.conclusion == crate::difference::verdict::Conclusion::Inconclusive
    };
    let (last, before) = looks.split_last().unwrap_or((&repeats, &[]));
    let early = before.iter().map(|look| at(*look)).find(|one| !is_open(one));
    early.unwrap_or_else(|| at(*last))
}

/// Rates of a procedure, as shares of studies.
#[derive(Debug)]
struct Rates {
    /// A direction where nothing differs.
    type_1: f64,
    /// An interval that holds the truth, where something differs.
    coverage: f64,
    /// The right direction of [`EFFECT`].
    power: f64,
    /// Repeats until its end where something differs.
    repeats: f64,
}

fn rates(weather: Weather, looks: &[u32], repeats: u32) -> Rates {
    let mut noise = Noise::new(u64::from(repeats) * 7 + looks.len() as u64);
    let cases = simulations(100, 4000);
    let mut sums = [0.0; 4];
    for _ in 0..cases {
        let nothing = ended(looks, repeats, &runs(&mut noise, weather, repeats, 0.0));
        let there = ended(looks, repeats, &runs(&mut noise, weather, repeats, EFFECT));
        let found = there.difference.as_ref().expect("two repeats and more have a difference");
        let (low, high) = found.ratio_interval;
        sums[0] += f64::from(u32::from(nothing.verdict.conclusion.has_direction()));
        sums[1] += f64::from(u32::from(low <= EFFECT.exp() && EFFECT.exp() <= high));
        let is_right = there.verdict.conclusion.has_direction() && found.ratio > 1.0;
        sums[2] += f64::from(u32::from(is_right));
        sums[3] += found.repeats as f64;
    }
    let [type_1, coverage, power, repeats] = sums.map(|sum| sum / f64::from(cases));
    Rates { type_1, coverage, power, repeats }
}

#[test]
fn every_procedure_keeps_its_rate_under_every_noise() {
    let designs: [(&str, Vec<u32>, u32); 5] = [
        ("2 repeats", vec![], 2),
        ("3 repeats", vec![], 3),
        ("5 repeats", vec![], 5),
        ("8 repeats", vec![], 8),
        ("looks at 3, 5, 8, 12", vec![3, 5, 8, 12], 12),
    ];
    println!("| noise | design | type I | coverage | power at 10 % | repeats |");
    println!("|---|---|---|---|---|---|");
    let error = (0.05 * 0.95 / f64::from(simulations(100, 4000))).sqrt();
    for weather in WEATHERS {
        for (name, looks, repeats) in &designs {
            let found = rates(weather, looks, *repeats);
            println!(
                "| {} | {name} | {:.1} % | {:.1} % | {:.0} % | {:.1} |",
                weather.name(),
                found.type_1 * 100.0,
                found.coverage * 100.0,
                found.power * 100.0,
                found.repeats
            );
            assert!(found.type_1 <= 0.05 + 4.0 * error, "{name}: {found:?}");
            assert!(found.coverage >= 0.95 - 4.0 * error, "{name}: {found:?}");
        }
    }
    for days in [2, 3, 5, 8] {
        let rates = between_days(days, EFFECT, simulations(100, 4000));
        let [type_1, coverage, power] = rates.map(|share| share * 100.0);
        println!(
            "| day-to-day | two studies, {days} days each | {type_1:.1} % | {coverage:.1} % | \
             {power:.0} % | {days}.0 |"
        );
        assert!(rates[0] <= 0.05 + 4.0 * error, "{days} days: {rates:?}");
        assert!(rates[1] >= 0.95 - 4.0 * error, "{days} days: {rates:?}");
    }
}
