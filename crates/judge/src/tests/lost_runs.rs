//! Tests the interval over several thread counts when runs are lost: what the thread counts of a
//! repeat share must stay in it.

use assay_testing::simulations;

use crate::difference::compare::{ComparedRuns, estimated};
use crate::interval::LEVEL;
use crate::simulated::{key, throughput_alone};
use crate::statistics::simulated::Noise;
use crate::statistics::{Spread, paired};
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

const THREADS: [u32; 4] = [1, 2, 4, 8];

/// A run with this throughput, and no seconds.
fn run(config: &str, threads: u32, repeat: u32, value: f64) -> Measured {
    throughput_alone(key(config, threads, repeat), value)
}

/// Log ratios of each thread count by repeat, which share half their variance within a repeat; the
/// truth is zero. The last `lost` thread counts lack their last repeat.
fn study(noise: &mut Noise, repeats: u32, lost: usize) -> Vec<Vec<f64>> {
    let deviation = 0.05 * 0.5_f64.sqrt();
    let shared: Vec<f64> = (0..repeats).map(|_| deviation * noise.normal()).collect();
    let of_count = |place: usize| -> Vec<f64> {
        let all: Vec<f64> = shared.iter().map(|own| own + deviation * noise.normal()).collect();
        let there = if place < lost { all.len() - 1 } else { all.len() };
        all[..there].to_vec()
    };
    (0..THREADS.len()).map(of_count).collect()
}

/// The interval of the judge.
fn judged(logs: &[Vec<f64>]) -> (f64, f64) {
    let runs = |config: &str, scale: f64| -> Vec<Vec<Measured>> {
        let of_count = |(threads, its): (&u32, &Vec<f64>)| {
            let of = |(repeat, log): (u32, &f64)| {
                run(config, *threads, repeat, 1000.0 * (scale * log).exp())
            };
            (1..).zip(its).map(of).collect()
        };
        THREADS.iter().zip(logs).map(of_count).collect()
    };
    let (base, other) = (runs("base", 0.0), runs("other", 1.0));
    let strata: Vec<ComparedRuns<'_>> = base
        .iter()
        .zip(&other)
        .map(|(a, b)| ComparedRuns {
            base: a.iter().collect(),
            other: b.iter().collect(),
            ..ComparedRuns::default()
        })
        .collect();
    estimated(Metric::Throughput, &strata, None).unwrap().log.interval(LEVEL)
}

/// Negative control: each thread count with its own spread, added up as if they were independent.
fn as_if_independent(logs: &[Vec<f64>]) -> (f64, f64) {
    let n = logs.len() as f64;
    let spreads: Vec<Spread> = logs.iter().map(|its| paired(its).unwrap()).collect();
    let parts: Vec<(f64, f64)> =
        spreads.iter().map(|one| ((one.error / n).powi(2), one.df)).collect();
    let mean = spreads.iter().map(|one| one.mean).sum::<f64>() / n;
    Spread::of_parts(mean, &parts).interval(LEVEL)
}

/// Shares of studies whose interval has the truth: the judge's and the control's; and the ratio of
/// the mean widths to those of the same studies without losses.
fn shares(repeats: u32, lost: usize) -> [f64; 3] {
    let mut noise = Noise::new(u64::from(repeats) * 10 + lost as u64);
    let cases = simulations(1000, 5000);
    let (mut held, mut control, mut wide) = (0, 0, 0.0);
    for _ in 0..cases {
        let logs = study(&mut noise, repeats, lost);
        let holds = |(low, high): (f64, f64)| u32::from(low <= 0.0 && high >= 0.0);
        let interval = judged(&logs);
        held += holds(interval);
        control += holds(as_if_independent(&logs));
        wide += interval.1 - interval.0;
    }
    [f64::from(held), f64::from(control), wide].map(|sum| sum / f64::from(cases))
}

#[test]
fn a_lost_run_makes_no_interval_surer() {
    for repeats in [3, 5, 8] {
        let whole = shares(repeats, 0);
        for lost in [1, 2] {
            let [held, control, width] = shares(repeats, lost);
            println!(
                "{repeats} repeats, {lost} lost: {held:.3}, as if independent {control:.3}, width \
                 {width:.4} of {:.4}",
                whole[2]
            );
            // Three standard errors of the share, and half a percent that the jackknife lacks.
            let tolerance = 3.0 * (0.95 * 0.05 / f64::from(simulations(1000, 5000))).sqrt() + 0.01;
            assert!((held - LEVEL).abs() < tolerance, "{repeats}, {lost}: {held}");
            assert!(control < 0.91, "{repeats}, {lost}: {control}");
            assert!(width > 0.9 * whole[2], "{repeats}, {lost}: {width} of {}", whole[2]);
        }
    }
}
