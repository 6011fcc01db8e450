//! The arm of one spindle: its place, its next free time, and the duration of its next piece of
//! work.

use super::seek::{ImpossibleSeek, SeekCurve, SeekTimes};
use crate::time::{Rate, Time};

/// The geometry of a disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpindleGeometry {
    /// Bytes of one disk.
    pub capacity_bytes: u64,
    /// One revolution.
    pub rotation_time: Time,
    /// Seeks for reads.
    pub read_seek: SeekTimes,
    /// Seeks for writes, which must settle better.
    pub write_seek: SeekTimes,
    /// Bytes a second under the head, averaged over the disk: the "sustained" rate of data sheets.
    pub media_bytes_per_s: Rate,
    /// Bytes that the disk reads on into its own memory after a read, so that the next one in
    /// sequence need not wait for the platter; zero for none.
    pub read_ahead_bytes: u64,
}

/// A disk with values derived from its geometry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Platter {
    pub(super) geometry: SpindleGeometry,
    pub(super) read: SeekCurve,
    pub(super) write: SeekCurve,
    track_bytes: u64,
    tracks: u64,
}

impl Platter {
    pub(super) fn new(geometry: SpindleGeometry) -> Result<Platter, ImpossibleSeek> {
        let track = geometry.media_bytes_per_s.0 * geometry.rotation_time.as_s();
        let track_bytes = (track as u64).max(1);
        Ok(Platter {
            read: SeekCurve::fit(&geometry.read_seek)?,
            write: SeekCurve::fit(&geometry.write_seek)?,
            track_bytes,
            tracks: geometry.capacity_bytes.div_ceil(track_bytes).max(2),
            geometry,
        })
    }

    /// Time of bytes under the head; a whole track takes exactly a revolution.
    pub(super) fn passing(&self, bytes: u64) -> Time {
        self.geometry.rotation_time.scaled(bytes, self.track_bytes)
    }

    /// Time within a revolution at which a place passes.
    fn angle(&self, place: u64) -> Time {
        self.passing(place % self.track_bytes)
    }

    fn track(&self, place: u64) -> u64 {
        (place / self.track_bytes).min(self.tracks - 1)
    }

    fn seek(&self, from: u64, to: u64, is_write: bool) -> Time {
        let curve = if is_write { &self.write } else { &self.read };
        match self.track(from).abs_diff(self.track(to)) {
            0 => Time::ZERO,
            tracks => curve.time((tracks - 1) as f64 / (self.tracks - 1) as f64),
        }
    }
}

/// A piece of a request on one disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) request: u64,
    /// First byte on the disk.
    pub(super) place: u64,
    pub(super) length: u64,
    pub(super) is_write: bool,
    /// Arrival at the disk.
    pub(super) ready: Time,
}

/// The service of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) from: Time,
    pub(super) seek: Time,
    pub(super) rotation: Time,
    pub(super) transfer: Time,
    /// Time at which its end passes the head; earlier than its end if it was read ahead.
    passed_at: Time,
}

impl Service {
    pub(super) fn done(&self) -> Time {
        self.from + self.seek + self.rotation + self.transfer
    }
}

/// The rotation of a platter relative to the clock and to others: no two motors are in step for
/// long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turning {
    /// Initial phase.
    pub(super) phase: Time,
    /// Millionths by which it is faster.
    pub(super) ahead_ppm: u64,
}

impl Turning {
    fn at(&self, at: Time) -> Time {
        at + self.phase + at.scaled(self.ahead_ppm, 1_000_000)
    }
}

/// The arm and the platter under it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arm {
    /// The place behind the last byte that it read or wrote.
    pub(super) place: u64,
    /// End of the work that it has begun.
    pub(super) free: Time,
    turning: Turning,
    /// The time at which `place` passed, if the arm reads on from there.
    reads_on_from: Option<Time>,
}

impl Arm {
    pub(super) fn new(turning: Turning) -> Arm {
        Arm { place: 0, free: Time::ZERO, turning, reads_on_from: None }
    }

    /// The service of a piece if the arm turns to it at `from`.
    pub(super) fn service(&self, platter: &Platter, piece: &Piece, from: Time) -> Service {
        let transfer = platter.passing(piece.length);
        if piece.place == self.place
            && !piece.is_write
            && let Some(passed_at) = self.reads_on_from
        {
            let ahead = (from - passed_at).min(platter.passing(platter.geometry.read_ahead_bytes));
            return Service {
                from,
                seek: Time::ZERO,
                rotation: Time::ZERO,
                transfer: transfer - ahead,
                passed_at: from - ahead + transfer,
            };
        }
        // Tracks are skewed so that a transfer continues on the next one in time.
        let goes_on = piece.place == self.place;
        let seek = match goes_on {
            true => Time::ZERO,
            false => platter.seek(self.place, piece.place, piece.is_write),
        };
        let rotation = match goes_on && from == self.free {
            true => Time::ZERO,
            false => self.rotation(platter, piece.place, from + seek),
        };
        let passed_at = from + seek + rotation + transfer;
        Service { from, seek, rotation, transfer, passed_at }
    }

    fn rotation(&self, platter: &Platter, place: u64, at: Time) -> Time {
        let period = platter.geometry.rotation_time;
        let turned = self.turning.at(at) % period;
        (platter.angle(place) + period - turned) % period
    }

    /// Serves a piece.
    pub(super) fn serve(&mut self, platter: &Platter, piece: &Piece, from: Time) -> Service {
        let service = self.service(platter, piece, from);
        let reads_on = !piece.is_write && platter.geometry.read_ahead_bytes > 0;
        self.place = piece.place + piece.length;
        self.free = service.done();
        self.reads_on_from = reads_on.then_some(service.passed_at);
        service
    }
}
