//! What the drive has done and how it is: counters, and the health log that `status` shows.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::format::Stream;

/// Number of classes of [`Status::commands_by_size`].
pub const SIZE_CLASSES: usize = 8;

/// Upper bounds of the size classes of host writes, in blocks; the last has none.
const SIZE_CLASS_BLOCKS: [u64; SIZE_CLASSES - 1] = [1, 2, 4, 8, 16, 32, 64];

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Counts over the drive's life, as far as checkpoints have stored them: a crash loses what was counted since the last.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $name: AtomicU64,)+
            /// Host writes by size, see [`SIZE_CLASS_BLOCKS`].
            pub(crate) commands_by_size: [AtomicU64; SIZE_CLASSES],
            /// Openings after a crash; stored last, for drives that were made before it was counted.
            pub(crate) crashes: AtomicU64,
        }

        /// Counts over the drive's life, but for what was counted between a checkpoint and a crash.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)+
            /// Host writes of at most 1, 2, 4, 8, 16, 32, 64 blocks and of more; each up to 64 blocks is atomic.
            pub commands_by_size: [u64; SIZE_CLASSES],
            /// Openings after a crash, each of which lost what was counted since the last checkpoint before it.
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
    /// Bytes that the host read.
    read_bytes_host,
    /// Bytes that were read from media.
    read_bytes_media,
    /// Reads of media.
    reads_media,
    /// Bytes that the host wrote, zeroes included.
    write_bytes_host,
    /// Of these, blocks of zeroes, which are stored as nothing, in bytes.
    write_bytes_zero,
    /// Of these, stored as they came, because they did not compress, in bytes.
    write_bytes_raw,
    /// Bytes that the host discarded or asked to be zeroes.
    discard_bytes_host,
    /// Compressed records of host writes on media, in bytes.
    write_bytes_payload,
    /// Headers, tables, padding and footers around them, in bytes.
    write_bytes_table,
    /// What collection wrote, tables included, in bytes.
    write_bytes_gc,
    /// What checkpoints wrote: nodes, roots, superblocks, in bytes.
    write_bytes_checkpoint,
    /// Writes to media.
    writes_media,
    /// Flushes and forced writes that the host asked for.
    flushes,
    /// Flushes that went to media.
    flushes_media,
    /// Segments that were collected.
    gc_segments,
    /// Host writes that had to wait for collection.
    gc_stalls,
    /// Checkpoints.
    checkpoints,
    /// Host writes that were refused because no space was left.
    refused_writes,
    /// Records that did not have their checksum when they were read.
    damaged_records,
    /// What the log wrote, in bytes: the clock of the segments' ages.
    log_bytes,
    /// Parts of the map that were damaged and made whole from their parity.
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
    /// Everything that was written to media, in bytes.
    #[must_use]
    pub fn write_bytes_media(&self) -> u64 {
        self.write_bytes_payload
            + self.write_bytes_table
            + self.write_bytes_gc
            + self.write_bytes_checkpoint
    }

    /// Bytes written to media for each byte that the host wrote; none before the first.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.write_bytes_host;
        (host > 0).then(|| self.write_bytes_media() as f64 / host as f64)
    }
}

/// How the drive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Everything works.
    Healthy,
    /// Little physical space is left: below 10 % of what can be used.
    LowSpace,
    /// Physical space is out: from the first write that was refused until the least of those refused would be taken,
    /// or when not even a block that does not compress would be. Reading, discarding and overwriting go on.
    Full,
    /// Something is wrong, see [`Status::problems`], or damage was found at any time; what is not damaged works.
    Damaged,
    /// Damage to the log was found when it was opened: reading only.
    ReadOnly,
    /// A failure of the media stopped it.
    Stopped,
}

impl State {
    /// The word that `status` prints.
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
    /// The first chunk that could not be read.
    pub seq: u64,
    /// Chunks behind it that could be, and are not applied.
    pub chunks: u64,
    /// Byte ranges that these were for: they hold what was written there before. What the first one was for is not known.
    pub ranges: Vec<Range<u64>>,
}

/// What recovery found when the drive was opened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recovery {
    /// Whether the drive had been closed properly.
    pub clean: bool,
    /// Chunks and entries that were replayed.
    pub chunks: u64,
    /// Entries that were replayed.
    pub entries: u64,
    /// Sealed chunks behind the end of the log that a power cut left unfinished, as far as they were seen.
    pub torn_chunks: u64,
    /// Whether the map was built anew from the segments, because no checkpoint could be read.
    pub rebuilt: bool,
    /// Part of the log that was on stable media, cannot be read, and was given up.
    pub given_up: Option<GivenUp>,
    /// Byte ranges that may hold what they did at some earlier time: the part of the map that knew is lost.
    pub doubtful: Vec<Range<u64>>,
    /// What was found wrong.
    pub problems: Vec<String>,
    /// What was found wrong with a superblock, and whether it has been rewritten. A damaged one is among the problems of the
    /// status, and not here, until the first write rewrites it; one that a power cut has torn is no problem, and is rewritten
    /// when the drive is opened for writing.
    pub mended: Vec<String>,
}

/// How the drive is, as its health log tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// State and, unless it is healthy, why.
    pub state: State,
    /// What is wrong, a line each.
    pub problems: Vec<String>,
    /// Bytes of media.
    pub capacity_bytes: u64,
    /// Bytes of data that do not compress which an empty drive takes.
    pub usable_bytes: u64,
    /// Bytes of such data for which there is room now; what compresses takes less.
    pub free_bytes: u64,
    /// Size of the disk that the host sees, in bytes.
    pub logical_bytes: u64,
    /// Bytes of it that are written and not zero.
    pub logical_bytes_used: u64,
    /// Live records with their headers and tables, and the map, in bytes.
    pub media_bytes_used: u64,
    /// Codec, by name.
    pub codec: &'static str,
    /// Blocks that are compressed together: 1 or 4.
    pub unit_blocks: u64,
    /// Versions of the dictionary so far; zero without one.
    pub dictionary_versions: u64,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Segments in all.
    pub segments: u64,
    /// Segments that hold nothing.
    pub segments_free: u64,
    /// Segments that were taken out of use.
    pub segments_damaged: u64,
    /// Memory that the map takes, in bytes.
    pub map_bytes: u64,
    /// What recovery found when it was opened.
    pub recovery: Recovery,
    /// Counts over its life.
    pub counts: Counts,
}

impl Status {
    /// Logical bytes for each byte of media that is used; none while nothing is.
    #[must_use]
    pub fn compression_ratio(&self) -> Option<f64> {
        let used = self.media_bytes_used;
        (self.logical_bytes_used > 0 && used > 0)
            .then(|| self.logical_bytes_used as f64 / used as f64)
    }

    /// Times that the media was written in full.
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
        // Drives that were made before crashes were counted.
        let before = Counters::from_words(&words[..words.len() - 1]).counts();
        assert_eq!((before.commands_by_size[6..].to_vec(), before.crashes), (vec![1, 1], 0));
        assert_eq!(Counters::from_words(&words[..2]).counts().write_bytes_host, 0);
    }
}
