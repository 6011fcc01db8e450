//! Rotating disks: one, or many as RAID 0 or RAID 10, with or without a write cache.
//!
//! The state of a disk is the place of its arm, the phase of its platter, and a queue that it
//! serves in the order of its elevator. The answer time of a command assumes that no more commands
//! come. Later ones may be put before it, and delay its answer: see [`Timing::settle`]. Work that a
//! disk has begun is never taken back. In any order, no command waits for ever: one that has waited
//! for longer than [`ArrayGeometry::patience`] is next, the oldest first.
//!
//! A mirrored read goes to the side that is ready sooner, a write to both. A cache answers a write
//! once it has room for it. It is written out in sweeps over the disk: while a disk is idle, and
//! alternately with its queue while a command waits for room or for a flush.

mod arm;
mod array;
mod dirty;
pub mod figures;
mod layout;
mod requests;
mod seek;
mod spindle;

pub use arm::SpindleGeometry;
pub use array::{ArrayGeometry, ImpossibleArray};
pub use seek::{ImpossibleSeek, SeekTimes};
pub use spindle::Order;

use self::arm::{Piece, Platter, Turning};
use self::layout::Part;
use self::requests::{Answer, Requests, Until};
use self::spindle::{Rules, Spindle, Step, Wanted, Work};
use super::meter::Wire;
use super::random::Random;
use super::time::Time;
use super::timing::{Command, Due, Kind, Resource, Ticket, Timing};
use crate::inside::WriteCache;

/// Difference between the slowest and the fastest motor, in millionths. Not published for these
/// disks; it only determines how soon two platters have met in every position, some seconds.
const MOTORS_DIFFER_PPM: u64 = 1000;

/// The state of an array.
#[derive(Debug, Clone)]
pub struct Rotating {
    array: ArrayGeometry,
    rules: Rules,
    spindles: Vec<Spindle>,
    link_in: Wire,
    link_out: Wire,
    requests: Requests,
    /// Bytes written out of the cache so far, counting each copy.
    destaged_bytes: u64,
}

impl Rotating {
    /// An idle array; `seed` draws the phases of its platters.
    ///
    /// # Errors
    /// [`ImpossibleArray`].
    pub fn new(array: ArrayGeometry, seed: u64) -> Result<Rotating, ImpossibleArray> {
        array.check()?;
        let platter = Platter::new(array.spindle)?;
        let mut random = Random::new(seed);
        let mut turning = || Turning {
            phase: array.spindle.rotation_time.scaled(random.next() % 1000, 1000),
            ahead_ppm: random.next() % MOTORS_DIFFER_PPM,
        };
        Ok(Rotating {
            rules: Rules { platter, order: array.order, patience: array.patience },
            spindles: (0..array.spindles).map(|_| Spindle::new(turning())).collect(),
            link_in: Wire::new(array.link_bytes_per_s),
            link_out: Wire::new(array.link_bytes_per_s),
            requests: Requests::default(),
            destaged_bytes: 0,
            array,
        })
    }

    fn parts(&self, command: &Command) -> impl Iterator<Item = Part> + use<> {
        let (chunk_bytes, sides) = (self.array.chunk_bytes, self.array.sides());
        layout::parts(chunk_bytes, sides, command.offset, command.length)
    }

    /// The disks of a side.
    fn disks(&self, side: u64) -> std::ops::Range<usize> {
        let copies = self.array.copies();
        (side * copies) as usize..((side + 1) * copies) as usize
    }

    fn read(&mut self, command: &Command, due: &mut Due) {
        if self.parts(command).all(|part| self.is_cached(&part)) {
            self.link_out.pass(command.length, command.arrival, due, Resource::Link);
            return;
        }
        let request = self.requests.open(command.length);
        for part in self.parts(command) {
            let piece = piece(request, &part, false, due.when());
            let disk = self.soonest(part.side, piece);
            self.enqueue(disk, piece);
        }
        self.tell(request, due);
    }

    fn is_cached(&self, part: &Part) -> bool {
        self.spindles[self.disks(part.side)]
            .iter()
            .any(|disk| disk.dirty().covers(part.place, part.length))
    }

    /// The side of a mirror that would be done first with a piece.
    fn soonest(&self, side: u64, piece: Piece) -> usize {
        let (disks, wanted) = (self.disks(side), self.requests.wanted());
        let rules = &self.rules;
        let first = disks.start;
        let done = self.spindles[disks].iter().map(|disk| disk.would_be_done(rules, wanted, piece));
        done.enumerate().min_by_key(|(_, done)| *done).map_or(first, |(index, _)| first + index)
    }

    fn enqueue(&mut self, disk: usize, piece: Piece) {
        self.spindles[disk].enqueue(piece);
        self.requests.add_piece(piece.request);
    }

    fn write(&mut self, command: &Command, due: &mut Due) {
        if self.array.caches_writes() && !(command.force_unit_access && self.is_volatile()) {
            self.write_to_cache(command, due);
            return;
        }
        let request = self.requests.open(0);
        for part in self.parts(command) {
            for disk in self.disks(part.side) {
                self.enqueue(disk, piece(request, &part, true, due.when()));
            }
        }
        self.tell(request, due);
    }

    fn write_to_cache(&mut self, command: &Command, due: &mut Due) {
        for part in self.parts(command) {
            for disk in self.disks(part.side) {
                self.spindles[disk].cache(part.place, part.length, due.when());
            }
        }
        let excess =
            self.dirty_bytes().saturating_sub(self.array.cache_bytes * self.array.copies());
        if excess > 0 {
            let request = self.requests.wait(Until::Destaged(self.destaged_bytes + excess));
            self.tell(request, due);
        }
    }

    fn is_volatile(&self) -> bool {
        self.array.cache == WriteCache::Volatile
    }

    fn dirty_bytes(&self) -> u64 {
        self.spindles.iter().map(|disk| disk.dirty().bytes()).sum()
    }

    fn flush(&mut self, due: &mut Due) {
        if self.is_volatile() && self.dirty_bytes() > 0 {
            let request = self.requests.wait(Until::Clean(due.when()));
            self.tell(request, due);
        }
    }

    /// Sets `due` to a request's answer time, if no more commands come.
    fn tell(&mut self, request: u64, due: &mut Due) {
        let answer = self.answer(request);
        answer.explain(due);
        self.requests.tell(request, due.when());
        due.set_ticket(Some(Ticket(request)));
    }

    /// Serves every disk up to `now`.
    fn advance(&mut self, now: Time) {
        for disk in 0..self.spindles.len() {
            while let Some(step) =
                self.spindles[disk].step(&self.rules, now, self.requests.wanted())
            {
                self.done(&step);
            }
        }
    }

    fn done(&mut self, step: &Step) {
        match &step.work {
            Work::Serve(piece) => {
                let answer = Answer::of_piece(piece, &step.service);
                self.requests.piece_done(piece.request, answer, &mut self.link_out);
            }
            Work::Destage(run) => {
                self.destaged_bytes += run.length;
                let (spindles, destaged) = (&self.spindles, self.destaged_bytes);
                self.requests.destaged(step.service.done(), |until| match until {
                    Until::Destaged(bytes) => destaged >= bytes,
                    Until::Clean(by) => {
                        spindles.iter().all(|disk| disk.dirty().written_by(by) == 0)
                    }
                });
            }
        }
    }

    /// The answer to a request, final or as expected if no more commands come.
    fn answer(&self, request: u64) -> Answer {
        let known = self.requests.answer(request);
        let later = match self.requests.until(request) {
            None if known.is_final => None,
            None => self.last_piece(request),
            Some(_) if known.is_final => None,
            Some(Until::Destaged(bytes)) => self.destaged_at(bytes),
            Some(Until::Clean(by)) => self.clean_at(by),
        };
        known.or_later(later)
    }

    fn last_piece(&self, request: u64) -> Option<Answer> {
        let wanted = self.requests.wanted();
        let waiting = self.spindles.iter().filter(|disk| disk.has(request));
        let answers = waiting.filter_map(|disk| {
            let (piece, service) = disk.service_of(&self.rules, wanted, request)?;
            Some(
                Answer::of_piece(&piece, &service)
                    .through(&self.link_out, self.requests.bytes_out(request)),
            )
        });
        answers.max_by_key(|answer| answer.at)
    }

    /// The time at which this many bytes will have been written out.
    fn destaged_at(&self, bytes: u64) -> Option<Answer> {
        let wanted = self.requests.wanted();
        let mut ahead: Vec<_> = self
            .spindles
            .iter()
            .map(|disk| destages(disk, &self.rules, wanted).peekable())
            .collect();
        let mut destaged = self.destaged_bytes;
        loop {
            let next =
                ahead.iter_mut().filter_map(|disk| disk.peek().copied().map(|next| (next, disk)));
            let ((at, length), disk) = next.min_by_key(|((at, _), _)| *at)?;
            disk.next();
            destaged += length;
            if destaged >= bytes {
                return Some(Answer::of_cache(at));
            }
        }
    }

    /// The time at which everything written by `by` will have been written out on all disks.
    fn clean_at(&self, by: Time) -> Option<Answer> {
        let wanted = self.requests.wanted();
        let clean = self.spindles.iter().filter_map(|disk| {
            let old = disk.dirty().written_by(by);
            destages(disk, &self.rules, wanted).take(old).last()
        });
        clean.map(|(at, _)| Answer::of_cache(at)).max_by_key(|answer| answer.at)
    }
}

/// Times and bytes of a disk's future writes from the cache.
fn destages(disk: &Spindle, rules: &Rules, wanted: Wanted) -> impl Iterator<Item = (Time, u64)> {
    disk.ahead(rules, wanted).filter_map(|step| match step.work {
        Work::Destage(run) => Some((step.service.done(), run.length)),
        Work::Serve(_) => None,
    })
}

fn piece(request: u64, part: &Part, is_write: bool, ready: Time) -> Piece {
    Piece { request, place: part.place, length: part.length, is_write, ready }
}

impl Timing for Rotating {
    fn begin(&mut self, _command: &Command, _due: &mut Due) {}

    fn end(&mut self, command: &Command, due: &mut Due) {
        self.advance(command.arrival);
        if command.kind == Kind::Write {
            self.link_in.pass(command.length, command.arrival, due, Resource::Link);
        }
        due.spend(self.array.command_time, Resource::Firmware);
        match command.kind {
            Kind::Read => self.read(command, due),
            Kind::Write => self.write(command, due),
            Kind::Flush => self.flush(due),
            Kind::Discard => {}
        }
    }

    fn settle(&mut self, due: &mut Due) {
        let Some(Ticket(request)) = due.ticket() else { return };
        self.advance(due.when());
        let answer = self.answer(request);
        let told = self.requests.told(request);
        if answer.at > told {
            answer.put_off(due, answer.at - told);
            self.requests.tell(request, answer.at);
        } else {
            self.requests.close(request);
            due.set_ticket(None);
        }
    }
}

#[cfg(test)]
mod tests;
