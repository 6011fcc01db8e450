//! Several nodes for each command: the slowest of the needed answers counts.

use std::collections::HashMap;

use super::{NetworkLink, NetworkTiming};
use crate::random::Random;
use crate::time::Time;
use crate::timing::{Command, Due, Kind, Ticket, Timing};
use assay_disk::BLOCK_BYTES;

/// The redundancy of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redundancy {
    /// Whole copies: one is read, all are written.
    Copies(u32),
    /// Pieces of data and parity (Reed and Solomon): a read needs as many pieces as there are data,
    /// a write goes to all.
    Erasure {
        /// Pieces that hold data (k).
        data: u32,
        /// Pieces that hold parity (m).
        parity: u32,
    },
}

impl Redundancy {
    /// Number of nodes, at least one.
    #[must_use]
    pub fn nodes(self) -> u32 {
        match self {
            Redundancy::Copies(copies) => copies.max(1),
            Redundancy::Erasure { data, parity } => data.max(1) + parity,
        }
    }

    /// Number of nodes that a read needs.
    #[must_use]
    pub fn nodes_of_read(self) -> u32 {
        match self {
            Redundancy::Copies(_) => 1,
            Redundancy::Erasure { data, .. } => data.max(1),
        }
    }

    /// Bytes that each node stores or sends of `bytes`: all, or a piece of whole blocks.
    #[must_use]
    pub fn bytes_of_node(self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.nodes_of_read())).next_multiple_of(BLOCK_BYTES)
    }

    /// Bytes stored for each byte of the host if it writes `bytes` at a time.
    #[must_use]
    pub fn stored_bytes_per_byte(self, bytes: u64) -> f64 {
        (self.bytes_of_node(bytes) * u64::from(self.nodes())) as f64 / bytes as f64
    }
}

/// Bytes of the address space with the same first node; objects of Ceph's block devices are 4 MiB.
const OBJECT_BYTES: u64 = 4 << 20;

/// Nodes with a link and a state each, behind a client that asks all needed ones at once.
///
/// Over a disk that has no parts, such as a drive, the nodes are [`Immediate`](crate::Immediate):
/// the time of the disk is then the same for every node, and their links are drawn separately.
#[derive(Debug)]
pub struct FanOut<T> {
    nodes: Vec<NetworkTiming<T>>,
    redundancy: Redundancy,
    /// The parts of commands that may still be put off.
    parts: HashMap<Ticket, Vec<(usize, Due)>>,
    next_ticket: u64,
}

impl<T: Timing> FanOut<T> {
    /// The nodes that `redundancy` takes, each made by `node` from its own seed.
    #[must_use]
    pub fn new(
        redundancy: Redundancy,
        link: NetworkLink,
        seed: u64,
        mut node: impl FnMut(u64) -> T,
    ) -> FanOut<T> {
        let mut seeds = Random::new(seed);
        let nodes = (0..redundancy.nodes())
            .map(|_| NetworkTiming::new(node(seeds.next()), link, seeds.next()))
            .collect();
        FanOut { nodes, redundancy, parts: HashMap::new(), next_ticket: 0 }
    }

    #[cfg(test)]
    pub(super) fn is_at_rest(&self) -> bool {
        self.parts.is_empty()
    }

    /// The nodes for a command.
    fn asked(&self, command: &Command) -> impl Iterator<Item = usize> + use<T> {
        let nodes = self.nodes.len();
        let first = (command.offset / OBJECT_BYTES % nodes as u64) as usize;
        let count = match command.kind {
            Kind::Read => self.redundancy.nodes_of_read() as usize,
            Kind::Write | Kind::Flush | Kind::Discard => nodes,
        };
        (first..first + count).map(move |node| node % nodes)
    }

    fn part(&self, command: &Command) -> Command {
        let pieces = u64::from(self.redundancy.nodes_of_read());
        let offset = command.offset / pieces / BLOCK_BYTES * BLOCK_BYTES;
        Command { offset, length: self.redundancy.bytes_of_node(command.length), ..*command }
    }
}

/// Whether a part is answered after `now`, as far as is known.
fn is_to_come(node: &mut impl Timing, part: &mut Due, now: Time) -> bool {
    while part.when() <= now {
        let told = part.when();
        node.settle(part);
        if part.when() <= told {
            return false;
        }
    }
    true
}

impl<T: Timing> Timing for FanOut<T> {
    fn begin(&mut self, _command: &Command, _due: &mut Due) {}

    fn end(&mut self, command: &Command, due: &mut Due) {
        // The disk below has done its work once, and would have taken as long on each node.
        let (below, resource) = (due.when() - command.arrival, due.resource());
        let piece = self.part(command);
        let mut movable = Vec::new();
        let mut last = Due::at(command.arrival);
        for node in self.asked(command) {
            let mut part = Due::at(command.arrival);
            self.nodes[node].begin(&piece, &mut part);
            part.spend(below, resource);
            self.nodes[node].end(&piece, &mut part);
            last.join(part);
            if part.ticket().is_some() {
                movable.push((node, part));
            }
        }
        *due = last;
        if !movable.is_empty() {
            let ticket = Ticket(self.next_ticket);
            self.next_ticket += 1;
            self.parts.insert(ticket, movable);
            due.set_ticket(Some(ticket));
        }
    }

    fn settle(&mut self, due: &mut Due) {
        let Some(ticket) = due.ticket() else { return };
        let Some(mut parts) = self.parts.remove(&ticket) else { return };
        parts.retain_mut(|(node, part)| is_to_come(&mut self.nodes[*node], part, due.when()));
        if parts.is_empty() {
            due.set_ticket(None);
        } else {
            parts.iter().for_each(|(_, part)| due.join(*part));
            self.parts.insert(ticket, parts);
        }
    }
}
