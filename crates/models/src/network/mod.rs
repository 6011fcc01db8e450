//! A network between a host and its storage, with one node or several.
//!
//! [`NetworkTiming`] adds a round trip and a bandwidth to the timing behind it. [`FanOut`] has
//! several nodes, each with a link and a state of its own, and stores data redundantly: as whole
//! copies, or as pieces and their parity.

mod fan_out;

pub use super::random::LatencyModel;
pub use fan_out::{FanOut, Redundancy};

use super::meter::Wire;
use super::random::Random;
use super::time::{Rate, Time};
use super::timing::{Command, Due, Kind, Resource, Timing};

/// A link between a host and a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkLink {
    /// Time from request to answer if the node takes no time and the command carries no data. Half
    /// of it each way, each half drawn separately.
    pub round_trip: LatencyModel,
    /// Bandwidth towards the node, in bytes a second.
    pub to_node_bytes_per_s: Rate,
    /// Bandwidth back, in bytes a second.
    pub from_node_bytes_per_s: Rate,
}

impl NetworkLink {
    /// Mean time that the idle link adds to a command of `bytes`.
    #[must_use]
    pub fn added(&self, kind: Kind, bytes: u64) -> Time {
        let rate = match kind {
            Kind::Read => self.from_node_bytes_per_s,
            _ => self.to_node_bytes_per_s,
        };
        self.round_trip.mean() + rate.time_for(payload(kind, bytes))
    }
}

/// Bytes on the wire. A discard names its blocks and carries none.
fn payload(kind: Kind, bytes: u64) -> u64 {
    if matches!(kind, Kind::Read | Kind::Write) { bytes } else { 0 }
}

/// A device behind a link.
#[derive(Debug, Clone)]
pub struct NetworkTiming<T> {
    node: T,
    round_trip: LatencyModel,
    to_node: Wire,
    from_node: Wire,
    random: Random,
}

impl<T> NetworkTiming<T> {
    /// `node` behind `link`; `seed` is for the spread of the round trip.
    #[must_use]
    pub fn new(node: T, link: NetworkLink, seed: u64) -> NetworkTiming<T> {
        NetworkTiming {
            node,
            round_trip: link.round_trip,
            to_node: Wire::new(link.to_node_bytes_per_s),
            from_node: Wire::new(link.from_node_bytes_per_s),
            random: Random::new(seed),
        }
    }

    fn half_a_round_trip(&mut self) -> Time {
        self.round_trip.draw(&mut self.random).scaled(1, 2)
    }
}

impl<T: Timing> Timing for NetworkTiming<T> {
    fn begin(&mut self, command: &Command, due: &mut Due) {
        if command.kind == Kind::Write {
            self.to_node.pass(command.length, command.arrival, due, Resource::Network);
        }
        due.spend(self.half_a_round_trip(), Resource::Network);
        self.node.begin(command, due);
    }

    fn end(&mut self, command: &Command, due: &mut Due) {
        self.node.end(command, due);
        if command.kind == Kind::Read {
            self.from_node.pass(command.length, command.arrival, due, Resource::Network);
        }
        due.spend(self.half_a_round_trip(), Resource::Network);
    }

    /// Settles the node's answer. An answer that is put off there does not compete for the link
    /// again.
    fn settle(&mut self, due: &mut Due) {
        self.node.settle(due);
    }
}

#[cfg(test)]
mod tests;
