//! One disk of an array: its queue, its part of the cache, and the choice between them.

use super::arm::{Arm, Piece, Platter, Service, Turning};
use super::dirty::{Dirty, Run};
use crate::time::Time;

/// The order in which a disk serves its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// In order of arrival.
    Arrival,
    /// In the order in which the arm meets them on its way over the disk, then again from the first
    /// (C-LOOK): the elevator.
    #[default]
    Elevator,
    /// Shortest positioning time first, as in disks that know their rotational position.
    Nearest,
}

/// Rules of a disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) platter: Platter,
    pub(super) order: Order,
    /// Time after which a request goes before all others.
    pub(super) patience: Time,
}

/// Requests that wait for the cache to be written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wanted {
    /// Whether any request waits: writing out then alternates with the queue.
    pub(super) is_wanted: bool,
    /// Data written by then go first, because a flush waits for them.
    pub(super) written_by: Option<Time>,
}

/// The next work of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Serve(Piece),
    Destage(Run),
}

/// One step of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) work: Work,
    pub(super) service: Service,
}

/// A disk's arm and queue, present or future.
#[derive(Debug, Clone)]
struct Course {
    arm: Arm,
    /// In order of arrival.
    queue: Vec<Piece>,
    /// Place at which writing out continues: a sweep of its own.
    sweep: u64,
    has_destaged: bool,
    /// Runs that have been written out ahead of time.
    destaged_runs: usize,
}

impl Course {
    fn enqueue(&mut self, piece: Piece) {
        let index = self.queue.partition_point(|before| before.ready <= piece.ready);
        self.queue.insert(index, piece);
    }

    /// The next step that begins before `before`.
    fn step(&mut self, rules: &Rules, dirty: &Dirty, before: Time, wanted: Wanted) -> Option<Step> {
        let first = self.queue.first();
        let serve_at = first.map_or(Time::MAX, |piece| piece.ready.max(self.arm.free));
        let run = self.next_run(dirty, wanted);
        let destage_at = run.map_or(Time::MAX, |run| self.destage_at(rules, &run, wanted));
        let from = serve_at.min(destage_at);
        if from >= before {
            return None;
        }
        let its_turn = destage_at < serve_at || (destage_at == serve_at && !self.has_destaged);
        match run {
            Some(run) if its_turn => Some(self.destage(rules, run, from)),
            _ => self.serve(rules, from),
        }
    }

    fn next_run(&self, dirty: &Dirty, wanted: Wanted) -> Option<Run> {
        let is_left = self.destaged_runs < dirty.runs();
        is_left.then(|| dirty.next(self.sweep, wanted.written_by)).flatten()
    }

    /// Beginning of writing a run out: if no request waits for it, after the disk was idle for a
    /// revolution.
    fn destage_at(&self, rules: &Rules, run: &Run, wanted: Wanted) -> Time {
        let is_patient = !wanted.is_wanted && !self.has_destaged;
        let rest = if is_patient { rules.platter.geometry.rotation_time } else { Time::ZERO };
        run.since.max(self.arm.free + rest)
    }

    fn destage(&mut self, rules: &Rules, run: Run, from: Time) -> Step {
        let Run { place, length, .. } = run;
        let piece = Piece { request: u64::MAX, place, length, is_write: true, ready: from };
        self.sweep = place + length;
        self.has_destaged = true;
        self.destaged_runs += 1;
        Step { work: Work::Destage(run), service: self.arm.serve(&rules.platter, &piece, from) }
    }

    fn serve(&mut self, rules: &Rules, from: Time) -> Option<Step> {
        let index = self.choose(rules, from)?;
        let piece = self.queue.remove(index);
        self.has_destaged = false;
        Some(Step {
            work: Work::Serve(piece),
            service: self.arm.serve(&rules.platter, &piece, from),
        })
    }

    /// The request to which the arm turns at `at`.
    fn choose(&self, rules: &Rules, at: Time) -> Option<usize> {
        let first = self.queue.first()?;
        if rules.order == Order::Arrival || at - first.ready >= rules.patience {
            return Some(0);
        }
        let has_come = |(_, piece): &(usize, &Piece)| piece.ready <= at;
        let waiting = self.queue.iter().enumerate().take_while(has_come);
        let chosen = match rules.order {
            Order::Nearest => {
                waiting.min_by_key(|(_, piece)| self.arm.service(&rules.platter, piece, at).done())
            }
            _ => waiting.min_by_key(|(_, piece)| piece.place.wrapping_sub(self.arm.place)),
        };
        chosen.map(|(index, _)| index)
    }
}

/// One disk.
#[derive(Debug, Clone)]
pub(super) struct Spindle {
    course: Course,
    dirty: Dirty,
}

impl Spindle {
    pub(super) fn new(turning: Turning) -> Spindle {
        let course = Course {
            arm: Arm::new(turning),
            queue: Vec::new(),
            sweep: 0,
            has_destaged: false,
            destaged_runs: 0,
        };
        Spindle { course, dirty: Dirty::default() }
    }

    pub(super) fn dirty(&self) -> &Dirty {
        &self.dirty
    }

    /// Adds a write to the cache.
    pub(super) fn cache(&mut self, place: u64, length: u64, now: Time) {
        self.dirty.insert(place, length, now);
    }

    pub(super) fn enqueue(&mut self, piece: Piece) {
        self.course.enqueue(piece);
    }

    /// Whether a piece of `request` waits here.
    pub(super) fn has(&self, request: u64) -> bool {
        self.course.queue.iter().any(|piece| piece.request == request)
    }

    /// Does the next step, if that begins before `before`.
    pub(super) fn step(&mut self, rules: &Rules, before: Time, wanted: Wanted) -> Option<Step> {
        let step = self.course.step(rules, &self.dirty, before, wanted)?;
        self.course.destaged_runs = 0;
        if let Work::Destage(run) = &step.work {
            self.dirty.remove(run);
        }
        Some(step)
    }

    /// Future steps if no more commands come.
    pub(super) fn ahead(&self, rules: &Rules, wanted: Wanted) -> impl Iterator<Item = Step> {
        self.steps(self.course.clone(), rules, wanted)
    }

    fn steps(
        &self,
        mut course: Course,
        rules: &Rules,
        wanted: Wanted,
    ) -> impl Iterator<Item = Step> {
        std::iter::from_fn(move || course.step(rules, &self.dirty, Time::MAX, wanted))
    }

    /// The service of a piece if no more commands come.
    pub(super) fn service_of(
        &self,
        rules: &Rules,
        wanted: Wanted,
        request: u64,
    ) -> Option<(Piece, Service)> {
        self.ahead(rules, wanted).find_map(|step| serves(&step, request))
    }

    /// End of a piece if it came now.
    pub(super) fn would_be_done(&self, rules: &Rules, wanted: Wanted, piece: Piece) -> Time {
        let mut course = self.course.clone();
        course.enqueue(piece);
        let mut steps = self.steps(course, rules, wanted);
        let service = steps.find_map(|step| serves(&step, piece.request));
        service.map_or(Time::MAX, |(_, service)| service.done())
    }
}

fn serves(step: &Step, request: u64) -> Option<(Piece, Service)> {
    match step.work {
        Work::Serve(piece) if piece.request == request => Some((piece, step.service)),
        _ => None,
    }
}
