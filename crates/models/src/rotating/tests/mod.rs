//! An array keeps its closed forms, its order, its mirrors and its guarantees.

mod cache;
mod figures;
mod mirrors;
mod order;
mod replay;

use super::*;
use crate::testing::{self, Answered, read, write};
use crate::time::Rate;

const BLOCK: u64 = 4096;
const PAGE: u64 = 16 << 10;
const CHUNK: u64 = 64 << 10;
const MS: Time = Time::from_ns(1_000_000);

/// A disk like Hitachi's Ultrastar 15K450, small.
fn spindle() -> SpindleGeometry {
    let seek = |mean_us: f64, full_us: f64| SeekTimes {
        track_to_track: Time::from_us(300.0),
        mean: Time::from_us(mean_us),
        full_stroke: Some(Time::from_us(full_us)),
    };
    SpindleGeometry {
        capacity_bytes: 4 << 30,
        rotation_time: MS * 4,
        read_seek: seek(3300.0, 5000.0),
        write_seek: seek(3800.0, 5400.0),
        media_bytes_per_s: Rate(180e6),
        read_ahead_bytes: 1 << 20,
    }
}

fn array(spindles: u32, mirrored: bool) -> ArrayGeometry {
    ArrayGeometry {
        spindle: spindle(),
        spindles,
        mirrored,
        chunk_bytes: CHUNK,
        command_time: Time::from_us(200.0),
        link_bytes_per_s: Rate(600e6),
        cache: WriteCache::Writethrough,
        cache_bytes: 0,
        order: Order::Elevator,
        patience: MS * 500,
    }
}

fn rotating(array: &ArrayGeometry) -> Rotating {
    Rotating::new(*array, 7).unwrap()
}

/// Pages drawn evenly over an array, each read or written.
struct Pages {
    random: Random,
    pages: u64,
}

impl Pages {
    fn of(array: &ArrayGeometry, seed: u64) -> Pages {
        Pages { random: Random::new(seed), pages: array.capacity_bytes() / PAGE }
    }

    fn offset(&mut self) -> u64 {
        self.random.next() % self.pages * PAGE
    }

    fn read(&mut self) -> Command {
        read(self.offset(), PAGE, Time::ZERO)
    }

    fn write(&mut self) -> Command {
        write(self.offset(), PAGE, Time::ZERO)
    }
}

fn mean_us(answered: &[Answered]) -> f64 {
    testing::mean_us(answered)
}
