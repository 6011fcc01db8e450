//! Tests looks at a study before all its repeats have run, and advice to add some.

use assay_study::{LookMade, RunState, Study};
use assay_testing::simulations;

use super::{at_look, pairs_of_runs, planned};
use crate::difference::looks::Look;
use crate::difference::reason::Reason;
use crate::difference::verdict::{Conclusion, Verdict};
use crate::statistics::simulated::Noise;
use crate::trial::measured::Measured;

const LOOKS: [u32; 4] = [3, 5, 8, 12];

/// Runs of two configurations whose log ratio varies by 5 % about `effect`.
fn runs(noise: &mut Noise, repeats: u32, effect: f64) -> Vec<Measured> {
    pairs_of_runs(noise, repeats, effect, 0.05)
}

fn verdict(study: &Study, all: &[Measured]) -> Verdict {
    at_look(study, all).verdict
}

/// The look that ends a study, and its conclusion; `None` if none does.
fn ends(studies: &[Study], all: &[Measured]) -> Option<(u32, Conclusion)> {
    studies.iter().zip(LOOKS).find_map(|(study, look)| {
        let until: Vec<Measured> =
            all.iter().filter(|one| one.key.repeat <= look).cloned().collect();
        let conclusion = verdict(study, &until).conclusion;
        (conclusion != Conclusion::Inconclusive).then_some((look, conclusion))
    })
}

/// The share of studies that end with a direction, and the mean number of their repeats.
fn sequential(studies: &[Study], effect: f64) -> (f64, f64) {
    let mut noise = Noise::new(61);
    let cases = simulations(300, 4000);
    let (mut directions, mut repeats) = (0, 0);
    for _ in 0..cases {
        let end = ends(studies, &runs(&mut noise, 12, effect));
        directions += u32::from(end.is_some_and(|(_, word)| word.has_direction()));
        repeats += end.map_or(12, |(look, _)| look);
    }
    (f64::from(directions) / f64::from(cases), f64::from(repeats) / f64::from(cases))
}

#[test]
fn planned_looks_keep_the_rate_and_end_early() {
    let with_looks = LOOKS.map(|look| planned(&LOOKS, 12, look));
    // Negative control: each look as if it were the only one.
    let each_alone = LOOKS.map(|look| planned(&[], look, look));
    let (new, _) = sequential(&with_looks, 0.0);
    let (old, _) = sequential(&each_alone, 0.0);
    println!("false directions over four looks: {new:.3}, each judged alone {old:.3}");
    let cases = f64::from(simulations(300, 4000));
    assert!(new <= 0.05 + 3.0 * (0.05 * 0.95 / cases).sqrt(), "{new}");
    assert!(old > 0.09, "{old}");
    for effect in [0.08, 0.12, 0.2] {
        let (found, repeats) = sequential(&with_looks, effect);
        println!("a difference of {effect}: found in {found:.3} after {repeats:.1} repeats of 12");
        assert!(found > 0.9 && repeats < 8.5, "{effect}: {found}, {repeats}");
    }
}

#[test]
fn looks_spend_what_there_is_and_nothing_twice() {
    let look = Look::of(&planned(&LOOKS, 12, 5));
    assert_eq!((look.repeats, look.next, look.is_planned), (5, Some(8), true));
    assert!((look.alpha - 0.01).abs() < 1e-12);
    let between = Look::of(&planned(&LOOKS, 12, 7));
    assert_eq!((between.repeats, between.alpha), (5, look.alpha), "as after 5");
    assert!(!between.has(6) && between.has(5));

    let whole = Look::of(&planned(&[], 3, 3));
    assert!((whole.alpha - 0.05).abs() < 1e-12 && whole.is_planned);
    // Two of three repeats, then all: what is looked at too early spends little of its own.
    let mut early = planned(&[], 3, 2);
    let look = Look::of(&early);
    assert_eq!((look.alpha, look.is_planned, look.next), (0.0025, false, Some(3)));
    early.looks = vec![look.made()];
    early.trials.iter_mut().for_each(|trial| trial.state = RunState::Done);
    let look = Look::of(&early);
    assert!((look.alpha - 0.05).abs() < 1e-12 && look.is_planned);
    assert!(look.spent <= 0.055);
    // Three repeats were told, then the plan asks for five.
    let mut more = planned(&[], 5, 5);
    more.looks = vec![LookMade { repeats: 3, alpha: 0.05, is_planned: true }];
    let look = Look::of(&more);
    assert_eq!((look.alpha, look.is_planned), (0.0025, false));
    let mut noise = Noise::new(62);
    let found = verdict(&more, &runs(&mut noise, 5, 0.12));
    assert_eq!(found.conclusion, Conclusion::Inconclusive);
    assert!(matches!(found.reason, Some(Reason::UnplannedLook(_))), "{found:?}");
    assert!(verdict(&more, &runs(&mut noise, 5, 1.0)).conclusion.has_direction());
}

#[test]
fn looks_that_no_plan_names_spend_half_a_percent_together() {
    // Three repeats are judged as planned; then some are added until a direction comes out.
    let more = [(5, 0.0025), (8, 0.00125), (12, 0.000_625)];
    let mut made = vec![LookMade { repeats: 3, alpha: 0.05, is_planned: true }];
    let mut studies = vec![planned(&[], 3, 3)];
    for (repeats, alpha) in more {
        let study = Study { looks: made.clone(), ..planned(&[], repeats, repeats) };
        let look = Look::of(&study);
        assert!((look.alpha - alpha).abs() < 1e-12 && !look.is_planned, "{look:?}");
        made.push(look.made());
        studies.push(study);
    }
    let spent = Look::of(&studies[3]).spent;
    assert!(spent < 0.055, "{spent}");
    let each_alone = LOOKS.map(|look| planned(&[], look, look));
    let cases = simulations(400, 4000);
    let any = |studies: &[Study]| {
        let mut noise = Noise::new(65);
        let has_direction = |noise: &mut Noise| {
            let all = runs(noise, 12, 0.0);
            studies.iter().zip(LOOKS).any(|(study, look)| {
                let until: Vec<Measured> =
                    all.iter().filter(|one| one.key.repeat <= look).cloned().collect();
                verdict(study, &until).conclusion.has_direction()
            })
        };
        let all = (0..cases).filter(|_| has_direction(&mut noise)).count();
        all as f64 / f64::from(cases)
    };
    let (found, control) = (any(&studies), any(&each_alone));
    println!("false directions with added repeats: {found:.4}, each judged alone {control:.3}");
    assert!(found <= spent + 3.0 * (0.055 * 0.945 / f64::from(cases)).sqrt(), "{found}");
    assert!(control > 0.09, "the control: {control}");
}

#[test]
fn what_is_unlikely_before_so_many_repeats_is_unlikely() {
    let mut noise = Noise::new(63);
    for repeats in [2, 3, 5] {
        for effect in [0.0, 0.05] {
            let (mut open, mut decided) = (0, 0);
            for _ in 0..simulations(150, 1000) {
                let all = runs(&mut noise, 100, effect);
                let of = |repeats: u32| {
                    let until: Vec<Measured> =
                        all.iter().filter(|one| one.key.repeat <= repeats).cloned().collect();
                    verdict(&planned(&[], repeats, repeats), &until)
                };
                let Some(before) = of(repeats).unlikely_before else { continue };
                open += 1;
                let just_before = before - 1;
                decided += u32::from(
                    just_before > repeats && of(just_before).conclusion != Conclusion::Inconclusive,
                );
            }
            let share = f64::from(decided) / f64::from(open.max(1));
            println!("{repeats} repeats, {effect}: {decided} of {open} decided before");
            assert!(open > 20 && share < 0.3, "{repeats}, {effect}: {share}");
        }
    }
}
