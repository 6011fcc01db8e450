//! The requests of an array with their answer times, and the events for which they still wait.

use std::collections::HashMap;

use super::arm::{Piece, Service};
use super::spindle::Wanted;
use crate::meter::Wire;
use crate::time::Time;
use crate::timing::{Due, Resource};

/// An event of the cache for which a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Room: this many bytes written out since the beginning.
    Destaged(u64),
    /// A flush: everything written by then is written out.
    Clean(Time),
}

/// The answer time of a request, and the waits until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Answer {
    pub(super) at: Time,
    /// Whether nothing can move it any more.
    pub(super) is_final: bool,
    /// Service of its last piece, and the time for which that had waited.
    served: Option<(Time, Service)>,
}

impl Answer {
    pub(super) fn of_piece(piece: &Piece, service: &Service) -> Answer {
        let waited = service.from - piece.ready;
        Answer { at: service.done(), is_final: false, served: Some((waited, *service)) }
    }

    pub(super) fn of_cache(at: Time) -> Answer {
        Answer { at, ..Answer::default() }
    }

    /// The answer after an idle link.
    pub(super) fn through(mut self, link: &Wire, bytes: u64) -> Answer {
        self.at += link.span(bytes);
        self
    }

    pub(super) fn or_later(self, other: Option<Answer>) -> Answer {
        other.filter(|other| other.at > self.at).unwrap_or(self)
    }

    /// Moves `due` to the answer, one wait after the other.
    pub(super) fn explain(&self, due: &mut Due) {
        if let Some((_, service)) = self.served {
            due.wait(service.from, Resource::Spindle);
            due.spend(service.seek, Resource::Seek);
            due.spend(service.rotation, Resource::Rotation);
            due.spend(service.transfer, Resource::Platter);
            due.wait(self.at, Resource::Link);
        } else {
            due.wait(self.at, Resource::Buffer);
        }
    }

    /// Delays `due` by `span`, because other requests went before.
    pub(super) fn put_off(&self, due: &mut Due, span: Time) {
        match self.served {
            Some((waited, _)) => due.put_off(span, waited, Resource::Spindle),
            None => due.put_off(span, span, Resource::Buffer),
        }
    }
}

#[derive(Debug, Clone)]
struct Request {
    /// Pieces that no disk has begun.
    pieces: u32,
    bytes_out: u64,
    until: Option<Until>,
    /// The last answer that is certain.
    answer: Answer,
    told: Time,
}

/// Requests by their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    open: HashMap<u64, Request>,
    next: u64,
    /// Requests that wait for the cache, in order of arrival.
    waiting: Vec<(u64, Until)>,
    /// The time at which everything that the disks have begun to write out is written.
    destaged_at: Time,
}

impl Requests {
    /// Opens a request made of pieces, with this many bytes for the host.
    pub(super) fn open(&mut self, bytes_out: u64) -> u64 {
        self.add(bytes_out, None)
    }

    /// Opens a request that waits for the cache.
    pub(super) fn wait(&mut self, until: Until) -> u64 {
        let number = self.add(0, Some(until));
        self.waiting.push((number, until));
        number
    }

    fn add(&mut self, bytes_out: u64, until: Option<Until>) -> u64 {
        let (number, answer) = (self.next, Answer::default());
        let request = Request { pieces: 0, bytes_out, until, answer, told: Time::ZERO };
        self.open.insert(number, request);
        self.next += 1;
        number
    }

    pub(super) fn add_piece(&mut self, number: u64) {
        if let Some(request) = self.open.get_mut(&number) {
            request.pieces += 1;
        }
    }

    pub(super) fn tell(&mut self, number: u64, at: Time) {
        if let Some(request) = self.open.get_mut(&number) {
            request.told = at;
        }
    }

    /// The answer time of a request as last reported; zero for a closed one.
    pub(super) fn told(&self, number: u64) -> Time {
        self.open.get(&number).map_or(Time::MAX, |request| request.told)
    }

    pub(super) fn answer(&self, number: u64) -> Answer {
        let nothing = Answer { is_final: true, ..Answer::default() };
        self.open.get(&number).map_or(nothing, |request| request.answer)
    }

    pub(super) fn until(&self, number: u64) -> Option<Until> {
        self.open.get(&number)?.until
    }

    pub(super) fn bytes_out(&self, number: u64) -> u64 {
        self.open.get(&number).map_or(0, |request| request.bytes_out)
    }

    pub(super) fn close(&mut self, number: u64) {
        self.open.remove(&number);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// The requests that wait for the cache to be written out.
    pub(super) fn wanted(&self) -> Wanted {
        let flushes = self.waiting.iter().filter_map(|(_, until)| match until {
            Until::Clean(by) => Some(*by),
            Until::Destaged(_) => None,
        });
        Wanted { is_wanted: !self.waiting.is_empty(), written_by: flushes.max() }
    }

    /// Notes that a disk has begun a piece, and will be done with it at `answer`.
    pub(super) fn piece_done(&mut self, number: u64, answer: Answer, link_out: &mut Wire) {
        let Some(request) = self.open.get_mut(&number) else { return };
        request.answer = request.answer.or_later(Some(answer));
        request.pieces -= 1;
        if request.pieces > 0 {
            return;
        }
        let mut due = Due::at(request.answer.at);
        if request.bytes_out > 0 {
            let from = answer.served.map_or(answer.at, |(_, service)| service.from);
            link_out.pass(request.bytes_out, from, &mut due, Resource::Link);
        }
        request.answer = Answer { at: due.when(), is_final: true, ..request.answer };
    }

    /// Notes that something is written out at `at`; `is_there` tells whether an event has occurred.
    pub(super) fn destaged(&mut self, at: Time, is_there: impl Fn(Until) -> bool) {
        self.destaged_at = self.destaged_at.max(at);
        let (open, at) = (&mut self.open, self.destaged_at);
        self.waiting.retain(|(number, until)| {
            let is_there = is_there(*until);
            if let Some(request) = open.get_mut(number).filter(|_| is_there) {
                request.answer = Answer { is_final: true, ..Answer::of_cache(at) };
            }
            !is_there
        });
    }
}
