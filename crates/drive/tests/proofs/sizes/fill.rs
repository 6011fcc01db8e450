//! Writes of a drive when it is filled for the first time, and when it is overwritten at random:
//! nothing moves while nothing has died, even if each write is as long as an atomic one can be.

use std::sync::Arc;

use assay_drive::{Codec, Counts, Disk, Drive, DriveOptions, Format, MemoryDisk};
use assay_testing::count;

use crate::common::random::Random;

/// The longest write that is one group, in bytes.
const LONGEST_BYTES: u64 = 256 << 10;
const PAGE_BYTES: u64 = 16 << 10;

/// Segments as small drives had them: of four groups, the fourth does not fit beside its tables.
const WITHOUT_ROOM_FOR_TABLES: Option<u32> = Some(1 << 20);

/// The kind of the first fill.
#[derive(Debug, Clone, Copy)]
enum Order {
    Sequential,
    Random,
}

/// A drive of which a part, in percent, is written in pieces of one size; nothing of it compresses.
struct Filled {
    drive: Drive,
    media_bytes: u64,
    piece: Vec<u8>,
    pieces: u64,
    random: Random,
    written_bytes: u64,
}

impl Filled {
    fn new(mebibytes: u64, segment_bytes: Option<u32>, piece_bytes: u64) -> Filled {
        let media_bytes = mebibytes << 20;
        let media = Arc::new(MemoryDisk::new(media_bytes).unwrap());
        let format = Format {
            drive_id: 1,
            logical_bytes: media_bytes,
            codec: Codec::None,
            units: false,
            dictionary: false,
            segment_bytes,
        };
        Drive::format(media.clone(), &format).unwrap();
        Filled {
            drive: Drive::open(media, DriveOptions::default()).unwrap(),
            media_bytes,
            piece: vec![7; piece_bytes as usize],
            pieces: media_bytes * 80 / 100 / piece_bytes,
            random: Random::new(7),
            written_bytes: 0,
        }
    }

    fn write(&mut self, piece: u64) {
        let bytes = self.piece.len() as u64;
        self.drive.write(piece * bytes, &self.piece, false).unwrap();
        self.written_bytes += bytes;
        if self.written_bytes.is_multiple_of(LONGEST_BYTES) {
            self.drive.maintain().unwrap();
        }
    }

    /// Writes each piece once.
    fn fill(&mut self, order: Order) -> Written {
        let mut pieces: Vec<u64> = (0..self.pieces).collect();
        if matches!(order, Order::Random) {
            for index in (1..pieces.len()).rev() {
                pieces.swap(index, self.random.below(index as u64 + 1) as usize);
            }
        }
        let before = self.drive.status().counts;
        pieces.into_iter().for_each(|piece| self.write(piece));
        self.drive.flush().unwrap();
        Written { before, now: self.drive.status().counts }
    }

    /// Overwrites three times the capacity uniformly at random, or half of it once.
    fn overwrite(&mut self) -> Written {
        let before = self.drive.status().counts;
        for _ in 0..count(1, 6) * self.media_bytes / 2 / self.piece.len() as u64 {
            let piece = self.random.below(self.pieces);
            self.write(piece);
        }
        Written { before, now: self.drive.status().counts }
    }
}

struct Written {
    before: Counts,
    now: Counts,
}

impl Written {
    fn per_host_byte(&self, bytes: impl Fn(&Counts) -> u64) -> f64 {
        let host = self.now.write_bytes_host - self.before.write_bytes_host;
        (bytes(&self.now) - bytes(&self.before)) as f64 / host as f64
    }

    fn moved(&self) -> f64 {
        self.per_host_byte(|counts| counts.write_bytes_gc)
    }

    fn checkpoints(&self) -> f64 {
        self.per_host_byte(|counts| counts.write_bytes_checkpoint)
    }

    fn amplification(&self) -> f64 {
        self.per_host_byte(Counts::write_bytes_media)
    }

    fn show(&self, what: &str) {
        println!(
            "{what}: {:.3}, of it moved {:.3}, checkpoints {:.3}",
            self.amplification(),
            self.moved(),
            self.checkpoints()
        );
    }
}

/// Media sizes in MiB.
fn sizes() -> &'static [u64] {
    count(&[400], &[400, 1024])
}

/// Checkpoints are counted apart: in random order they write most of the map each time, which is
/// bounded to 4 % by when they are due.
#[test]
fn a_first_fill_moves_nothing() {
    for mebibytes in sizes() {
        for order in [Order::Sequential, Order::Random] {
            for piece_bytes in (12..=18).step_by(count(3, 1)).map(|shift| 1 << shift) {
                let written = Filled::new(*mebibytes, None, piece_bytes).fill(order);
                let what = format!("{mebibytes} MiB, {order:?}, writes of {piece_bytes}");
                written.show(&what);
                assert!(written.moved() == 0.0, "{what}: {} was moved", written.moved());
                let beside = written.amplification() - written.checkpoints();
                assert!(beside < 1.05, "{what}: {beside} beside checkpoints");
                let most = if matches!(order, Order::Sequential) { 1.05 } else { 1.07 };
                assert!(written.amplification() < most, "{what}: {}", written.amplification());
            }
        }
    }
}

/// The control of the test above.
#[test]
fn a_first_fill_of_segments_without_room_for_tables_moves_much() {
    for mebibytes in sizes() {
        let mut drive = Filled::new(*mebibytes, WITHOUT_ROOM_FOR_TABLES, LONGEST_BYTES);
        let written = drive.fill(Order::Sequential);
        written.show(&format!("{mebibytes} MiB in segments of 1 MiB"));
        assert!(written.moved() > 0.3, "only {} was moved", written.moved());
    }
}

#[test]
fn room_for_tables_costs_steady_overwrites_nothing() {
    let pieces = [(LONGEST_BYTES, 0.8), (PAGE_BYTES, 1.02)];
    for (piece_bytes, most) in pieces.into_iter().take(count(1, 2)) {
        let [with, without] = [None, WITHOUT_ROOM_FOR_TABLES].map(|segment_bytes| {
            let mut drive = Filled::new(400, segment_bytes, piece_bytes);
            drive.fill(Order::Random);
            let written = drive.overwrite();
            written.show(&format!("overwrites of {piece_bytes}, segments {segment_bytes:?}"));
            written.amplification()
        });
        assert!(with <= most * without, "{piece_bytes}: {with}, was {without}");
    }
}
