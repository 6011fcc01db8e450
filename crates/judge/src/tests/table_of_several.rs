//! The rows of the table of rates ([`super::table`]) for studies of several configurations: a page
//! of pairs that the plan asks about, and the main effect of a factor.

use assay_study::{AskedPair, Study};
use assay_testing::simulations;

use super::weather::{Machine, WEATHERS, Weather};
use crate::difference::comparison::JudgedComparison;
use crate::difference::effects::effects;
use crate::difference::looks::Rules;
use crate::difference::noise::AaRuns;
use crate::judgement::comparisons;
use crate::simulated::{key, study, throughput_alone};
use crate::statistics::simulated::Noise;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

/// The difference whose power is told, as a log ratio.
const EFFECT: f64 = 0.1;

/// A configuration's name and the logarithm of its level.
type Level<'a> = (&'a str, f64);

/// Runs in an order by chance, every second repeat its predecessor backwards.
fn runs(noise: &mut Noise, weather: Weather, repeats: u32, levels: &[Level<'_>]) -> Vec<Measured> {
    let mut machine = Machine::new(weather, noise);
    let mut all = Vec::new();
    let mut order = Vec::new();
    for repeat in 1..=repeats {
        machine.begin_repeat();
        match repeat % 2 {
            0 => order.reverse(),
            _ => order = machine.order(levels.len()),
        }
        for place in &order {
            let (config, level) = levels[*place];
            let tps = 1000.0 * (level + machine.run()).exp();
            all.push(throughput_alone(key(config, 8, repeat), tps));
        }
    }
    all
}

/// Type I over all comparisons of a study, coverage and power of the one that differs.
struct Rates([f64; 3]);

/// Judges studies with and without [`EFFECT`]; `judge` gives every comparison, that which differs
/// first.
fn rates(
    (weather, repeats): (Weather, u32),
    levels: &dyn Fn(f64) -> Vec<Level<'static>>,
    judge: &dyn Fn(&[Measured]) -> Vec<JudgedComparison>,
) -> Rates {
    let mut noise = Noise::new(u64::from(repeats) * 31);
    let cases = simulations(10, 600);
    let mut sums = [0_u32; 3];
    for _ in 0..cases {
        let nothing = judge(&runs(&mut noise, weather, repeats, &levels(0.0)));
        let there = judge(&runs(&mut noise, weather, repeats, &levels(EFFECT))).remove(0);
        let (low, high) = there.difference.as_ref().unwrap().ratio_interval;
        let is_right = there.verdict.conclusion.has_direction() && low > 1.0;
        sums[0] += u32::from(nothing.iter().any(|one| one.verdict.conclusion.has_direction()));
        sums[1] += u32::from((low..=high).contains(&EFFECT.exp()));
        sums[2] += u32::from(is_right);
    }
    Rates(sums.map(|sum| f64::from(sum) / f64::from(cases)))
}

/// Five configurations against a baseline, all asked about.
fn page(runs: &[Measured]) -> Vec<JudgedComparison> {
    let configs = ["base", "b", "c", "d", "e", "f"];
    let mut study = study(&configs, &[]);
    let asked = configs[1..].iter().map(|config| AskedPair {
        config: (*config).to_owned(),
        against: "base".to_owned(),
        ..AskedPair::default()
    });
    study.judging.compare = asked.collect();
    let all = comparisons(&study, runs, &AaRuns::of(runs, &[].into()), 0.03);
    all.into_iter().filter(|one| one.metric == Metric::Throughput).collect()
}

fn crossed() -> Study {
    let mut study = study(&["a0 b0", "a1 b0", "a0 b1", "a1 b1"], &[]);
    for (place, config) in study.configs.iter_mut().enumerate() {
        for (name, bit) in [("a", 1), ("b", 2)] {
            let level = if place & bit == 0 { "0" } else { "1" };
            config.settings.insert(name.to_owned(), level.to_owned());
        }
    }
    study
}

/// The main effect of the factor that may have one, in a cross of two with two levels.
fn main_effect(runs: &[Measured]) -> Vec<JudgedComparison> {
    let study = crossed();
    let aa_runs = AaRuns::of(runs, &[].into());
    let found = effects(&study, runs, &[Metric::Throughput], &aa_runs, Rules::of(&study)).remove(0);
    let of_a = found.main.into_iter().filter(|one| one.factor == "a");
    of_a.map(|one| one.judged).collect()
}

#[test]
fn every_procedure_of_several_configurations_keeps_its_rate_under_every_noise() {
    let on_page = |effect: f64| {
        vec![("base", 0.0), ("b", effect), ("c", 0.0), ("d", 0.0), ("e", 0.0), ("f", 0.0)]
    };
    let in_cross = |effect: f64| {
        vec![("a0 b0", 0.0), ("a1 b0", effect), ("a0 b1", 0.05), ("a1 b1", 0.05 + effect)]
    };
    let error = (0.05 * 0.95 / f64::from(simulations(10, 600))).sqrt();
    for weather in WEATHERS {
        for repeats in [2, 3, 5, 8] {
            let all = [
                ("five pairs asked", rates((weather, repeats), &on_page, &page)),
                ("main effect in a 2 × 2", rates((weather, repeats), &in_cross, &main_effect)),
            ];
            for (name, Rates(shares)) in all {
                let [type_1, coverage, power] = shares.map(|share| share * 100.0);
                println!(
                    "| {} | {name}, {repeats} repeats | {type_1:.1} % | {coverage:.1} % | \
                     {power:.0} % | {repeats}.0 |",
                    weather.name()
                );
                assert!(shares[0] <= 0.05 + 4.0 * error, "{name}: {shares:?}");
                assert!(shares[1] >= 0.95 - 4.0 * error, "{name}: {shares:?}");
            }
        }
    }
}
