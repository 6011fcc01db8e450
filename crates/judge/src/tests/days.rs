//! Tests the interval of a difference within a study by its days.

use assay_study::{Sessions, Study, Trial};
use assay_testing::simulations;

use super::throughput;
use crate::difference::days::ByDay;
use crate::interval::LEVEL;
use crate::simulated::{key, study, throughput_alone};
use crate::statistics::paired;
use crate::statistics::simulated::Noise;
use crate::trial::measured::Measured;

/// Repeats of a day.
const REPEATS: u32 = 3;

/// The log ratio of both sides.
const EFFECT: f64 = 0.1;

/// A study of these days, whose log ratio varies by 3 % from day to day and by 2 % from repeat to
/// repeat within a day; its runs, and the log ratios of the repeats.
fn made(noise: &mut Noise, days: u32) -> (Study, Vec<Measured>, Vec<f64>) {
    let mut study = study(&["base", "other"], &[]);
    study.sessions = Sessions { repeats: vec![REPEATS; days as usize], order_seed: None };
    let (mut runs, mut logs) = (Vec::new(), Vec::new());
    for day in 0..days {
        let of_day = EFFECT + 0.03 * noise.normal();
        for repeat in day * REPEATS + 1..=(day + 1) * REPEATS {
            let log = of_day + 0.02 * noise.normal();
            logs.push(log);
            for (config, tps) in [("base", 1000.0), ("other", 1000.0 * log.exp())] {
                let key = key(config, 8, repeat);
                runs.push(throughput_alone(key.clone(), tps));
                let started_at = Some(format!("2026-11-{:02}T08:00:00Z", day + 1));
                study.trials.push(Trial { started_at, ..Trial::done(key, &[("tps", tps)]) });
            }
        }
    }
    (study, runs, logs)
}

#[test]
fn an_interval_by_days_holds_the_truth_and_one_by_repeats_does_not() {
    let cases = simulations(400, 4000);
    let mut noise = Noise::new(15);
    for days in [2, 3, 5] {
        let (mut held, mut control) = (0, 0);
        for _ in 0..cases {
            let (study, runs, logs) = made(&mut noise, days);
            let found = ByDay::of(&study, &throughput(&runs)).unwrap();
            assert_eq!(found.ratios.len(), days as usize);
            let holds = |(low, high): (f64, f64)| u32::from(low <= EFFECT && EFFECT <= high);
            held += holds((found.ratio_interval.0.ln(), found.ratio_interval.1.ln()));
            control += holds(paired(&logs).unwrap().interval(LEVEL));
        }
        let [held, control] = [held, control].map(|all| f64::from(all) / f64::from(cases));
        println!(
            "{days} days: {held:.3} of the intervals by days hold it, by repeats {control:.3}"
        );
        let tolerance = 3.0 * (0.05 * 0.95 / f64::from(cases)).sqrt();
        assert!((held - LEVEL).abs() < tolerance, "{days}: {held}");
        assert!(control < 0.85, "the control: {control}");
    }
}
