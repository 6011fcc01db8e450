//! Tests main effects and interactions of a 2 × 2 in studies whose truth is known: how often their
//! intervals hold it, and what a single path through the configurations makes of it.

use std::collections::BTreeMap;

use assay_study::{PlannedFactor, Study, Trial};
use assay_testing::simulations;

use crate::difference::chain::{Chain, chains};
use crate::difference::effects::{Effects, effects};
use crate::difference::looks::Rules;
use crate::difference::noise::AaRuns;
use crate::interval::LEVEL;
use crate::simulated::{key, study, throughput_alone};
use crate::statistics::simulated::Noise;
use crate::statistics::{mean, standard_deviation};
use crate::trial::measured::{Eligibility, Measured};
use crate::trial::metric::Metric;

const NAMES: [&str; 4] = ["a0 b0", "a1 b0", "a0 b1", "a1 b1"];
const THREADS: [u32; 2] = [1, 8];

/// Logarithms of the effects of a factor at both levels of the other, their interaction as the
/// ratio of ratios, and what varies.
#[derive(Debug, Clone, Copy)]
struct Factorial {
    /// At the other's first level.
    a: f64,
    b: f64,
    interaction: f64,
    /// Deviation of a run.
    run: f64,
    /// Deviation of each effect from repeat to repeat, which the thread counts share.
    repeat: f64,
}

const INTERACTING: Factorial =
    Factorial { a: 0.1, b: 0.0, interaction: 0.2, run: 0.02, repeat: 0.02 };
const NOTHING: Factorial = Factorial { a: 0.0, b: 0.0, interaction: 0.0, ..INTERACTING };

impl Factorial {
    fn main(&self) -> [f64; 2] {
        [self.a, self.b].map(|one| one + self.interaction / 2.0)
    }

    fn runs(&self, noise: &mut Noise, repeats: u32) -> Vec<Measured> {
        let mut runs = Vec::new();
        for repeat in 1..=repeats {
            let day = 0.1 * noise.normal();
            let [a, b, both] = [self.a, self.b, self.interaction]
                .map(|effect| effect + self.repeat * noise.normal());
            for threads in THREADS {
                for (place, name) in NAMES.iter().enumerate() {
                    let of = |is_in: bool, effect: f64| if is_in { effect } else { 0.0 };
                    let (has_a, has_b) = (place & 1 != 0, place & 2 != 0);
                    let effect = of(has_a, a) + of(has_b, b) + of(has_a && has_b, both);
                    let log = day + effect + self.run * noise.normal();
                    runs.push(run(name, threads, repeat, 1000.0 * log.exp()));
                }
            }
        }
        runs
    }
}

fn run(config: &str, threads: u32, repeat: u32, value: f64) -> Measured {
    throughput_alone(key(config, threads, repeat), value)
}

/// The study of the four configurations, in which two settings differ.
fn crossed() -> Study {
    let mut study = study(&NAMES, &[]);
    for (place, config) in study.configs.iter_mut().enumerate() {
        for (name, bit) in [("a", 1), ("b", 2)] {
            let level = if place & bit == 0 { "0" } else { "1" };
            config.settings.insert(name.to_owned(), level.to_owned());
        }
    }
    study
}

fn judged(study: &Study, runs: &[Measured]) -> Effects {
    let mut all = effects(
        study,
        runs,
        &[Metric::Throughput],
        &AaRuns::of(runs, &[].into()),
        Rules::of(study),
    );
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn chained(study: &Study, runs: &[Measured]) -> Chain {
    let all = chains(study, runs, &AaRuns::of(runs, &[].into()), Rules::of(study));
    all.into_iter().find(|one| one.whole.config == "a1 b1").unwrap()
}

fn log_interval(one: &crate::difference::comparison::JudgedComparison) -> (f64, f64) {
    one.difference.as_ref().unwrap().log.interval(LEVEL)
}

fn holds((low, high): (f64, f64), truth: f64) -> f64 {
    f64::from(u8::from(low <= truth && high >= truth))
}

/// Three standard errors of a share of this many cases.
fn tolerance(share: f64, cases: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(cases)).sqrt()
}

/// Shares of intervals that hold the truth: of both main effects, the interaction, and the share of
/// `b` over both orders; as a control, how often the path's step holds that share.
fn coverage(repeats: u32, lost: usize) -> [f64; 5] {
    let cases = simulations(200, 2000);
    let (study, truth) = (crossed(), INTERACTING);
    let mut noise = Noise::new(u64::from(repeats) * 10 + lost as u64);
    let mut held = [0.0; 5];
    for _ in 0..cases {
        let mut runs = truth.runs(&mut noise, repeats);
        runs.iter_mut().rev().take(lost).for_each(|one| one.eligibility = Eligibility::Missing);
        let found = judged(&study, &runs);
        let over_all = |factor: &str| {
            let is_it = |one: &&crate::difference::effects::Effect| {
                one.factor == factor && one.judged.threads.is_none()
            };
            log_interval(&found.main.iter().find(is_it).unwrap().judged)
        };
        let (low, high) = found.interactions[0].interval.unwrap();
        let chain = chained(&study, &runs);
        let last = chain.steps.last().unwrap();
        assert_eq!(last.factors, ["b"]);
        let [a, b] = truth.main();
        let each = [
            holds(over_all("a"), a),
            holds(over_all("b"), b),
            holds((low.ln(), high.ln()), truth.interaction),
            holds(log_interval(last.throughput_over_orders().unwrap()), b),
            holds(log_interval(last.throughput.as_ref().unwrap()), b),
        ];
        held.iter_mut().zip(each).for_each(|(sum, one)| *sum += one / f64::from(cases));
    }
    held
}

#[test]
fn effects_and_interactions_hold_the_truth_and_a_single_path_does_not() {
    for (repeats, lost) in [(2, 0), (3, 0), (5, 0), (8, 0), (5, 1), (8, 2)] {
        let held @ [a, b, interaction, orders, path] = coverage(repeats, lost);
        println!(
            "{repeats} repeats, {lost} lost: a {a:.3}, b {b:.3}, interaction {interaction:.3}, b \
             over both orders {orders:.3}; b by one path {path:.3}"
        );
        // Half a percent more where the jackknife stands in for whole repeats.
        let tolerance =
            tolerance(LEVEL, simulations(200, 2000)) + if lost > 0 { 0.01 } else { 0.0 };
        for one in &held[..4] {
            assert!((one - LEVEL).abs() < tolerance, "{repeats}, {lost}: {held:?}");
        }
        if repeats > 2 {
            assert!(
                path < 0.6,
                "{repeats}, {lost}: one path takes the interaction for b's: {path}"
            );
        }
    }
}

#[test]
fn bytes_of_a_step_hold_the_truth_too() {
    for (repeats, lost) in [(2, 0), (3, 0), (5, 0), (5, 1)] {
        let cases = simulations(200, 2000);
        let mut noise = Noise::new(u64::from(repeats) * 20 + lost as u64);
        let (mut held, mut control) = (0.0, 0.0);
        for _ in 0..cases {
            let mut runs = INTERACTING.runs(&mut noise, repeats);
            runs.truncate(runs.len() - lost);
            let mut study = crossed();
            let bytes = |run: &Measured| run.figure(Metric::Throughput).unwrap().value;
            let trial = |run: &Measured| {
                Trial::done(run.key.clone(), &[("write_bytes_per_transaction", bytes(run))])
            };
            study.trials = runs.iter().map(trial).collect();
            let chain = chained(&study, &runs);
            let found = chain.steps.last().unwrap().taken_over_orders().unwrap();
            let (low, high) = found.interval.unwrap();
            let [_, b] = INTERACTING.main();
            held += holds((low.ln(), high.ln()), b) / f64::from(cases);
            let (low, high) = chain.steps.last().unwrap().taken.unwrap().interval.unwrap();
            control += holds((low.ln(), high.ln()), b) / f64::from(cases);
        }
        println!("{repeats} repeats, {lost} lost: {held:.3}; by one path {control:.3}");
        let tolerance = tolerance(LEVEL, cases) + if lost > 0 { 0.01 } else { 0.0 };
        assert!((held - LEVEL).abs() < tolerance, "{repeats}, {lost}: {held}");
        assert!(repeats == 2 || control < 0.6, "the control: {control}");
    }
}

#[test]
fn a_main_effect_varies_half_as_much_as_one_paths_step() {
    let study = crossed();
    let truth = Factorial { repeat: 0.0, ..NOTHING };
    let mut noise = Noise::new(7);
    let (mut effect, mut path) = (Vec::new(), Vec::new());
    for _ in 0..simulations(400, 2000) {
        let runs = truth.runs(&mut noise, 2);
        let log = |one: &crate::difference::comparison::JudgedComparison| {
            one.difference.as_ref().unwrap().log.mean
        };
        effect.push(log(&judged(&study, &runs).main.last().unwrap().judged));
        path.push(log(chained(&study, &runs).steps.last().unwrap().throughput.as_ref().unwrap()));
    }
    let ratio = (standard_deviation(&path) / standard_deviation(&effect)).powi(2);
    println!("variance of one path's step: {ratio:.2} times that of the main effect");
    // The ratio of two variances of 400 draws has a standard error of a tenth, that is 0.2 of 2.
    assert!((1.5..2.7).contains(&ratio), "{ratio}");
}

#[test]
fn where_nothing_differs_a_direction_is_as_rare_as_the_family_promises() {
    let study = crossed();
    let cases = simulations(200, 2000);
    for repeats in [3, 5, 8] {
        let mut noise = Noise::new(u64::from(repeats));
        let mut shares = [0.0; 3];
        for _ in 0..cases {
            let found = judged(&study, &NOTHING.runs(&mut noise, repeats));
            let over_all = || found.main.iter().filter(|one| one.judged.threads.is_none());
            let any = over_all().any(|one| one.judged.verdict.conclusion.has_direction());
            let uncorrected =
                over_all().any(|one| one.judged.difference.as_ref().unwrap().p_t <= 0.05);
            let interacts = found.interactions.iter().any(super::super::Interaction::is_there);
            for (sum, one) in shares.iter_mut().zip([any, interacts, uncorrected]) {
                *sum += f64::from(u8::from(one)) / f64::from(cases);
            }
        }
        println!(
            "{repeats} repeats: a direction {:.3}, an interaction {:.3}; uncorrected {:.3}",
            shares[0], shares[1], shares[2]
        );
        assert!(shares[0] <= 0.05 + tolerance(0.05, cases), "{repeats}: {shares:?}");
        assert!(shares[1] <= 0.05 + tolerance(0.05, cases), "{repeats}: {shares:?}");
        let of_two = 1.0 - 0.95_f64.powi(2);
        assert!(shares[2] > of_two - tolerance(of_two, cases), "{repeats}: {shares:?}");
    }
}

#[test]
fn an_interaction_gives_effects_at_each_level_and_orders_that_disagree() {
    let study = crossed();
    let quiet = Factorial { run: 0.002, repeat: 0.002, ..INTERACTING };
    let runs = quiet.runs(&mut Noise::new(1), 5);
    let found = judged(&study, &runs);
    let interaction = &found.interactions[0];
    assert!(interaction.is_there(), "{interaction:?}");
    let simple: BTreeMap<(&str, &str), f64> = interaction
        .simple
        .iter()
        .map(|one| {
            let log = one.effect.judged.difference.as_ref().unwrap().log.mean;
            ((&*one.effect.factor, &*one.at_level), log)
        })
        .collect();
    for (place, truth) in
        [(("a", "0"), 0.1), (("a", "1"), 0.3), (("b", "0"), 0.0), (("b", "1"), 0.2)]
    {
        assert!((simple[&place] - truth).abs() < 0.01, "{place:?}: {simple:?}");
    }
    let chain = chained(&study, &runs);
    let means: Vec<f64> = chain
        .steps
        .iter()
        .map(|one| one.throughput_over_orders().unwrap().difference.as_ref().unwrap().log.mean)
        .collect();
    let whole = chain.whole.throughput.as_ref().unwrap().difference.as_ref().unwrap().log.mean;
    assert!((means.iter().sum::<f64>() - whole).abs() < 1e-9, "{means:?} of {whole}");
    let orders = chain.steps[1].over_orders.as_ref().unwrap();
    let range = orders.throughput_range.unwrap();
    assert!(range.disagrees && range.low < 1.01 && range.high > 1.2, "{range:?}");
    assert!((mean(&[range.low.ln(), range.high.ln()]) - means[1]).abs() < 1e-9);
    let calm = judged(&study, &Factorial { interaction: 0.0, ..quiet }.runs(&mut Noise::new(1), 5));
    assert!(calm.interactions[0].simple.is_empty(), "{:?}", calm.interactions);
}

#[test]
fn the_plans_factors_name_levels_and_a_lost_configuration_leaves_no_cross() {
    let mut study = crossed();
    let factor = |name: &str, bit: usize| PlannedFactor {
        name: name.to_owned(),
        levels: vec!["low".into(), "high".into()],
        configs: NAMES
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let level = if place & bit == 0 { "low" } else { "high" };
                ((*name).to_owned(), level.to_owned())
            })
            .collect(),
    };
    study.judging.factors = vec![factor("first", 1), factor("second", 2)];
    let runs = INTERACTING.runs(&mut Noise::new(1), 3);
    let found = judged(&study, &runs);
    assert!(found.cross.is_planned);
    let sides = |one: &crate::difference::effects::Effect| {
        (one.factor.clone(), one.judged.baseline.clone(), one.judged.config.clone())
    };
    assert_eq!(sides(&found.main[0]), ("first".into(), "low".into(), "high".into()));
    let without: Vec<Measured> =
        runs.iter().filter(|one| one.key.config != "a1 b1").cloned().collect();
    let none = effects(
        &study,
        &without,
        &[Metric::Throughput],
        &AaRuns::of(&without, &[].into()),
        Rules::of(&study),
    );
    assert_eq!(none, []);
}
