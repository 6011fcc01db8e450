//! The search on windows whose capacity varies and wanders by a known law: how often a window at
//! another time meets the objective at the reported rate, how often the interval has the rate that
//! 95 % of windows meet, and how many runs it takes.
//!
//! Negative control: the rule of older searches, which probed at the median alone, took runs for
//! independent, and reported the rate that half of the windows meet.

use std::cell::RefCell;

use assay_testing::count;

use super::*;
use crate::random::Rng;

const OBJECTIVE: Objective = Objective { percentile: 99.0, ms: 10.0 };
const OPTIONS: Search =
    Search { start: 600.0, rate_min: 20.0, rate_max: 50_000.0, resolution: 0.03, runs_max: 60 };
/// Standard normal quantile at [`MET_SHARE`].
const Z: f64 = 1.644_853_6;
/// The location of the capacity.
const LOCATION: f64 = 1000.0;

/// A law of how capacity varies.
#[derive(Debug, Clone, Copy)]
struct Law {
    /// Standard deviation of ln capacity that is new in each run.
    own: f64,
    /// Standard deviation of its wander, an Ornstein–Uhlenbeck process.
    wander: f64,
    /// Correlation time of the wander, in runs.
    runs: f64,
    /// Share of runs that miss whatever their rate.
    disturbed: f64,
}

impl Law {
    const fn new(own: f64, wander: f64) -> Law {
        Law { own, wander, runs: 10.0, disturbed: 0.0 }
    }

    fn spread(&self) -> f64 {
        self.own.hypot(self.wander)
    }

    /// The rate that [`MET_SHARE`] of undisturbed windows meet.
    fn truth(&self) -> f64 {
        LOCATION * (-Z * self.spread()).exp()
    }
}

/// Windows that follow a law.
struct Varying {
    law: Law,
    rng: Rng,
    wander: f64,
}

impl Varying {
    fn new(law: Law, seed: u64) -> Varying {
        let mut rng = Rng::new(seed, 11);
        let wander = law.wander * normal(&mut rng);
        Varying { law, rng, wander }
    }

    fn meets(&mut self, rate: f64) -> bool {
        let own = self.law.own * normal(&mut self.rng);
        let is_disturbed = self.rng.unit() < self.law.disturbed;
        !is_disturbed && rate.ln() < LOCATION.ln() + self.wander + own
    }
}

/// Box and Muller, 1958.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

impl Prober for Varying {
    fn run(&mut self, rate: f64, purpose: Purpose) -> Result<Tried> {
        let time = if purpose == Purpose::Rest { REST_LENGTH } else { 1.0 };
        let kept = (-time / self.law.runs).exp();
        let new = self.law.wander * (1.0 - kept * kept).sqrt() * normal(&mut self.rng);
        self.wander = kept * self.wander + new;
        let is_met = self.meets(rate);
        Ok(Tried { purpose, rate, achieved: rate, latency_ms: 1.0, is_met })
    }
}

/// Searches of one law.
#[derive(Debug, Default)]
struct Searches {
    all: u32,
    settled: u32,
    covered: u32,
    /// Intervals that have the rate that half of the windows meet.
    covered_half: u32,
    restarts: u32,
    runs: usize,
    windows: u32,
    windows_met: u32,
}

impl Searches {
    /// Counts a search, and the windows at other times that meet the objective at its rate.
    fn add(&mut self, law: Law, seed: u64, [low, rate, high]: [f64; 3]) {
        self.settled += 1;
        self.covered += u32::from((low..=high).contains(&law.truth()));
        self.covered_half += u32::from((low..=high).contains(&LOCATION));
        for window in 0..20 {
            self.windows += 1;
            let met = Varying::new(law, 1_000_000 + seed * 100 + window).meets(rate);
            self.windows_met += u32::from(met);
        }
    }

    fn share(count: u32, of: u32) -> f64 {
        f64::from(count) / f64::from(of.max(1))
    }

    /// Prints a row of the table in `docs/workloads.md`.
    fn print(&self, rule: &str, law: Law) {
        let percent = |count, of| 100.0 * Searches::share(count, of);
        // The older rule reports the rate that half of the windows meet.
        let covered = if rule == OLDER { self.covered_half } else { self.covered };
        println!(
            "| {} % | {} % over {} runs | {} % | {rule} | {:.0} % | {:.1} % | {:.0} |",
            100.0 * law.own,
            100.0 * law.wander,
            law.runs,
            100.0 * law.disturbed,
            percent(self.windows_met, self.windows),
            percent(covered, self.settled),
            self.runs as f64 / f64::from(self.all),
        );
    }
}

/// Name of the rule of earlier versions.
const OLDER: &str = "older";

fn searches(law: Law, seeds: u64) -> Searches {
    let mut of = Searches::default();
    for seed in 0..seeds {
        let options = Search { start: 300.0 + (seed * 137 % 1000) as f64, ..OPTIONS };
        let found = search(&mut Varying::new(law, seed), OBJECTIVE, &options, &|_| {}).unwrap();
        of.all += 1;
        of.runs += found.runs.len();
        of.restarts += found.restarts;
        if let CapacityFound::Rate { rate, low, high, .. } = found.found {
            of.add(law, seed, [low, rate, high]);
        }
    }
    of.print("now", law);
    of
}

/// The older rule, without its restarts: a logistic response, independent runs, probes at the
/// median, three holding runs at the lower end.
fn older(law: Law, seeds: u64) -> Searches {
    let mut of = Searches::default();
    for seed in 0..seeds {
        let mut windows = Varying::new(law, seed);
        let mut half = Half::new(LOCATION / 2.0, LOCATION * 2.25);
        let runs = RefCell::new(3);
        let mut made = |half: &mut Half, rate: f64| {
            *runs.borrow_mut() += 1;
            let is_met = windows.run(rate, Purpose::Probe).unwrap().is_met;
            half.learn(rate, is_met);
            if !is_met {
                *runs.borrow_mut() += 1;
                windows.run(rate * REST_SHARE, Purpose::Rest).unwrap();
            }
        };
        of.all += 1;
        while half.quantile(0.95) / half.quantile(0.05) > 1.0 + 2.0 * OPTIONS.resolution
            && *runs.borrow() < 120
        {
            let middle = half.quantile(0.5);
            made(&mut half, middle);
        }
        let lower = half.quantile(0.05);
        (0..3).for_each(|_| made(&mut half, lower));
        of.runs += runs.take();
        of.add(law, seed, [0.05, 0.5, 0.95].map(|end| half.quantile(end)));
    }
    of.print(OLDER, law);
    of
}

/// The older posterior: any capacity between two rates, six spreads.
struct Half {
    logs: Vec<f64>,
    weights: Vec<[f64; 6]>,
}

impl Half {
    fn new(low: f64, high: f64) -> Half {
        let points = 600;
        let step = (high / low).ln() / points as f64;
        let logs = (0..points).map(|place| low.ln() + step * place as f64).collect();
        Half { logs, weights: vec![[1.0; 6]; points] }
    }

    fn learn(&mut self, rate: f64, is_met: bool) {
        for (log, weights) in self.logs.iter().zip(&mut self.weights) {
            for (weight, spread) in
                weights.iter_mut().zip([0.0001, 0.001, 0.004, 0.012, 0.03, 0.06])
            {
                let met = 0.02 + 0.96 / (1.0 + ((rate.ln() - log) / spread).exp());
                *weight *= if is_met { met } else { 1.0 - met };
            }
        }
    }

    fn quantile(&self, quantile: f64) -> f64 {
        let whole: f64 = self.weights.iter().flatten().sum();
        let mut below = 0.0;
        for (log, weights) in self.logs.iter().zip(&self.weights) {
            let here: f64 = weights.iter().sum();
            if below + here >= quantile * whole {
                let step = self.logs[1] - self.logs[0];
                return (log + step * ((quantile * whole - below) / here - 0.5)).exp();
            }
            below += here;
        }
        LOCATION
    }
}

/// Windows that vary by half a per cent and by 2 %, and such that wander by 2 and 4 % as well.
const QUIET: Law = Law::new(0.005, 0.0);
const NOISY: Law = Law::new(0.02, 0.0);
const WANDERS: Law = Law::new(0.01, 0.02);
const WANDERS_FAR: Law = Law::new(0.01, 0.04);

#[test]
fn windows_at_the_reported_rate_meet_the_objective_and_the_interval_holds_when_capacity_wanders() {
    let seeds = count(8, 200);
    // The least share of windows that meet, and the least coverage of the 90 % interval.
    let laws =
        [(QUIET, 0.95, 0.9), (NOISY, 0.95, 0.9), (WANDERS, 0.93, 0.87), (WANDERS_FAR, 0.9, 0.87)];
    for (law, met_least, covered_least) in laws {
        let (now, was) = (searches(law, seeds), older(law, seeds));
        // Three standard deviations of the binomial distribution, of searches, below.
        let chance = |share: f64| 3.0 * (share * (1.0 - share) / seeds as f64).sqrt();
        let met = Searches::share(now.windows_met, now.windows);
        assert!(met >= met_least - chance(met_least) / 2.0, "{law:?}: {met}");
        let covered = Searches::share(now.covered, now.settled);
        assert!(covered >= covered_least - chance(covered_least), "{law:?}: {covered}");
        assert!(now.settled * 10 >= now.all * 9, "{law:?}: {now:?}");
        let older_met = Searches::share(was.windows_met, was.windows);
        assert!(older_met < 0.7, "{law:?}: half of the windows meet the older rate: {older_met}");
        if law.wander > 0.0 {
            let covered = Searches::share(was.covered_half, was.settled);
            assert!(covered < 0.9, "{law:?}: the older interval is not one of 90 %: {covered}");
        }
    }
}

#[test]
fn slower_and_quicker_wander_and_disturbed_windows_cost_what_the_documentation_says() {
    let seeds = count(4, 200);
    let of = |runs, disturbed| Law { runs, disturbed, ..WANDERS_FAR };
    // The interval is of the search: wander much slower than the search stays outside of it.
    for (law, met_least, covered_least) in
        [(of(3.0, 0.0), 0.93, 0.87), (of(30.0, 0.0), 0.8, 0.65), (of(10.0, 0.02), 0.88, 0.8)]
    {
        let now = searches(law, seeds);
        let chance = |share: f64| 3.0 * (share * (1.0 - share) / seeds as f64).sqrt();
        let met = Searches::share(now.windows_met, now.windows);
        assert!(met >= met_least - chance(met_least) / 2.0, "{law:?}: {met}");
        let covered = Searches::share(now.covered, now.settled);
        assert!(covered >= covered_least - chance(covered_least), "{law:?}: {covered}");
    }
}
