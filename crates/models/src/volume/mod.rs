//! A cloud volume: limits of operations and bytes a second, credit for bursts, and a latency with a
//! tail.
//!
//! A read or a write counts as one operation for each [`VolumeLimits::bytes_per_operation`] or part
//! of it and waits for its turn in order of arrival; then it takes its latency. Discards are free
//! and do not wait. A flush takes [`VolumeLimits::flush_latency`], because several machines store
//! an answered write already.

pub use super::random::LatencyModel;

use super::meter::Meter;
use super::random::Random;
use super::time::{Rate, Time};
use super::timing::{Command, Due, Kind, Resource, Timing};

/// A limit of operations or bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Rate in the long run, per second.
    pub per_s: Rate,
    /// Most credit, in the same unit, that a rest saves up for bursts beyond the long run's rate;
    /// full at first. AWS gives its gp2 volumes 5.4 million operations ("Amazon EBS volume types").
    pub credit: f64,
    /// Rate per second while there is credit; `None`: limited by the credit alone.
    pub peak_per_s: Option<Rate>,
}

impl Allowance {
    /// A rate with no credit beyond `rest` of it. Without any, a command whose thread is woken late
    /// would be lost to the rate; 10 ms make up for that.
    #[must_use]
    pub fn steady(per_s: Rate, rest: Time) -> Allowance {
        Allowance { per_s, credit: per_s.0 * rest.as_s(), peak_per_s: None }
    }

    /// Duration of the peak from full credit, in seconds: credit / (peak − rate).
    #[must_use]
    pub fn peak_s(&self) -> f64 {
        self.peak_per_s.map_or(0.0, |peak| self.credit / (peak.0 - self.per_s.0))
    }
}

/// Limits and latencies of a volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VolumeLimits {
    /// Operations, reads and writes together.
    pub operations: Allowance,
    /// Bytes, reads and writes together.
    pub bytes: Allowance,
    /// Most bytes that count as one operation. AWS counts 256 KiB for its SSD volumes ("Amazon EBS
    /// I/O characteristics and monitoring").
    pub bytes_per_operation: u64,
    /// Length of a rest for which the peaks make up, see [`Allowance::steady`].
    pub rest: Time,
    /// Latency of a read in addition to its turn.
    pub read_latency: LatencyModel,
    /// Latency of a write in addition to its turn.
    pub write_latency: LatencyModel,
    /// Latency of a flush.
    pub flush_latency: Time,
}

impl VolumeLimits {
    /// Limits without latency, from [`Allowance::steady`] for operations and bytes.
    #[must_use]
    pub fn only(operations_per_s: Rate, bytes_per_s: Rate, rest: Time) -> VolumeLimits {
        VolumeLimits {
            operations: Allowance::steady(operations_per_s, rest),
            bytes: Allowance::steady(bytes_per_s, rest),
            bytes_per_operation: 256 << 10,
            rest,
            read_latency: LatencyModel::Fixed(Time::ZERO),
            write_latency: LatencyModel::Fixed(Time::ZERO),
            flush_latency: Time::ZERO,
        }
    }

    /// Operations for which a command of `bytes` counts.
    #[must_use]
    pub fn operations_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.bytes_per_operation.max(1)).max(1)
    }

    /// Commands of `bytes` a second in the long run, at any depth: the least of what operations and
    /// bytes allow.
    #[must_use]
    pub fn commands_per_s(&self, bytes: u64) -> f64 {
        let by_operations = self.operations.per_s.0 / self.operations_of(bytes) as f64;
        by_operations.min(self.bytes.per_s.0 / bytes as f64)
    }
}

/// The state of a volume.
#[derive(Debug, Clone)]
pub struct VolumeTiming {
    limits: VolumeLimits,
    meters: Vec<(Resource, Meter)>,
    random: Random,
}

/// The long run and the peak of an allowance.
fn meters(allowance: &Allowance, rest: Time) -> impl Iterator<Item = Meter> {
    let burst = Time::from_s(allowance.credit / allowance.per_s.0);
    let peak = allowance.peak_per_s.map(|rate| Meter::new(rate, rest));
    std::iter::once(Meter::new(allowance.per_s, burst)).chain(peak)
}

impl VolumeTiming {
    /// A rested volume; `seed` is for its tail.
    #[must_use]
    pub fn new(limits: VolumeLimits, seed: u64) -> VolumeTiming {
        let of = |resource, allowance| {
            meters(allowance, limits.rest).map(move |meter| (resource, meter))
        };
        let operations = of(Resource::Operations, &limits.operations);
        let meters = operations.chain(of(Resource::Bytes, &limits.bytes)).collect();
        VolumeTiming { meters, random: Random::new(seed), limits }
    }

    /// Lets a command pass when every meter allows it; no meter counts it before.
    fn take_turn(&mut self, bytes: u64, due: &mut Due) {
        let now = due.when();
        let turns = self.meters.iter().map(|(resource, meter)| (meter.turn(now), *resource));
        if let Some((turn, resource)) = turns.max_by_key(|(turn, _)| *turn) {
            due.wait(turn, resource);
        }
        for (resource, meter) in &mut self.meters {
            let is_bytes = *resource == Resource::Bytes;
            let amount = if is_bytes { bytes } else { self.limits.operations_of(bytes) };
            meter.pay(due.when(), amount);
        }
    }
}

impl Timing for VolumeTiming {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        let latency = match command.kind {
            Kind::Read => self.limits.read_latency,
            Kind::Write => self.limits.write_latency,
            Kind::Flush => LatencyModel::Fixed(self.limits.flush_latency),
            Kind::Discard => return,
        };
        if command.kind != Kind::Flush {
            self.take_turn(command.length, due);
        }
        due.spend(latency.draw(&mut self.random), Resource::Network);
    }

    fn end(&mut self, _command: &Command, _due: &mut Due) {}
}

#[cfg(test)]
mod tests;
