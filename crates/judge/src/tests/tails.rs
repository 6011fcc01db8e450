//! Tests what is said of tails: of stalls in few runs, of stalls within a run, and of figures that
//! were read from wide buckets.

use assay_study::{BUCKET_WIDTH, SecondLatency, longest_ns};
use assay_testing::simulations;

use crate::difference::compare::{ComparedRuns, Difference, estimated};
use crate::difference::family::Correction;
use crate::difference::reason::Reason;
use crate::difference::verdict::{Conclusion, STALLED_SHARE, verdict};
use crate::interval::LEVEL;
use crate::simulated::{figures_alone, key};
use crate::statistics::simulated::Noise;
use crate::statistics::{paired, quantile};
use crate::trial::figure::{Absent, OF_THREE_DIGITS, RunFigure, figures};
use crate::trial::measured::Measured;
use crate::trial::metric::Metric;

const MARGIN: f64 = 0.03;

/// A run with nothing but a p99.
fn run(config: &str, repeat: u32, value: f64, resolution: f64) -> Measured {
    let figure = RunFigure { value, within: None, resolution };
    figures_alone(key(config, 1, repeat), [(Metric::P99, figure)])
}

/// The judge's difference between repeats with these p99 in ms.
fn compared(base: &[f64], other: &[f64], resolution: f64) -> Difference {
    let runs = |config: &str, values: &[f64]| -> Vec<Measured> {
        let each = (1..).zip(values);
        each.map(|(repeat, value)| run(config, repeat, *value, resolution)).collect()
    };
    let (base, other) = (runs("base", base), runs("other", other));
    let runs = ComparedRuns {
        base: base.iter().collect(),
        other: other.iter().collect(),
        ..ComparedRuns::default()
    };
    estimated(Metric::P99, &[runs], None).unwrap()
}

/// p99 of so many runs, which vary by 1 %; a share `stalled` of them has four times as much.
fn times(noise: &mut Noise, runs: usize, stalled: f64) -> Vec<f64> {
    let mut one = || {
        let times = if noise.uniform() < stalled { 4.0 } else { 1.0 };
        10.0 * times * (0.01 * noise.normal()).exp()
    };
    (0..runs).map(|_| one()).collect()
}

/// Shares of studies called equivalent: by the interval alone (control), and by the judge; and the
/// share of intervals that hold the mean log ratio.
fn called_equivalent(runs: usize, stalled: f64) -> [f64; 3] {
    let mut noise = Noise::new(runs as u64);
    let cases = simulations(500, 3000);
    let truth = stalled * 4.0_f64.ln();
    let mut found = [0; 3];
    for _ in 0..cases {
        let (base, other) = (times(&mut noise, runs, 0.0), times(&mut noise, runs, stalled));
        let one = compared(&base, &other, OF_THREE_DIGITS);
        let (low, high) = one.ratio_interval;
        found[0] += u32::from(low >= 1.0 / (1.0 + MARGIN) && high <= 1.0 + MARGIN);
        let told = verdict(Metric::P99, &one, (one.p_t, Correction::None), MARGIN, None);
        found[1] += u32::from(told.conclusion == Conclusion::Equivalent);
        found[2] += u32::from(low.ln() <= truth && truth <= high.ln());
    }
    found.map(|n| f64::from(n) / f64::from(cases))
}

#[test]
fn a_tail_with_rare_stalls_is_not_called_equivalent() {
    let tolerance = 3.0 * (0.05 * 0.95 / f64::from(simulations(500, 3000))).sqrt();
    for runs in [3, 5, 8, 13, 14, 20] {
        let [control, told, held] = called_equivalent(runs, STALLED_SHARE);
        let [_, same, _] = called_equivalent(runs, 0.0);
        println!(
            "{runs} repeats, one run of five stalls: equivalent by the interval {control:.3}, told \
             {told:.3}; the interval holds the truth in {held:.3}; without stalls told {same:.3}"
        );
        assert!(told <= 0.05 + tolerance, "{runs}: {told}");
        match runs {
            3..=8 => assert!(control > 0.1, "the control: {control}"),
            14.. => assert!(same > 0.95, "power: {same}"),
            _ => {}
        }
    }
}

#[test]
fn how_likely_a_rare_stall_was_missed_is_part_of_the_reason() {
    let one = compared(&[10.0, 10.01, 10.0, 10.01], &[10.01, 10.0, 10.0, 10.0], OF_THREE_DIGITS);
    let told = verdict(Metric::P99, &one, (one.p_t, Correction::None), MARGIN, None);
    let Some(Reason::StallsUnseen { runs, missed, runs_needed }) = told.reason else { panic!() };
    assert_eq!((told.conclusion, runs, runs_needed), (Conclusion::Inconclusive, 4, 14));
    assert!((missed - 0.8_f64.powi(4)).abs() < 1e-9, "{missed}");
    // Medians are not decided by the slowest.
    let told = verdict(Metric::P50, &one, (one.p_t, Correction::None), MARGIN, None);
    assert_eq!(told.conclusion, Conclusion::Equivalent);
}

/// The end of the bucket of phases that holds this time.
fn read(ms: f64) -> f64 {
    longest_ns(assay_study::bucket_of((ms * 1e6) as u64)) as f64 / 1e6
}

#[test]
fn figures_from_buckets_have_intervals_no_narrower_than_those() {
    for runs in [2, 3, 5, 10] {
        for deviation in [0.001, 0.003, 0.01, 0.05] {
            let mut noise = Noise::new(runs as u64);
            let cases = simulations(300, 2000);
            let (mut control, mut zero, mut held) = (0, 0, 0);
            for _ in 0..cases {
                let level = 10.0 * (1.0 + noise.uniform());
                let truth = 0.04 * (noise.uniform() - 0.5);
                let mut side = |level: f64| -> Vec<f64> {
                    (0..runs).map(|_| read(level * (deviation * noise.normal()).exp())).collect()
                };
                let (base, other) = (side(level), side(level * truth.exp()));
                let holds = |(low, high): (f64, f64)| u32::from(low <= truth && truth <= high);
                let logs: Vec<f64> = base.iter().zip(&other).map(|(a, b)| (b / a).ln()).collect();
                let plain = paired(&logs).unwrap();
                control += holds(plain.interval(LEVEL));
                zero += u32::from(plain.error < 1e-12);
                let one = compared(&base, &other, BUCKET_WIDTH);
                held += holds(one.log.interval(LEVEL));
                assert!(
                    one.ratio_interval.1 / one.ratio_interval.0 > 1.0 + 2.0 * 0.99 * BUCKET_WIDTH
                );
                assert!(one.p_t > 0.0, "nothing is certain");
            }
            let [control, zero, held] =
                [control, zero, held].map(|n| f64::from(n) / f64::from(cases));
            println!(
                "{runs} repeats that vary by {deviation}: zero width {zero:.3}, holds the truth \
                 {control:.3}; with the buckets {held:.3}"
            );
            // Where noise is as wide as a bucket, two repeats may by chance fall into the same.
            let tolerance = 3.0 * (0.05 * 0.95 / f64::from(cases)).sqrt();
            assert!(held > LEVEL - 0.01 - tolerance, "{runs}, {deviation}: {held}");
            if deviation < 0.002 {
                assert!(control < 0.9, "the control: {runs}, {deviation}: {control}");
            }
        }
    }
}

/// A minute of a hundred transactions a second, most of 1 ms; `slow` of them in each of these
/// seconds took 50 ms.
fn with_slow(seconds: std::ops::Range<u32>, slow: u64) -> Measured {
    let mut measured = run("base", 1, 1.0, 0.0);
    measured.figures.clear();
    let mut all = 0;
    for second in 1..=60 {
        let its = if seconds.contains(&second) { slow } else { 0 };
        all += its;
        let times = [(1_000_000, 100 - its), (50_000_000, its)];
        measured.latencies.push(&SecondLatency::of(second, &times[..if its > 0 { 2 } else { 1 }]));
    }
    let whole = [(1_000_000, 6000 - all), (50_000_000, all)];
    let results = [("latency_ms_p50".into(), 1.0), ("latency_ms_p99".into(), 50.0)].into();
    figures(&mut measured, &results, &whole, OF_THREE_DIGITS);
    measured
}

#[test]
fn one_stall_is_no_percentile() {
    let stall = with_slow(30..32, 80);
    assert_eq!(stall.absent.get(&Metric::P99), Some(&Absent::InFewSeconds));
    assert!(stall.figure(Metric::P50).is_some(), "half of all are not one stall");
    let often = with_slow(30..50, 8);
    assert_eq!(often.absent.get(&Metric::P99), None);
    assert_eq!(often.figure(Metric::P99).map(|one| one.value), Some(50.0));
}

/// p99 in ms of a server that answers within a millisecond and stalls for `stall_s` of every 10 s:
/// in closed loop by so many threads, and for as many transactions as these make, each timed from
/// when it was due.
fn p99_of_stalls(threads: u32, stall_s: f64) -> [f64; 2] {
    const SECONDS: f64 = 10.0;
    const SERVICE_S: f64 = 0.001;
    let per_thread = (SECONDS - stall_s) / SERVICE_S;
    let mut closed = vec![SERVICE_S; (per_thread * f64::from(threads)) as usize];
    closed.extend((0..threads).map(|_| SERVICE_S + stall_s));
    let all = closed.len();
    let due = (0..all).map(|one| one as f64 * SECONDS / all as f64);
    // The stall begins with the period; after it the queue is served before anything else.
    let open: Vec<f64> = due.map(|due| SERVICE_S + (stall_s - due).max(0.0)).collect();
    [closed, open].map(|times| quantile(&times, 0.99) * 1000.0)
}

#[test]
fn a_closed_loop_hides_the_stalls_that_users_meet() {
    let [closed, open] = p99_of_stalls(8, 2.0);
    println!("p99 in closed loop {closed} ms, at the same rate from when each was due {open} ms");
    assert!(closed < 1.5, "{closed}");
    assert!(open > 1500.0, "{open}");
    let [closed, open] = p99_of_stalls(8, 0.0);
    assert!((closed - open).abs() < 1e-9, "the control: without a stall both are the same");
}
