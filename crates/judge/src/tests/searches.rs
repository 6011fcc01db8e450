//! Tests the interval over several searches, on windows whose capacity wanders.
//!
//! Negative controls: Student's interval of the log rates alone, and the older one, from the lowest
//! of the lower ends to the highest of the upper ends.

use assay_load::Result;
use assay_load::capacity::{
    CapacityFound, MET_SHARE, Objective, Prober, Purpose, Search, Tried, search,
};
use assay_testing::simulations;

use crate::searches::{FoundRate, SEARCH_LEVEL, over_searches};
use crate::statistics::paired;
use crate::statistics::simulated::Noise;

const OBJECTIVE: Objective = Objective { percentile: 99.0, ms: 10.0 };
const OPTIONS: Search =
    Search { start: 700.0, rate_min: 20.0, rate_max: 50_000.0, resolution: 0.03, runs_max: 60 };
/// Standard normal quantile at [`MET_SHARE`].
const Z: f64 = 1.644_853_6;
const LOCATION: f64 = 1000.0;
/// Correlation time of the wander, in runs.
const RUNS: f64 = 10.0;

/// Windows whose ln capacity varies by `own` anew in each run, and wanders by `wander`.
struct Windows {
    own: f64,
    wander: f64,
    now: f64,
    noise: Noise,
}

impl Prober for Windows {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let time = if purpose == Purpose::Rest { 0.5 } else { 1.0 };
        let kept = (-time / RUNS).exp();
        let new = self.wander * (1.0 - kept * kept).sqrt() * self.noise.normal();
        self.now = kept * self.now + new;
        let capacity = LOCATION.ln() + self.now + self.own * self.noise.normal();
        let is_met = rate.ln() < capacity;
        Ok(Tried { purpose, rate, achieved: rate, latency_ms: 1.0, is_met })
    }
}

/// The search of a seed, if it found a rate.
fn found([own, wander]: [f64; 2], seed: u64) -> Option<FoundRate> {
    let mut noise = Noise::new(seed);
    let now = wander * noise.normal();
    let mut windows = Windows { own, wander, now, noise };
    match search(&mut windows, OBJECTIVE, &OPTIONS, &|_| {}).unwrap().found {
        CapacityFound::Rate { rate, low, high, met_share, .. } => {
            assert!((met_share - MET_SHARE).abs() < 1e-9);
            Some(FoundRate { rate, low, high })
        }
        _ => None,
    }
}

/// The interval of the older report.
fn lowest_to_highest(all: &[FoundRate]) -> (f64, f64) {
    let low = all.iter().map(|one| one.low).fold(f64::INFINITY, f64::min);
    (low, all.iter().map(|one| one.high).fold(0.0, f64::max))
}

/// Student's interval of the log rates.
fn of_rates(all: &[FoundRate]) -> (f64, f64) {
    let logs: Vec<f64> = all.iter().map(|one| one.rate.ln()).collect();
    let (low, high) = paired(&logs).unwrap().interval(SEARCH_LEVEL);
    (low.exp(), high.exp())
}

/// Share of intervals that have the truth, and half their mean width.
#[derive(Debug, Default)]
struct Intervals {
    covered: f64,
    half_width: f64,
}

impl Intervals {
    fn add(&mut self, (low, high): (f64, f64), truth: f64, share: f64) {
        self.covered += if (low..=high).contains(&truth) { share } else { 0.0 };
        self.half_width += (high / low).ln() / 2.0 * share;
    }
}

#[test]
fn the_interval_over_several_searches_has_the_rate_that_windows_meet() {
    let searches = u64::from(simulations(15, 200));
    let (draws, mut alone_least) = (simulations(400, 4000), 1.0_f64);
    for law in [[0.005, 0.0], [0.02, 0.0], [0.01, 0.02], [0.01, 0.04]] {
        let all: Vec<FoundRate> = (0..searches).filter_map(|seed| found(law, seed)).collect();
        let truth = LOCATION * (-Z * law[0].hypot(law[1])).exp();
        let mut noise = Noise::new(1);
        let mut widths = Vec::new();
        for repeats in [1, 2, 3, 5, 8] {
            let (mut now, mut rates, mut ends) = <(Intervals, Intervals, Intervals)>::default();
            for _ in 0..draws {
                let place = |noise: &mut Noise| (noise.uniform() * all.len() as f64) as usize;
                let some: Vec<FoundRate> = (0..repeats).map(|_| all[place(&mut noise)]).collect();
                let over = over_searches(&some).unwrap();
                let share = 1.0 / draws as f64;
                now.add((over.low, over.high), truth, share);
                ends.add(lowest_to_highest(&some), truth, share);
                if repeats > 1 {
                    rates.add(of_rates(&some), truth, share);
                }
            }
            println!(
                "own and wander {law:?}, {repeats} searches: now {now:.3?}; Student's of the \
                 rates alone {rates:.3?}; lowest to highest {ends:.3?}"
            );
            // Three standard deviations of the binomial distribution, of searches.
            let chance = 3.0 * (0.1 * 0.9 / searches as f64).sqrt();
            assert!(now.covered >= 0.87 - chance, "{law:?}, {repeats}: {now:?}");
            widths.push((now.half_width, ends.half_width));
            if repeats > 1 {
                alone_least = alone_least.min(rates.covered);
            }
        }
        let (two, eight) = (&widths[1], &widths[4]);
        assert!(eight.0 < two.0 * 1.05, "more searches do not widen the interval: {widths:?}");
        assert!(eight.1 > two.1, "more searches widen the older one: {widths:?}");
    }
    assert!(alone_least < 0.6, "the rates alone leave out what they share: {alone_least}");
}
