//! Tests how often a page of comparisons has a false direction, and whether a true one is told as
//! large as it is.

use assay_study::AskedPair;
use assay_testing::simulations;

use crate::difference::comparison::JudgedComparison;
use crate::difference::detectable::detectable_percent;
use crate::difference::family::{ChanceTally, Correction};
use crate::difference::noise::AaRuns;
use crate::judgement::comparisons;
use crate::simulated::{exactly, figures_alone, key, study};
use crate::statistics::simulated::Noise;
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

const CONFIGS: usize = 12;

fn names() -> Vec<String> {
    std::iter::once("base".to_owned()).chain((1..CONFIGS).map(|one| format!("c{one}"))).collect()
}

/// A run of which throughput and p99 vary by 5 % each.
fn run(noise: &mut Noise, config: &str, threads: u32, repeat: u32, level: f64) -> Measured {
    let mut figure = |level: f64| exactly(level * (0.035 * noise.normal()).exp());
    let figures = [(Metric::Throughput, figure(level)), (Metric::P99, figure(10.0))];
    figures_alone(key(config, threads, repeat), figures)
}

/// Comparisons of eleven configurations with the baseline, at two thread counts and three repeats;
/// nothing differs but the throughput of the first, if `first_ratio` says so.
fn page(noise: &mut Noise, asked: &[String], first_ratio: f64) -> Vec<JudgedComparison> {
    page_of(noise, asked, (1, first_ratio))
}

/// The same, with the throughput of the first `count` configurations.
fn page_of(
    noise: &mut Noise,
    asked: &[String],
    (count, ratio): (usize, f64),
) -> Vec<JudgedComparison> {
    let names = names();
    let mut trials = Vec::new();
    for repeat in 1..=3 {
        for (place, name) in names.iter().enumerate() {
            let level = if (1..=count).contains(&place) { 1000.0 * ratio } else { 1000.0 };
            for threads in [1, 8] {
                trials.push(run(noise, name, threads, repeat, level));
            }
        }
    }
    let configs: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut study = study(&configs, &[]);
    study.judging.compare = asked
        .iter()
        .map(|config| AskedPair {
            config: config.clone(),
            against: "base".into(),
            ..AskedPair::default()
        })
        .collect();
    comparisons(&study, &trials, &AaRuns::of(&trials, &[].into()), 0.03)
}

fn has_direction(one: &JudgedComparison) -> bool {
    one.verdict.conclusion.has_direction()
}

/// Negative control: corrected over the thread counts of one pair and metric, and the whole beside
/// them not at all.
fn by_pair_alone(page: &[JudgedComparison], one: &JudgedComparison) -> bool {
    let parts = page.iter().filter(|part| {
        part.threads.is_some() && part.metric == one.metric && part.is_of_same_pair(one)
    });
    let factor = if one.threads.is_none() { 1.0 } else { parts.count() as f64 };
    let Some(found) = &one.difference else { return false };
    let excludes = found.ratio_interval.0 > 1.0 || found.ratio_interval.1 < 1.0;
    excludes && one.p.unwrap() * factor <= 0.05
}

/// The shares of pages with a false direction among the pairs, among the rest, and by the control.
fn shares(asked: &[String]) -> [f64; 3] {
    let mut noise = Noise::new(asked.len() as u64);
    let cases = simulations(50, 400);
    let mut any = [0_u32; 3];
    for _ in 0..cases {
        let page = page(&mut noise, asked, 1.0);
        let stands =
            |one: &&JudgedComparison| one.threads.is_none() && one.metric == Metric::Throughput;
        let (pairs, rest): (Vec<&JudgedComparison>, Vec<&JudgedComparison>) =
            page.iter().partition(stands);
        any[0] += u32::from(pairs.iter().any(|one| has_direction(one)));
        any[1] += u32::from(rest.iter().any(|one| has_direction(one)));
        any[2] += u32::from(page.iter().any(|one| by_pair_alone(&page, one)));
    }
    any.map(|all| f64::from(all) / f64::from(cases))
}

#[test]
fn a_page_of_comparisons_has_no_more_false_directions_than_one() {
    let most = 0.05 + 3.0 * (0.05 * 0.95 / f64::from(simulations(50, 400))).sqrt();
    for (what, asked) in [("asked", names()[1..].to_vec()), ("not asked", Vec::new())] {
        let [pairs, rest, control] = shares(&asked);
        println!(
            "{what}: a false direction among 11 pairs {pairs:.3}, among 55 others {rest:.3}, \
             corrected by pair alone {control:.3}"
        );
        assert!(pairs <= most && rest <= most, "{what}: {pairs}, {rest}");
        assert!(control > 0.4, "{control}");
    }
}

/// Negative control: half the narrowest interval, in percent.
fn narrowest_half(pairs: &[&JudgedComparison]) -> f64 {
    let half = |one: &&JudgedComparison| {
        let (low, high) = one.difference.as_ref().unwrap().ratio_interval;
        (high / low).ln() / 2.0
    };
    pairs.iter().map(half).fold(f64::INFINITY, f64::min).exp_m1() * 100.0
}

#[test]
fn a_difference_that_is_called_detectable_is_found_four_times_in_five() {
    let mut noise = Noise::new(6);
    let asked = names()[1..].to_vec();
    let cases = simulations(40, 300);
    let is_found = |noise: &mut Noise, percent: f64| {
        let page = page(noise, &asked, 1.0 + percent / 100.0);
        let is_it = |one: &&JudgedComparison| {
            one.config == "c1" && one.threads.is_none() && one.metric == Metric::Throughput
        };
        u32::from(page.iter().find(is_it).is_some_and(has_direction))
    };
    let (mut found, mut control) = (0, 0);
    for _ in 0..cases {
        let nothing = page(&mut noise, &asked, 1.0);
        let stands =
            |one: &&JudgedComparison| one.threads.is_none() && one.metric == Metric::Throughput;
        let pairs: Vec<&JudgedComparison> = nothing.iter().filter(stands).collect();
        found += is_found(&mut noise, detectable_percent(None, &pairs).unwrap());
        control += is_found(&mut noise, narrowest_half(&pairs));
    }
    let [found, control] = [found, control].map(|all| f64::from(all) / f64::from(cases));
    println!("found of what is called detectable: {found:.3}, by the narrowest half {control:.3}");
    // The pooled deviation is itself an estimate: the chance at its limit is 80 % on average.
    assert!((found - 0.8).abs() < 0.03 + 3.0 * (0.16 / f64::from(cases)).sqrt(), "{found}");
    assert!(control < 0.2, "{control}");
}

#[test]
fn as_many_comparisons_are_surprising_as_chance_makes() {
    let mut noise = Noise::new(7);
    let cases = simulations(50, 500);
    let (mut surprising, mut by_chance, mut control) = (0.0, 0.0, 0.0);
    for _ in 0..cases {
        let page = page(&mut noise, &[], 1.0);
        let tally = ChanceTally::of(page.iter()).unwrap();
        surprising += tally.surprising as f64;
        by_chance += tally.by_chance;
        // By the normal distribution, which takes three repeats to know their deviation.
        let is_far = |one: &&JudgedComparison| {
            let log = one.difference.as_ref().map(|found| found.log);
            log.is_some_and(|log| (log.mean / log.error).abs() >= 1.96)
        };
        control += page.iter().filter(is_far).count() as f64;
    }
    let [times, control] = [surprising, control].map(|all| all / by_chance);
    println!("surprising: {times:.3} times as many as chance is said to make; normal {control:.2}");
    // Comparisons with one baseline depend on one another: a page varies by its own mean.
    assert!((times - 1.0).abs() < 4.0 / f64::from(cases).sqrt(), "{times}");
    assert!(control > 3.0, "the control: {control}");
}

#[test]
fn of_the_directions_that_nobody_asked_for_few_are_false_on_average() {
    for (true_ones, ratio) in [(1, 1.6), (2, 1.6), (5, 1.6), (5, 1.25)] {
        let mut noise = Noise::new(8);
        let cases = simulations(25, 300);
        let (mut share, mut control) = (0.0, 0.0);
        for _ in 0..cases {
            let page = page_of(&mut noise, &[], (true_ones, ratio));
            let pairs =
                page.iter().filter(|one| one.threads.is_none() && one.metric == Metric::Throughput);
            let is_true = |one: &JudgedComparison| {
                names().iter().position(|name| *name == one.config).unwrap() <= true_ones
            };
            let (mut told, mut uncorrected) = ([0.0; 2], [0.0; 2]);
            for one in pairs {
                let place = usize::from(is_true(one));
                told[place] += f64::from(u8::from(has_direction(one)));
                uncorrected[place] += f64::from(u8::from(one.p.unwrap() <= 0.05));
            }
            let false_share = |[wrong, right]: [f64; 2]| wrong / (wrong + right).max(1.0);
            share += false_share(told) / f64::from(cases);
            control += false_share(uncorrected) / f64::from(cases);
        }
        println!(
            "{true_ones} of 11 differ by {ratio}: {share:.3} of the directions are false, \
             uncorrected {control:.3}"
        );
        // A page's share varies by less than a fifth.
        assert!(share <= 0.05 + 3.0 * 0.2 / f64::from(cases).sqrt(), "{true_ones}: {share}");
        assert!(control > 1.5 * share, "the control: {control} {share}");
    }
}

#[test]
fn what_is_asked_is_corrected_over_what_is_asked_alone() {
    let mut noise = Noise::new(5);
    let page = page(&mut noise, &["c1".to_owned()], 1.6);
    let asked = page.iter().find(|one| one.question.is_some() && one.threads.is_none()).unwrap();
    assert_eq!(asked.correction, Correction::Holm { comparisons: 1 });
    assert_eq!(asked.p, asked.p_corrected);
    assert!(has_direction(asked));
    let other = page.iter().find(|one| one.config == "c2").unwrap();
    // Eleven pairs, two thread counts and both together, two metrics, less the one that is asked.
    assert_eq!(other.correction, Correction::BenjaminiHochberg { comparisons: 65 });
    let rest = page.iter().filter(|one| one.correction == other.correction);
    let tally = ChanceTally::of(rest).unwrap();
    assert_eq!(tally.comparisons, 65);
    assert!((tally.by_chance - 3.25).abs() < 1e-9);
    assert!(tally.surprising >= tally.told && tally.told >= 1, "{tally:?}");
}
