//! Noise of the machines on which invented studies are made, run by run.

use crate::statistics::simulated::Noise;

/// Seconds from the beginning of a run to that of the next.
const RUN_S: f64 = 66.0;

/// Noise of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Weather {
    /// Runs vary independently.
    Quiet,
    /// A level that wanders with a time constant of five minutes.
    Drifting,
    /// One run in ten loses a tenth.
    Bursty,
    /// Each repeat is made on another day, which changes the level of both sides by 2 %.
    DayToDay,
    /// A hypervisor takes a share of the CPU time that is wanted: the other configuration wants
    /// twice as much, and loses as much of its throughput by the same share.
    DemandFollowing,
}

pub(super) const WEATHERS: [Weather; 5] = [
    Weather::Quiet,
    Weather::Drifting,
    Weather::Bursty,
    Weather::DayToDay,
    Weather::DemandFollowing,
];

impl Weather {
    pub(super) fn name(self) -> &'static str {
        match self {
            Weather::Quiet => "quiet",
            Weather::Drifting => "drifting",
            Weather::Bursty => "bursty",
            Weather::DayToDay => "day-to-day",
            Weather::DemandFollowing => "demand-following",
        }
    }
}

/// A level that wanders, after so many time constants (Ornstein and Uhlenbeck's process), as a
/// multiple of its deviation.
pub(super) fn wandered(noise: &mut Noise, level: f64, constants: f64) -> f64 {
    let kept = (-constants).exp();
    kept * level + (1.0 - kept * kept).sqrt() * noise.normal()
}

/// A machine on which runs are made one after the other.
pub(super) struct Machine<'a> {
    weather: Weather,
    noise: &'a mut Noise,
    /// The wandering level, as a multiple of its deviation.
    level: f64,
}

impl Machine<'_> {
    pub(super) fn new(weather: Weather, noise: &mut Noise) -> Machine<'_> {
        let level = noise.normal();
        Machine { weather, noise, level }
    }

    /// Begins a repeat, which day-to-day noise has on another day.
    pub(super) fn begin_repeat(&mut self) {
        if self.weather == Weather::DayToDay {
            self.level = self.noise.normal();
        }
    }

    /// An order of so many runs by chance.
    pub(super) fn order(&mut self, runs: usize) -> Vec<usize> {
        let mut drawn: Vec<(f64, usize)> =
            (0..runs).map(|run| (self.noise.uniform(), run)).collect();
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0));
        drawn.into_iter().map(|one| one.1).collect()
    }

    /// The noise of the next run, as a logarithm.
    pub(super) fn run(&mut self) -> f64 {
        let own = self.noise.normal();
        match self.weather {
            Weather::Quiet => 0.035 * own,
            Weather::Drifting => {
                self.level = wandered(self.noise, self.level, RUN_S / 300.0);
                0.04 * self.level + 0.025 * own
            }
            Weather::Bursty => {
                let burst = if self.noise.uniform() < 0.1 { -0.1 } else { 0.0 };
                burst + 0.025 * own
            }
            Weather::DayToDay => 0.02 * self.level + 0.025 * own,
            Weather::DemandFollowing => {
                let share = 0.05 * (0.7 * self.noise.normal()).exp();
                -share + 0.025 * own
            }
        }
    }
}
