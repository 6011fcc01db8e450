//! Runs that take turns, second by second, on machines whose noise is known: the start as the unit
//! keeps its rates, blocks of turns as units do not, and both sides lose the noise that they share.

use assay_load::{SLICE_S, SLICES_BALANCED};
use assay_study::Design;
use assay_testing::simulations;

use super::weather::{WEATHERS, Weather, wandered};
use super::{at_look, planned, throughput};
use crate::difference::comparison::JudgedComparison;
use crate::difference::starts::{block_ratios, starts};
use crate::simulated::{key, throughput_alone};
use crate::statistics::simulated::Noise;
use crate::statistics::{mean, paired};
use crate::trial::measured::Measured;

/// The difference whose power is told, as a log ratio.
const EFFECT: f64 = 0.05;

/// Own seconds of a run.
const SECONDS: usize = 24;

/// Seconds from one load to the next that a rig and a server take.
const RIG_S: usize = 32;

/// Deviation of a server from start to start.
const START: f64 = 0.02;

/// Deviation of a second by itself.
const SECOND: f64 = 0.06;

/// A machine, second by second.
struct Clock<'a> {
    weather: Weather,
    noise: &'a mut Noise,
    /// A wandering level, as a multiple of its deviation.
    level: f64,
    burst_s: usize,
}

impl<'a> Clock<'a> {
    fn new(weather: Weather, noise: &'a mut Noise) -> Clock<'a> {
        let level = noise.normal();
        Clock { weather, noise, level, burst_s: 0 }
    }

    /// The level a second later.
    fn wander(&mut self, tau_s: f64) -> f64 {
        self.level = wandered(self.noise, self.level, 1.0 / tau_s);
        self.level
    }

    /// The next second's noise, as a logarithm, whoever has it.
    fn second(&mut self) -> f64 {
        match self.weather {
            Weather::Quiet => 0.0,
            Weather::Drifting => 0.04 * self.wander(300.0),
            Weather::Bursty => {
                if self.burst_s == 0 && self.noise.uniform() < 1.0 / 60.0 {
                    self.burst_s = 1 + (8.0 * self.noise.uniform()) as usize;
                }
                let is_burst = self.burst_s > 0;
                self.burst_s = self.burst_s.saturating_sub(1);
                if is_burst { -0.3 } else { 0.0 }
            }
            Weather::DayToDay => 0.02 * self.level,
            Weather::DemandFollowing => -0.05 * (0.7 * self.wander(20.0)).exp(),
        }
    }

    fn pass(&mut self, seconds: usize) {
        for _ in 0..seconds {
            self.second();
        }
    }

    /// The next seconds of a server with this logarithm of its level.
    fn load(&mut self, level: f64, seconds: usize) -> Vec<f64> {
        let one = |clock: &mut Clock<'_>| {
            let own = SECOND * clock.noise.normal();
            1000.0 * (level + clock.second() + own).exp()
        };
        (0..seconds).map(|_| one(self)).collect()
    }

    /// Runs one after the other.
    fn adjacent(&mut self, repeat: u32, levels: [f64; 2]) -> [Vec<f64>; 2] {
        let order = if repeat.is_multiple_of(2) { [1, 0] } else { [0, 1] };
        let mut runs = [Vec::new(), Vec::new()];
        for side in order {
            self.pass(RIG_S);
            let level = levels[side] + START * self.noise.normal();
            runs[side] = self.load(level, SECONDS);
        }
        runs
    }

    /// Runs in turns, in the order ABBA.
    fn in_turns(&mut self, repeat: u32, levels: [f64; 2]) -> [Vec<f64>; 2] {
        self.pass(2 * RIG_S);
        let levels = levels.map(|level| level + START * self.noise.normal());
        let first = usize::from(repeat.is_multiple_of(2));
        let mut runs = [Vec::new(), Vec::new()];
        for _ in 0..SECONDS / (SLICE_S * SLICES_BALANCED) as usize {
            for side in [first, 1 - first, 1 - first, first] {
                let turn = self.load(levels[side], SLICE_S as usize);
                runs[side].extend(turn);
            }
        }
        runs
    }
}

fn run(config: &str, repeat: u32, tps: Vec<f64>) -> Measured {
    Measured { tps: tps.clone(), ..throughput_alone(key(config, 8, repeat), mean(&tps)) }
}

/// Runs of a study of both configurations.
fn runs(clock: &mut Clock<'_>, design: Design, repeats: u32, effect: f64) -> Vec<Measured> {
    let of = |repeat: u32, clock: &mut Clock<'_>| {
        if clock.weather == Weather::DayToDay {
            clock.level = clock.noise.normal();
        }
        let [base, other] = match design {
            Design::Adjacent => clock.adjacent(repeat, [0.0, effect]),
            Design::Switchback => clock.in_turns(repeat, [0.0, effect]),
        };
        [run("base", repeat, base), run("other", repeat, other)]
    };
    (1..=repeats).flat_map(|repeat| of(repeat, clock)).collect()
}

/// A direction where nothing differs, an interval that holds the truth, and a direction where
/// something does, as shares of studies.
fn rates(weather: Weather, design: Design, repeats: u32, cases: u32) -> [f64; 3] {
    let mut noise = Noise::new(u64::from(repeats) * 41);
    let mut sums = [0_u32; 3];
    for _ in 0..cases {
        let mut clock = Clock::new(weather, &mut noise);
        let nothing = throughput(&runs(&mut clock, design, repeats, 0.0));
        let there = throughput(&runs(&mut clock, design, repeats, EFFECT));
        let (low, high) = there.difference.as_ref().unwrap().ratio_interval;
        sums[0] += u32::from(nothing.verdict.conclusion.has_direction());
        sums[1] += u32::from((low..=high).contains(&EFFECT.exp()));
        sums[2] += u32::from(there.verdict.conclusion.has_direction() && low > 1.0);
    }
    sums.map(|sum| f64::from(sum) / f64::from(cases))
}

#[test]
fn every_procedure_in_turns_keeps_its_rate_under_every_noise() {
    let cases = simulations(60, 2000);
    let error = (0.05 * 0.95 / f64::from(cases)).sqrt();
    for weather in WEATHERS {
        for repeats in [2, 3, 5, 8] {
            let shares = rates(weather, Design::Switchback, repeats, cases);
            let [.., beside] = rates(weather, Design::Adjacent, repeats, cases);
            let [type_1, coverage, power] = shares.map(|share| share * 100.0);
            println!(
                "| {} | in turns, {repeats} repeats | {type_1:.1} % | {coverage:.1} % | {power:.0} \
                 % of 5 %; one after the other {:.0} % | {repeats}.0 |",
                weather.name(),
                beside * 100.0
            );
            assert!(shares[0] <= 0.05 + 4.0 * error, "{weather:?}: {shares:?}");
            assert!(shares[1] >= 0.95 - 4.0 * error, "{weather:?}: {shares:?}");
        }
    }
}

/// Blocks of turns of one start share what the start has fixed.
#[test]
fn blocks_of_turns_taken_for_repeats_tell_false_directions() {
    let cases = simulations(200, 4000);
    let mut noise = Noise::new(5);
    let mut false_ones = [0_u32; 2];
    for _ in 0..cases {
        let mut clock = Clock::new(Weather::Drifting, &mut noise);
        let all = runs(&mut clock, Design::Switchback, 3, 0.0);
        let pairs = all.chunks_exact(2);
        let blocks: Vec<f64> =
            pairs.flat_map(|pair| block_ratios(&pair[0].tps, &pair[1].tps)).collect();
        let (low, high) = paired(&blocks).unwrap().interval(0.95);
        false_ones[0] += u32::from(low > 0.0 || high < 0.0);
        let by_starts: JudgedComparison = throughput(&all);
        false_ones[1] += u32::from(by_starts.verdict.conclusion.has_direction());
    }
    let [blocks, starts] = false_ones.map(|count| f64::from(count) / f64::from(cases));
    println!("false directions: blocks as units {blocks:.3}, starts {starts:.3}");
    assert!(blocks > 0.15, "{blocks}");
    assert!(starts < 0.05 + 4.0 * (0.05 * 0.95 / f64::from(cases)).sqrt(), "{starts}");
}

#[test]
fn turns_find_a_difference_in_more_studies_where_the_machine_is_unsteady() {
    for weather in [Weather::Bursty, Weather::DemandFollowing] {
        let power = |design| rates(weather, design, 5, simulations(100, 2000))[2];
        let (adjacent, turns) = (power(Design::Adjacent), power(Design::Switchback));
        println!("{}: one after the other {adjacent:.2}, in turns {turns:.2}", weather.name());
        assert!(turns > adjacent + 0.05, "{adjacent} {turns}");
    }
}

#[test]
fn the_noise_of_starts_and_of_turns_is_told_apart() {
    let mut noise = Noise::new(11);
    let mut of = |second_share: f64| {
        let mut clock = Clock::new(Weather::Quiet, &mut noise);
        let mut all = runs(&mut clock, Design::Switchback, 40, 0.0);
        for run in &mut all {
            let level = mean(&run.tps);
            run.tps.iter_mut().for_each(|tps| *tps = level * (*tps / level).powf(second_share));
        }
        let mut study = planned(&[], 40, 40);
        study.judging.design = Design::Switchback;
        assert!(at_look(&study, &all).difference.is_some());
        let found = starts(&study, &all);
        assert_eq!(found.len(), 1);
        found.into_iter().next().unwrap()
    };
    let calm = of(0.1);
    assert_eq!(calm.starts, 40);
    let expected = (2.0_f64).sqrt() * START;
    assert!((0.6..1.6).contains(&(calm.deviation / expected)), "{calm:?}");
    assert_eq!(calm.is_mostly_within(), Some(false), "{calm:?}");
    let loud = of(4.0);
    assert_eq!(loud.is_mostly_within(), Some(true), "{loud:?}");
}

#[test]
fn a_study_whose_runs_follow_each_other_has_no_starts() {
    let mut noise = Noise::new(1);
    let mut clock = Clock::new(Weather::Quiet, &mut noise);
    let all = runs(&mut clock, Design::Adjacent, 3, 0.0);
    assert_eq!(starts(&planned(&[], 3, 3), &all), []);
}
