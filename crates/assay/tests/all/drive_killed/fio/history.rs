//! Commands of a drive with their acknowledgements, and the check of its contents after a crash:
//! the prefix contract.
//!
//! Each lane is a range of blocks with one writer, so its commands are ordered. Across lanes, a
//! command precedes another if it was acknowledged before the other was issued, by a clock that all
//! lanes share.

use std::collections::HashSet;
use std::ops::Range;

use super::blocks::{NOBODY, Writer};

/// Ticks of the clock that all lanes share.
pub type Tick = u64;

/// A write, or a discard, whose blocks have [`NOBODY`] as their writer.
#[derive(Debug, Clone)]
pub struct Command {
    /// Number of the command, and of its blocks' writer unless it is a discard.
    pub number: u64,
    /// Blocks relative to the lane's first.
    pub blocks: Range<usize>,
    pub takes_back: bool,
    /// Whether it must be on stable media once acknowledged, with everything acknowledged before
    /// its issue.
    pub durable: bool,
    pub issued: Tick,
    /// Tick of its acknowledgement; `None` if it failed or got no answer.
    pub answered: Option<Tick>,
}

/// A writer's range of blocks.
#[derive(Debug, Clone)]
pub struct Lane {
    /// First block on the drive.
    pub first: u64,
    /// Writer of each block at the history's beginning.
    pub base: Vec<Writer>,
    /// Commands in order of issue; only the last can be without an answer.
    pub commands: Vec<Command>,
    /// Tick at which the last successful flush was issued.
    pub flushed: Tick,
}

/// A violation of the prefix contract.
#[derive(Debug, PartialEq, Eq)]
pub enum Breach {
    /// A command that was acknowledged before a completed flush is missing.
    Lost(String),
    /// The contents are the state after no number of whole commands.
    Torn(String),
    /// A command is present, and one that was acknowledged before its issue is missing.
    OutOfOrder(String),
}

impl Lane {
    pub fn new(first: u64, blocks: usize) -> Lane {
        Lane { first, base: vec![NOBODY; blocks], commands: Vec::new(), flushed: 0 }
    }

    /// Number of commands that must have survived.
    fn guaranteed(&self, flushed: Tick) -> usize {
        let is_guaranteed = |command: &Command| {
            command.answered.is_some_and(|answered| answered < flushed || command.durable)
        };
        self.commands.iter().rposition(is_guaranteed).map_or(0, |last| last + 1)
    }

    /// Smallest and largest number of commands whose state equals `found`.
    fn survivors(&self, found: &[Writer], guaranteed: usize) -> Result<(usize, usize), Breach> {
        let mut state = self.base.clone();
        let mut wrong: HashSet<usize> = differing(&state, found).collect();
        let mut fitting = Vec::new();
        let mut nearest = (wrong.len(), 0);
        for done in 0..=self.commands.len() {
            if wrong.is_empty() {
                fitting.push(done);
            } else if done >= guaranteed && wrong.len() <= nearest.0 {
                nearest = (wrong.len(), done);
            }
            let Some(next) = self.commands.get(done) else { break };
            for block in next.blocks.clone() {
                state[block] = next.writer();
                match state[block] == found[block] {
                    true => wrong.remove(&block),
                    false => wrong.insert(block),
                };
            }
        }
        let kept: Vec<usize> = fitting.iter().copied().filter(|done| *done >= guaranteed).collect();
        match (kept.first(), kept.last(), fitting.last()) {
            (Some(least), Some(most), _) => Ok((*least, *most)),
            (_, _, Some(done)) => Err(Breach::Lost(format!(
                "the lane at block {} is as after {done} commands, but {guaranteed} were flushed",
                self.first
            ))),
            _ => Err(Breach::Torn(self.describe(found, nearest.1))),
        }
    }

    /// Differences from the state after `done` commands.
    fn describe(&self, found: &[Writer], done: usize) -> String {
        let state = self.state_after(done);
        let some: Vec<String> = differing(&state, found)
            .take(4)
            .map(|block| format!("block {block} is of {}, not of {}", found[block], state[block]))
            .collect();
        let last: Vec<&Command> = self.commands[..done].iter().rev().take(2).collect();
        format!(
            "the lane at block {} fits no number of commands; after {done} of {} {}; the last were \
             {last:?}",
            self.first,
            self.commands.len(),
            some.join(", ")
        )
    }

    fn state_after(&self, done: usize) -> Vec<Writer> {
        let mut state = self.base.clone();
        for command in &self.commands[..done] {
            state[command.blocks.clone()].fill(command.writer());
        }
        state
    }

    /// Begins a new history with the contents `found`.
    pub fn go_on(&mut self, found: Vec<Writer>) {
        self.base = found;
        self.commands.clear();
    }
}

impl Command {
    pub fn writer(&self) -> Writer {
        if self.takes_back { NOBODY } else { self.number }
    }
}

fn differing<'a>(state: &'a [Writer], found: &'a [Writer]) -> impl Iterator<Item = usize> + 'a {
    (0..state.len()).filter(|&block| state[block] != found[block])
}

/// Checks the contents of all lanes. Returns how many acknowledged commands were lost, as the
/// contract permits.
///
/// # Errors
/// The first violation.
pub fn check(lanes: &[Lane], found: &[Vec<Writer>]) -> Result<usize, Breach> {
    let flushed = lanes.iter().map(|lane| lane.flushed).max().unwrap_or(0);
    let mut survivors = Vec::new();
    for (lane, found) in lanes.iter().zip(found) {
        survivors.push(lane.survivors(found, lane.guaranteed(flushed))?);
    }
    // The latest command that is certainly present: everything acknowledged before its issue must
    // be, too.
    let newest = lanes.iter().zip(&survivors).filter_map(|(lane, (least, _))| {
        lane.commands[..*least].last().map(|command| (command.issued, command.number))
    });
    let (issued, number) = newest.max().unwrap_or_default();
    let mut lost = 0;
    for (lane, (_, most)) in lanes.iter().zip(&survivors) {
        let gone = &lane.commands[*most..];
        lost += gone.iter().filter(|command| command.answered.is_some()).count();
        if let Some(early) = gone.first().filter(|c| c.answered.is_some_and(|at| at < issued)) {
            return Err(Breach::OutOfOrder(format!(
                "command {number} is there, but not {}, answered before its issue",
                early.number
            )));
        }
    }
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(number: u64, blocks: Range<usize>, issued: Tick) -> Command {
        let answered = Some(issued + 1);
        Command { number, blocks, takes_back: false, durable: false, issued, answered }
    }

    /// Two lanes of four blocks, with two commands each, the first of each flushed.
    fn lanes() -> [Lane; 2] {
        let mut lanes = [Lane::new(0, 4), Lane::new(4, 4)];
        lanes[0].commands = vec![command(1, 0..2, 10), command(2, 1..4, 30)];
        lanes[1].commands = vec![command(3, 0..4, 12), command(4, 0..1, 40)];
        lanes[0].flushed = 20;
        lanes
    }

    fn verdict(first: [Writer; 4], second: [Writer; 4]) -> Result<usize, Breach> {
        check(&lanes(), &[first.into(), second.into()])
    }

    #[test]
    fn each_prefix_behind_the_flush_is_allowed() {
        assert_eq!(verdict([1, 1, 0, 0], [3; 4]), Ok(2));
        assert_eq!(verdict([1, 2, 2, 2], [3; 4]), Ok(1));
        assert_eq!(verdict([1, 2, 2, 2], [4, 3, 3, 3]), Ok(0));
    }

    #[test]
    fn what_was_flushed_and_is_gone_is_noticed() {
        assert!(matches!(verdict([0; 4], [3; 4]), Err(Breach::Lost(_))));
        let mut lanes = lanes();
        lanes[1].commands[1].durable = true;
        let found = [vec![1, 1, 0, 0], vec![3; 4]];
        assert!(matches!(check(&lanes, &found), Err(Breach::Lost(_))));
    }

    #[test]
    fn half_a_command_is_noticed() {
        assert!(matches!(verdict([1, 2, 2, 0], [3; 4]), Err(Breach::Torn(_))));
        assert!(matches!(verdict([1, 1, 0, 9], [3; 4]), Err(Breach::Torn(_))));
    }

    #[test]
    fn a_later_command_without_an_earlier_one_is_noticed() {
        assert!(matches!(verdict([1, 1, 0, 0], [4, 3, 3, 3]), Err(Breach::OutOfOrder(_))));
    }

    #[test]
    fn what_was_taken_back_is_nobodys() {
        let mut lane = Lane::new(0, 4);
        lane.commands = vec![command(1, 0..4, 1), command(2, 1..3, 3)];
        lane.commands[1].takes_back = true;
        assert_eq!(check(&[lane.clone()], &[vec![1, 0, 0, 1]]), Ok(0));
        assert!(matches!(check(&[lane], &[vec![1, 0, 1, 1]]), Err(Breach::Torn(_))));
    }
}
