//! Tests verdicts on differences whose truth is known, and cases without a verdict.

use super::{judged, throughput, trials};
use crate::difference::compare::Basis;
use crate::difference::noise::{AaRuns, NoiseSpread};
use crate::difference::permute::Units;
use crate::difference::reason::Reason;
use crate::difference::verdict::{Conclusion, Verdict};
use crate::interval::LEVEL;
use crate::judgement::comparisons;
use crate::simulated::{Truth, key};
use crate::statistics::simulated::Noise;
use crate::statistics::{mean, power};
use crate::trial::figure::{Absent, figures, statement_figures};
use crate::trial::measured::{Eligibility, Measured};
use crate::trial::metric::Metric;
use assay_study::{Histogram, LatencyClock, Timed};
use assay_testing::count;

#[test]
fn the_same_drive_twice_is_equivalent() {
    let mut noise = Noise::new(21);
    let truth = Truth { second: 0.03, ..Truth::minute(0.004) };
    let equivalent = (0..100)
        .filter(|_| {
            throughput(&trials(&mut noise, &truth, 8, 5, 1.0)).verdict.conclusion
                == Conclusion::Equivalent
        })
        .count();
    println!("equivalent: {equivalent} of 100");
    assert!(equivalent >= 95, "{equivalent} of 100");
}

#[test]
fn kinds_of_statement_are_judged_where_the_plan_asks_and_the_load_sends_them() {
    let mut noise = Noise::new(23);
    let mut trials = trials(&mut noise, &Truth::minute(0.01), 8, 5, 1.0);
    // One statement in 50 is slow: of the other configuration's updates twice as slow, of its reads
    // as slow.
    let histogram = |kind: &str, slow_ms: u64| Histogram {
        kind: Timed::named(kind),
        clock: LatencyClock::Service,
        buckets: vec![(1_000_000, 980), (slow_ms * 1_000_000, 20)],
    };
    for (place, trial) in trials.iter_mut().enumerate() {
        let wobble = (place / 2) as u64;
        let slow = if trial.key.config == "other" { 200 } else { 100 } + wobble;
        let all = [histogram("index_update", slow), histogram("point_select", 100 + wobble)];
        statement_figures(trial, &all);
    }
    let mut study = crate::simulated::study(&["base", "other"], &[]);
    let aa_runs = AaRuns::of(&trials, &study.judging.aa_runs);
    let told = |study: &assay_study::Study| -> Vec<(&str, Conclusion)> {
        comparisons(study, &trials, &aa_runs, 0.03)
            .iter()
            .filter(|one| matches!(one.metric, Metric::Statement(_)))
            .map(|one| (one.metric.label(), one.verdict.conclusion))
            .collect()
    };
    assert_eq!(told(&study), [], "nobody asked");
    let asked = ["index_update", "point_select", "commit"];
    study.judging.percentiles_by_statement = asked.map(str::to_owned).to_vec();
    let told = told(&study);
    let of = |label: &str| told.iter().find(|one| one.0 == label).map(|one| one.1);
    assert_eq!(of("index_update p99"), Some(Conclusion::Worse));
    assert_eq!(of("index_update p50"), Some(Conclusion::Equivalent));
    assert_eq!(
        of("point_select p99"),
        Some(Conclusion::Inconclusive),
        "five repeats may miss a rare stall"
    );
    assert_eq!(of("point_select p50"), Some(Conclusion::Equivalent));
    assert_eq!(
        of("point_select p99.9"),
        Some(Conclusion::Inconclusive),
        "one statement is above it"
    );
    assert_eq!(of("commit p99"), None, "the load sends none");
}

#[test]
fn a_drive_that_is_5_percent_slower_is_found_as_often_as_predicted() {
    let mut noise = Noise::new(22);
    let truth = Truth::minute(0.02);
    // Of a run's log mean: its own, and what is left of seconds (of which so many count as
    // independent).
    let seconds = 0.1_f64.powi(2) * (1.5 / 0.5) / 60.0;
    let deviation = (2.0 * (0.02_f64.powi(2) + seconds)).sqrt();
    let (cases, tolerance) = count((100, 0.12), (500, 0.06));
    for repeats in [3, 5, 8] {
        let predicted = power((1.0_f64 / 0.95).ln(), deviation, repeats, LEVEL);
        let mut words = [0.0; 4];
        for _ in 0..cases {
            let found =
                throughput(&trials(&mut noise, &truth, 8, repeats, 0.95)).verdict.conclusion;
            words[found as usize] += 1.0 / f64::from(cases);
        }
        let worse = words[Conclusion::Worse as usize];
        println!("{repeats} repeats: predicted {predicted:.3}, found {worse:.3}");
        assert!((worse - predicted).abs() < tolerance, "{repeats}: {worse} for {predicted}");
        assert!(words[Conclusion::Better as usize] < 0.01);
    }
}

#[test]
fn a_family_of_thread_counts_raises_no_more_false_alarms_than_one_test() {
    let mut noise = Noise::new(23);
    let truth = Truth { seconds: 30, ..Truth::minute(0.03) };
    let (families, most) = count((100, 11), (400, 33));
    let alarms = (0..families)
        .filter(|_| {
            let all: Vec<Measured> =
                (1..=8).flat_map(|threads| trials(&mut noise, &truth, threads, 4, 1.0)).collect();
            judged(&all, &[]).iter().any(|one| {
                one.threads.is_some()
                    && matches!(one.verdict.conclusion, Conclusion::Better | Conclusion::Worse)
            })
        })
        .count();
    println!("false alarms: {alarms} of {families} families of 8");
    assert!(alarms <= most, "{alarms} of {families}");
}

#[test]
fn one_repeat_says_what_it_rests_on_and_never_equivalent() {
    let mut noise = Noise::new(24);
    let truth = Truth { second: 0.01, ..Truth::minute(0.0) };
    let same = throughput(&trials(&mut noise, &truth, 8, 1, 1.0));
    assert_eq!(same.verdict.conclusion, Conclusion::Inconclusive);
    assert_eq!(same.verdict.reason, Some(Reason::OneRun));
    let faster = throughput(&trials(&mut noise, &truth, 8, 1, 1.5));
    assert_eq!(faster.verdict.conclusion, Conclusion::Better);
    assert!(faster.verdict.is_of_one_run(), "{:?}", faster.verdict);
    assert_eq!(faster.difference.unwrap().basis, Basis::OneRepeat);
}

#[test]
fn a_difference_within_the_noise_floor_is_neither_better_nor_worse() {
    let quiet = Truth { second: 0.01, ..Truth::minute(0.001) };
    let mut noise = Noise::new(25);
    let mut all = trials(&mut noise, &quiet, 8, 3, 1.05);
    assert_eq!(throughput(&all).verdict.conclusion, Conclusion::Better, "without a noise floor");
    for (repeat, level) in [(1, 1080.0), (2, 920.0), (3, 1075.0), (4, 925.0)] {
        if repeat == 4 {
            all.push(quiet.trial(&mut noise, key("base", 8, 4), 1000.0));
        }
        all.push(quiet.trial(&mut noise, key("again", 8, repeat), level));
    }
    let found = judged(&all, &[("again", "base")]).remove(0);
    assert_eq!(found.verdict.conclusion, Conclusion::Inconclusive, "{found:?}");
    let Some(Reason::WithinFloor { floor_percent, differences: 4 }) = found.verdict.reason else {
        panic!("{:?}", found.verdict);
    };
    assert!(floor_percent > 5.0, "{floor_percent}");
}

#[test]
fn no_verdict_where_a_trial_forbids_one() {
    let mut noise = Noise::new(26);
    let mut all = trials(&mut noise, &Truth::minute(0.0), 8, 3, 2.0);
    assert_eq!(throughput(&all).verdict.conclusion, Conclusion::Better);
    all[3].eligibility = Eligibility::Failed;
    let found = throughput(&all);
    assert_eq!((found.verdict.conclusion, &found.difference), (Conclusion::Inconclusive, &None));
    assert_eq!(found.verdict.reason, Some(Reason::TrialFailed(key("other", 8, 2))));
    all[3].eligibility = Eligibility::Disturbed;
    let found = throughput(&all);
    assert_eq!(
        (found.verdict.conclusion, found.difference.unwrap().repeats),
        (Conclusion::Better, 2)
    );
    assert_eq!(found.left_out, [key("other", 8, 2)]);
    let mut fewer = all.clone();
    fewer[0].eligibility = Eligibility::Disturbed;
    let found = throughput(&fewer);
    assert_eq!(
        found.verdict.conclusion,
        Conclusion::Inconclusive,
        "one repeat of three is what was chosen"
    );
    assert_eq!(found.verdict.reason, Some(Reason::TrialNotComparable(key("base", 8, 1))));
    all[3].eligibility = Eligibility::Missing;
    assert_eq!(
        throughput(&all).difference.unwrap().repeats,
        2,
        "what is not run yet is not waited for"
    );
}

#[test]
fn what_would_tell_is_said_and_does() {
    let mut noise = Noise::new(27);
    let truth = Truth::minute(0.02);
    let found = throughput(&trials(&mut noise, &truth, 8, 2, 1.06));
    assert_eq!(found.verdict.conclusion, Conclusion::Inconclusive);
    let before = found.verdict.unlikely_before.unwrap();
    assert!((3..=40).contains(&before), "{before}");
}

#[test]
fn enough_repeats_are_permuted_and_few_are_not() {
    let mut noise = Noise::new(28);
    let of = |noise: &mut Noise, repeats| {
        let found = throughput(&trials(noise, &Truth::minute(0.01), 8, repeats, 1.1));
        found.difference.unwrap().permutation.unwrap()
    };
    let many = of(&mut noise, 7);
    assert_eq!((many.of, many.units), (Units::Repeats, 7));
    let few = of(&mut noise, 2);
    assert!(matches!(few.of, Units::Blocks { .. }) && few.units >= 6, "{few:?}");
}

#[test]
fn two_thread_counts_give_a_whole_and_holm_corrects_them() {
    let mut noise = Noise::new(29);
    let all: Vec<Measured> = [1, 8]
        .iter()
        .flat_map(|one| trials(&mut noise, &Truth::minute(0.02), *one, 4, 1.2))
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
    let found = judged(&trials(&mut noise, &truth, 8, 3, 1.0), &[]);
    let p99 = found.iter().find(|one| one.metric == Metric::P99).unwrap();
    let why = Reason::FigureAbsent(key("base", 8, 1), Absent::TooFewAbove);
    assert_eq!(p99.verdict.reason, Some(why), "{p99:?}");
}

#[test]
fn one_repeat_and_a_floor_speak_of_one_run_and_say_what_they_take_for_granted() {
    let truth = Truth { second: 0.01, ..Truth::minute(0.002) };
    let mut noise = Noise::new(31);
    let mut all = trials(&mut noise, &truth, 8, 1, 1.5);
    for threads in [1, 8, 64, 128] {
        all.push(truth.trial(&mut noise, key("again", threads, 1), 1000.0));
        if threads != 8 {
            all.push(truth.trial(&mut noise, key("base", threads, 1), 1000.0));
        }
    }
    let aa_runs = [("again", "base")];
    let found = judged(&all, &aa_runs).remove(0);
    assert_eq!(found.verdict.conclusion, Conclusion::Better);
    assert_eq!(found.verdict.reason, Some(Reason::OneRunAndFloor), "{found:?}");
    assert!(found.verdict.is_of_one_run());
    // What it takes for granted is no formality: a configuration ten times as noisy is told apart
    // from itself time and again.
    let loud = Truth { trial: 0.05, ..truth };
    let mut alarms = 0;
    for _ in 0..100 {
        all[1] = loud.trial(&mut noise, key("other", 8, 1), 1000.0);
        let found = judged(&all, &aa_runs).remove(0).verdict;
        alarms += u32::from(matches!(found.conclusion, Conclusion::Better | Conclusion::Worse));
        assert!(found.conclusion == Conclusion::Inconclusive || found.is_of_one_run(), "{found:?}");
    }
    assert!(alarms > 20, "{alarms} of 100");
}

/// Two repeats beside one pair of A/A runs each, which is no floor.
fn beside_few_aa_runs(noise: &mut Noise, repeats: u32, ratio: f64) -> Vec<Measured> {
    let truth = Truth { second: 0.02, ..Truth::minute(0.01) };
    let mut all = trials(noise, &truth, 8, repeats, ratio);
    for repeat in 1..=repeats {
        all.push(truth.trial(noise, key("again", 8, repeat), 1000.0));
    }
    all
}

#[test]
fn a_floor_is_not_made_of_few_differences() {
    let mut noise = Noise::new(35);
    let few = beside_few_aa_runs(&mut noise, 1, 1.0);
    let aa_runs = [("again".to_owned(), "base".to_owned())].into();
    let floor = AaRuns::of(&few, &aa_runs).floor().unwrap();
    assert_eq!((floor.seen[0].floor_percent, floor.seen[0].ratios.len()), (None, 1));
    let untold = judged(&few, &[("again", "base")]).remove(0).verdict;
    assert_eq!(untold.reason, Some(Reason::FloorUnknown { differences: 1 }));
    let many = beside_few_aa_runs(&mut noise, 4, 1.0);
    let floor = AaRuns::of(&many, &aa_runs).floor().unwrap();
    assert!(floor.seen[0].floor_percent.is_some_and(|percent| percent < 15.0), "{floor:?}");
}

#[test]
fn without_a_floor_repeats_raise_no_more_false_alarms_and_find_what_is_there() {
    let mut noise = Noise::new(36);
    let cases = count(150, 600);
    let mut directions = |repeats, ratio| {
        let found = (0..cases).filter(|_| {
            let all = beside_few_aa_runs(&mut noise, repeats, ratio);
            let word = judged(&all, &[("again", "base")]).remove(0).verdict.conclusion;
            matches!(word, Conclusion::Better | Conclusion::Worse)
        });
        found.count()
    };
    for repeats in [2, 3] {
        let alarms = directions(repeats, 1.0);
        println!("false alarms of {repeats} repeats without a floor: {alarms} of {cases}");
        assert!(alarms <= count(15, 45), "{alarms} of {cases}");
    }
    let found = directions(3, 1.15);
    assert!(found > count(95, 420), "{found} of {cases}");
}

#[test]
fn more_repeats_than_anybody_runs_are_no_advice() {
    let mut noise = Noise::new(37);
    let truth = Truth { second: 0.05, ..Truth::minute(0.05) };
    let mut said = [0, 0];
    for _ in 0..60 {
        let found = throughput(&trials(&mut noise, &truth, 8, 3, 1.04)).verdict;
        match found.unlikely_before {
            Some(before) => {
                assert!((4..=60).contains(&before), "{before} after 3");
                said[0] += 1;
            }
            None => said[1] += 1,
        }
    }
    assert!(said[0] > 5 && said[1] > 5, "{said:?}");
}

#[test]
fn the_noise_floor_of_a_mean_over_thread_counts_is_lower() {
    let truth = Truth { second: 0.01, ..Truth::minute(0.01) };
    let mut noise = Noise::new(32);
    let mut all = Vec::new();
    for threads in [1, 2, 4, 8] {
        all.extend(trials(&mut noise, &truth, threads, 2, 1.02));
        for repeat in [1, 2] {
            all.push(truth.trial(&mut noise, key("again", threads, repeat), 1000.0));
        }
    }
    let found = judged(&all, &[("again", "base")]);
    let throughput = found.iter().filter(|one| one.metric == Metric::Throughput);
    let floor = NoiseSpread { deviation: 0.02, df: 8.0, within: 0.0 };
    for one in throughput {
        let found = one.difference.as_ref().unwrap();
        let averaged = found.repeats as f64 * one.threads.map_or(4.0, |_| 1.0);
        let expected = floor.reach(1) / averaged.sqrt();
        assert!((found.floor(&floor) - expected).abs() < 1e-12, "{:?}", one.threads);
    }
}

#[test]
fn gains_at_one_thread_count_do_not_make_up_for_losses_at_another() {
    let truth = Truth { second: 0.01, ..Truth::minute(0.001) };
    let mut noise = Noise::new(33);
    let mut over_all = |ratios: [f64; 2]| {
        let strata = [1, 16].into_iter().zip(ratios);
        let all: Vec<Measured> = strata
            .flat_map(|(threads, ratio)| trials(&mut noise, &truth, threads, 4, ratio))
            .collect();
        let mut found = judged(&all, &[]).into_iter();
        found.rfind(|one| one.metric == Metric::Throughput).unwrap().verdict
    };
    let directions = vec![(1, Conclusion::Better), (16, Conclusion::Worse)];
    let is_split = |found: &Verdict| match &found.reason {
        Some(Reason::DependsOnThreads { directions: its, .. }) => *its == directions,
        _ => false,
    };
    for ratios in [[1.5, 0.9], [1.1, 0.91]] {
        let found = over_all(ratios);
        assert!(found.conclusion == Conclusion::Inconclusive && is_split(&found), "{found:?}");
        assert_eq!(found.unlikely_before, None);
    }
    let same_way = over_all([1.5, 1.1]);
    assert_eq!((same_way.conclusion, same_way.reason), (Conclusion::Better, None));
    let hidden = over_all([1.04, 1.0]);
    assert_eq!(
        (hidden.conclusion, hidden.exceptions),
        (Conclusion::Equivalent, vec![(1, Conclusion::Better)])
    );
}

#[test]
fn a_config_that_did_nothing_is_told_so() {
    let mut noise = Noise::new(34);
    let mut all = trials(&mut noise, &Truth::minute(0.0), 8, 2, 1.0);
    all[1].figures.clear();
    let nothing = [("tps".to_owned(), 0.0)].into();
    figures(&mut all[1], &nothing, &[], 0.0);
    let found = throughput(&all);
    let why = Reason::FigureAbsent(key("other", 8, 1), Absent::Unusable(0.0));
    assert_eq!(found.verdict.reason, Some(why));
}

#[test]
fn the_improvement_factor_is_the_ratio_that_stands_beside_it() {
    let mut noise = Noise::new(35);
    let truth = Truth { timed: 60, ..Truth::minute(0.01) };
    let strata = [(1, 1.1), (16, 3.0)];
    let all: Vec<Measured> = strata
        .iter()
        .flat_map(|(one, ratio)| trials(&mut noise, &truth, *one, 2, *ratio))
        .collect();
    let found = judged(&all, &[]);
    let told = found
        .iter()
        .filter_map(|one| Some((one, one.difference.as_ref()?, one.improvement_factor?)));
    let mut seen = 0;
    for (one, difference, factor) in told {
        let expected = if one.metric == Metric::Throughput {
            difference.ratio
        } else {
            1.0 / difference.ratio
        };
        assert!((factor / expected - 1.0).abs() < 1e-12, "{one:?}");
        seen += 1;
    }
    assert!(seen >= 6, "{seen}");
}
