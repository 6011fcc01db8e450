//! The runs that are left, start by start.
//!
//! Guarantees: the runs of a start are never apart; runs that are made again stay in their repeat,
//! which stays a block, next to those that they are compared with.

use std::collections::VecDeque;

use assay_plan::PlannedTrial;
use assay_study::TrialKey;

/// Runs that are made at once.
type Start<'a> = Vec<&'a PlannedTrial>;

/// Starts in running order.
#[derive(Debug)]
pub(super) struct Queue<'a>(VecDeque<Start<'a>>);

impl<'a> Queue<'a> {
    /// Runs in running order.
    pub(super) fn of(trials: &[&'a PlannedTrial]) -> Queue<'a> {
        Queue(starts_of(trials.iter().copied()).into())
    }

    /// Takes the next start.
    pub(super) fn next(&mut self) -> Option<Start<'a>> {
        self.0.pop_front()
    }

    /// Runs that wait.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Puts a start after the others of its repeat, and around it the runs that it is compared
    /// with, whether they had `ended` or still wait: a difference is of runs side by side.
    pub(super) fn put_back(
        &mut self,
        start: &[&'a PlannedTrial],
        ended: &[TrialKey],
        compared_with: &[&'a PlannedTrial],
    ) {
        let waits = |one: &PlannedTrial| self.0.iter().flatten().any(|other| other.key == one.key);
        let partners = compared_with.iter().filter(|one| ended.contains(&one.key) || waits(one));
        let mut whole: Vec<&PlannedTrial> = partners.chain(start).copied().collect();
        whole.sort_by_key(|one| one.position);
        whole.dedup_by_key(|one| one.position);
        let repeat = start.iter().map(|trial| trial.key.repeat).max();
        let is_left = |one: &&PlannedTrial| whole.iter().all(|other| other.key != one.key);
        let rest = self.0.drain(..).map(|one| one.into_iter().filter(is_left).collect::<Vec<_>>());
        let mut queue: VecDeque<Start<'a>> = rest.filter(|one| !one.is_empty()).collect();
        let is_of_repeat =
            |one: &Start<'a>| one.iter().any(|other| Some(other.key.repeat) == repeat);
        let place = queue.iter().rposition(is_of_repeat).map_or(0, |last| last + 1);
        for (place, one) in (place..).zip(starts_of(whole.into_iter())) {
            queue.insert(place, one);
        }
        self.0 = queue;
    }
}

/// Runs in running order, start by start.
fn starts_of<'a>(trials: impl Iterator<Item = &'a PlannedTrial>) -> Vec<Start<'a>> {
    let mut starts: Vec<Start<'a>> = Vec::new();
    for trial in trials {
        match starts.last_mut().filter(|start| start.iter().any(|one| one.start == trial.start)) {
            Some(start) => start.push(trial),
            None => starts.push(vec![trial]),
        }
    }
    starts
}
