//! Counters of the drive's work, and the state that `status` shows.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::format::Stream;

/// Number of size classes in [`Counts::commands_by_size`].
pub const SIZE_CLASSES: usize = 8;

/// Upper bounds of the size classes of host writes, in blocks; the last class has none.
const SIZE_CLASS_BLOCKS: [u64; SIZE_CLASSES - 1] = [1, 2, 4, 8, 16, 32, 64];

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Counts over the drive's life. Checkpoints store them: a crash loses the counts since the
        /// last one.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $name: AtomicU64,)+
            /// Host writes by size class, see [`SIZE_CLASS_BLOCKS`].
            pub(crate) commands_by_size: [AtomicU64; SIZE_CLASSES],
            /// Openings after a crash. Stored last, because older drives do not have it.
            pub(crate) crashes: AtomicU64,
        }

        /// Counts over the drive's life, without those between a checkpoint and a crash.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)+
            /// Host writes of at most 1, 2, 4, 8, 16, 32, 64 blocks, and of more. Up to 64 blocks
            /// are atomic.
            pub commands_by_size: [u64; SIZE_CLASSES],
            /// Openings after a crash; each lost the counts since the last checkpoint.
            pub crashes: u64,
        }

        impl Counters {
            pub(crate) fn counts(&self) -> Counts {
                Counts {
                    $($name: self.$name.load(Ordering::Relaxed),)+
                    commands_by_size: std::array::from_fn(|class| {
                        self.commands_by_size[class].load(Ordering::Relaxed)
                    }),
                    crashes: self.crashes.load(Ordering::Relaxed),
                }
            }

            pub(crate) fn words(&self) -> Vec<u64> {
                let named = [$(&self.$name,)+];
                let all = named.into_iter().chain(&self.commands_by_size).chain([&self.crashes]);
                all.map(|counter| counter.load(Ordering::Relaxed)).collect()
            }

            pub(crate) fn from_words(words: &[u64]) -> Counters {
                let counters = Counters::default();
                let named = [$(&counters.$name,)+];
                let all =
                    named.into_iter().chain(&counters.commands_by_size).chain([&counters.crashes]);
                for (counter, word) in all.zip(words) {
                    counter.store(*word, Ordering::Relaxed);
                }
                counters
            }
        }
    };
}

counters! {
    /// Bytes read by the host.
    read_bytes_host,
    /// Bytes read from media.
    read_bytes_media,
    /// Reads of media.
    reads_media,
    /// Bytes written by the host, including zeroes.
    write_bytes_host,
    /// Bytes of `write_bytes_host` in blocks of zeroes, which take no space on media.
    write_bytes_zero,
    /// Bytes of `write_bytes_host` that were stored raw because they did not compress.
    write_bytes_raw,
    /// Bytes that the host discarded or zeroed.
    discard_bytes_host,
    /// Bytes of records of host writes on media, compressed.
    write_bytes_payload,
    /// Bytes of headers, tables, padding and footers around these records.
    write_bytes_table,
    /// Bytes written by collection, including tables.
    write_bytes_gc,
    /// Bytes written by checkpoints: nodes, roots and superblocks.
    write_bytes_checkpoint,
    /// Writes to media.
    writes_media,
    /// Flushes and force-unit-access writes by the host.
    flushes,
    /// Flushes of the media.
    flushes_media,
    /// Segments collected.
    gc_segments,
    /// Host writes that waited for collection.
    gc_stalls,
    /// Checkpoints.
    checkpoints,
    /// Host writes refused for lack of space.
    refused_writes,
    /// Records read with a wrong checksum.
    damaged_records,
    /// Bytes written by the log: the clock for the ages of segments.
    log_bytes,
    /// Parts of the map that were damaged and restored from their parity.
    restored_records,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    pub(crate) fn log_written(&self, stream: Stream, payload: usize, bytes: usize) {
        let (payload, bytes) = (payload as u64, bytes as u64);
        match stream {
            Stream::Host => {
                Counters::add(&self.write_bytes_payload, payload);
                Counters::add(&self.write_bytes_table, bytes - payload);
            }
            Stream::Cold | Stream::Frozen => Counters::add(&self.write_bytes_gc, bytes),
            Stream::Map => Counters::add(&self.write_bytes_checkpoint, bytes),
        }
        Counters::add(&self.log_bytes, bytes);
        Counters::add(&self.writes_media, 1);
    }

    pub(crate) fn host_write(&self, blocks: u64) {
        let class = SIZE_CLASS_BLOCKS.iter().position(|bound| blocks <= *bound);
        Counters::add(&self.commands_by_size[class.unwrap_or(SIZE_CLASSES - 1)], 1);
    }
}

impl Counts {
    /// Bytes written to media in all.
    #[must_use]
    pub fn write_bytes_media(&self) -> u64 {
        self.write_bytes_payload
            + self.write_bytes_table
            + self.write_bytes_gc
            + self.write_bytes_checkpoint
    }

    /// Bytes written to media for each byte written by the host; `None` before the first host
    /// write.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.write_bytes_host;
        (host > 0).then(|| self.write_bytes_media() as f64 / host as f64)
    }
}

/// The state of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Everything works.
    Healthy,
    /// Less than 10 % of the usable space is free.
    LowSpace,
    /// No space is left: a write was refused, and the smallest refused write would still be, or
    /// there is not even room for one incompressible block. Reading, discarding and overwriting go
    /// on.
    Full,
    /// Something is wrong, see [`Status::problems`], or damage was found at some time. Undamaged
    /// data can be used.
    Damaged,
    /// Opening found damage to the log: the drive is read-only.
    ReadOnly,
    /// A failure of the media stopped the drive.
    Stopped,
}

impl State {
    /// The name of the state, as `status` prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Healthy => "healthy",
            State::LowSpace => "low_space",
            State::Full => "full",
            State::Damaged => "damaged",
            State::ReadOnly => "read_only",
            State::Stopped => "stopped",
        }
    }
}

/// A part of the log that a repair gave up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenUp {
    /// Sequence number of the first chunk that could not be read.
    pub seq: u64,
    /// Readable chunks behind it, which are not applied.
    pub chunks: u64,
    /// Byte ranges that these chunks wrote; they hold the data from before. The ranges of the first
    /// chunk are not known.
    pub ranges: Vec<Range<u64>>,
}

/// Findings of the recovery when the drive was opened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recovery {
    /// Whether the drive had been closed properly.
    pub clean: bool,
    /// Chunks replayed.
    pub chunks: u64,
    /// Entries replayed.
    pub entries: u64,
    /// Chunks found behind the end of the log, which a power cut left unfinished.
    pub torn_chunks: u64,
    /// Whether the map was rebuilt from the segments because no checkpoint could be read.
    pub rebuilt: bool,
    /// A part of the log that was on stable media, could not be read, and was given up.
    pub given_up: Option<GivenUp>,
    /// Byte ranges that may hold old data, because a part of the map is lost.
    pub doubtful: Vec<Range<u64>>,
    /// Problems found.
    pub problems: Vec<String>,
    /// Problems found in a superblock, and whether it has been rewritten. A damaged superblock is
    /// listed in [`Status::problems`] until the first write rewrites it. One that a power cut has
    /// torn is no problem; opening the drive for writing rewrites it.
    pub mended: Vec<String>,
}

/// The state of a drive with its health log and counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The state; see `problems` for its reason.
    pub state: State,
    /// Problems, one a line.
    pub problems: Vec<String>,
    /// Size of the media, in bytes.
    pub capacity_bytes: u64,
    /// Bytes of incompressible data that an empty drive takes.
    pub usable_bytes: u64,
    /// Bytes of incompressible data for which there is room now.
    pub free_bytes: u64,
    /// Size that the host sees, in bytes.
    pub logical_bytes: u64,
    /// Bytes of the logical size that are written and not zero.
    pub logical_bytes_used: u64,
    /// Bytes of live records with their headers and tables, and of the map.
    pub media_bytes_used: u64,
    /// Name of the codec.
    pub codec: &'static str,
    /// Blocks that are compressed together, 1 or 4.
    pub unit_blocks: u64,
    /// Versions of the dictionary so far; zero if there is none.
    pub dictionary_versions: u64,
    /// Size of a segment, in bytes.
    pub segment_bytes: u64,
    /// Number of segments.
    pub segments: u64,
    /// Number of free segments.
    pub segments_free: u64,
    /// Number of segments out of use.
    pub segments_damaged: u64,
    /// Memory of the map, in bytes.
    pub map_bytes: u64,
    /// Findings of the recovery when the drive was opened.
    pub recovery: Recovery,
    /// Counts over the drive's life.
    pub counts: Counts,
}

impl Status {
    /// Logical bytes for each used byte of media; `None` if nothing is used.
    #[must_use]
    pub fn compression_ratio(&self) -> Option<f64> {
        let used = self.media_bytes_used;
        (self.logical_bytes_used > 0 && used > 0)
            .then(|| self.logical_bytes_used as f64 / used as f64)
    }

    /// Number of times that the media was written in full.
    #[must_use]
    pub fn media_cycles(&self) -> f64 {
        self.counts.write_bytes_media() as f64 / self.capacity_bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_as_words_and_older_words_leave_newer_counts_at_zero() {
        let counters = Counters::default();
        Counters::add(&counters.write_bytes_host, 5);
        counters.host_write(64);
        counters.host_write(65);
        let words = counters.words();
        assert_eq!(Counters::from_words(&words).counts(), counters.counts());
        assert_eq!(counters.counts().commands_by_size[6..], [1, 1]);
        // A drive from before crashes were counted.
        let before = Counters::from_words(&words[..words.len() - 1]).counts();
        assert_eq!((before.commands_by_size[6..].to_vec(), before.crashes), (vec![1, 1], 0));
        assert_eq!(Counters::from_words(&words[..2]).counts().write_bytes_host, 0);
    }
}
