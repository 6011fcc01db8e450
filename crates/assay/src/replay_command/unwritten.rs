//! Counts reads of blocks that were never written.
//!
//! Flash answers such reads without reading, so a replay does too, though the recorded device may
//! have held data there from before the recording.

use assay_drive::BLOCK_BYTES;
use assay_models::{Event, Kind};

use super::prepared::PreparedReplay;

/// Share of the blocks read in the window that neither preconditioning nor the trace has written.
/// `None` without flash or reads.
#[must_use]
pub(crate) fn share(prepared: &PreparedReplay) -> Option<f64> {
    prepared.device.nand()?;
    let counts = |event: &Event| prepared.counts(event.command.arrival);
    share_of(&prepared.events, prepared.head.used_bytes, counts)
}

/// Share for `events`, in order of arrival, on a device whose first `filled_bytes` are written.
fn share_of(events: &[Event], filled_bytes: u64, counts: impl Fn(&Event) -> bool) -> Option<f64> {
    let reads = events.iter().filter(|event| event.command.kind == Kind::Read);
    let end = reads.map(|event| blocks(event).end).max()?;
    let mut written = Written(vec![0; end.div_ceil(64) as usize]);
    written.set(0..filled_bytes / BLOCK_BYTES, true);
    let (mut read, mut unwritten) = (0, 0);
    for event in events {
        match event.command.kind {
            Kind::Write => written.set(blocks(event), true),
            Kind::Discard => written.set(blocks(event), false),
            Kind::Read if counts(event) => {
                read += blocks(event).end - blocks(event).start;
                unwritten += blocks(event).filter(|block| !written.has(*block)).count() as u64;
            }
            Kind::Read | Kind::Flush => {}
        }
    }
    (read > 0).then(|| unwritten as f64 / read as f64)
}

fn blocks(event: &Event) -> std::ops::Range<u64> {
    let (offset, length) = (event.command.offset, event.command.length);
    offset / BLOCK_BYTES..offset.saturating_add(length).div_ceil(BLOCK_BYTES)
}

/// A bit per block, up to the last block that is read.
struct Written(Vec<u64>);

impl Written {
    fn has(&self, block: u64) -> bool {
        self.0.get((block / 64) as usize).is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    /// Sets whole words of bits: a discard may cover the whole device.
    fn set(&mut self, blocks: std::ops::Range<u64>, is_written: bool) {
        let end = blocks.end.min(self.0.len() as u64 * 64);
        let mut block = blocks.start;
        while block < end {
            let (word, first) = ((block / 64) as usize, block % 64);
            let count = (64 - first).min(end - block);
            let mask = (u64::MAX >> (64 - count)) << first;
            if is_written {
                self.0[word] |= mask;
            } else {
                self.0[word] &= !mask;
            }
            block += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_models::{Command, Time};

    use super::*;

    fn event(kind: Kind, first: u64, count: u64) -> Event {
        let (offset, length) = (first * BLOCK_BYTES, count * BLOCK_BYTES);
        Event {
            command: Command {
                kind,
                offset,
                length,
                force_unit_access: false,
                arrival: Time::ZERO,
            },
            modelled: Time::ZERO,
            achieved: Time::ZERO,
            stored_bytes: Vec::new(),
        }
    }

    #[test]
    fn what_nobody_wrote_is_counted_by_blocks() {
        let share = |events: &[Event], filled| share_of(events, filled * BLOCK_BYTES, |_| true);
        let reads = [event(Kind::Read, 60, 10), event(Kind::Read, 200, 10)];
        assert_eq!(share(&reads, 0), Some(1.0));
        assert_eq!(share(&reads, 70), Some(0.5));
        assert_eq!(share(&reads, 1000), Some(0.0));
        let write = event(Kind::Write, 205, 500);
        assert_eq!(share(&[&[write][..], &reads].concat(), 70), Some(0.25));
        let discard = event(Kind::Discard, 62, 1 << 40);
        assert_eq!(share(&[&[discard][..], &reads].concat(), 1000), Some(0.9));
        assert_eq!(share(&[event(Kind::Write, 0, 9)], 0), None, "nothing is read");
        assert_eq!(share_of(&reads, 0, |_| false), None, "nothing counts");
    }
}
