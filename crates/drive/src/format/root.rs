//! The root of a checkpoint: everything that is not in the map's nodes.
//!
//! It holds the places of the directories, a row for each segment, the end of each stream, the
//! tables of the segments that were open, and the counters of the drive's life, as 64-bit words
//! that are cut into chunks.

use super::{Location, STREAMS, Stream};

/// The row of one segment: five words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SegmentRow {
    /// Sequence number by which it was opened; zero if it never was.
    pub(crate) opened_seq: u64,
    /// Sequence number of its footer; zero if it has none.
    pub(crate) sealed_seq: u64,
    pub(crate) live_bytes: u32,
    pub(crate) live_records: u32,
    /// The stream that fills or filled it; `None` if it is free.
    pub(crate) stream: Option<Stream>,
    pub(crate) open: bool,
    /// Holds records that could not be read; never filled again.
    pub(crate) damaged: bool,
    /// Bytes that the log had written in the drive's life when the segment was sealed: the origin
    /// of its age.
    pub(crate) sealed_at_bytes: u64,
}

/// The end of a stream: the place of its next chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    /// Footer words of the segment so far.
    pub(crate) words: Vec<u64>,
}

/// A checkpoint's root, in the order of its words.
///
/// The end accounts for writing the root itself, so it is made when the root's last chunk has its
/// place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Root {
    pub(crate) body: RootBody,
    pub(crate) end: RootEnd,
}

/// The state at the checkpoint's sequence number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RootBody {
    /// Equals the superblock's.
    pub(crate) checkpoint_seq: u64,
    /// Number of mapped blocks.
    pub(crate) mapped_blocks: u64,
    /// Number of leaves of the map.
    pub(crate) leaves: u64,
    /// A version that no dictionary ever had.
    pub(crate) next_dictionary: u64,
    /// The ends of all streams except the map's, in their order.
    pub(crate) cursors: [Cursor; STREAMS - 1],
    pub(crate) segments: Vec<SegmentRow>,
    /// Place of each directory, by number.
    pub(crate) directories: Vec<Location>,
    /// Version and place of each dictionary.
    pub(crate) dictionaries: Vec<(u8, Location)>,
    /// In the order of the counters' declaration; missing ones are zero, surplus ones are ignored.
    pub(crate) counters: Vec<u64>,
}

/// The end of the map's stream behind the root, and the segments that it took since the checkpoint
/// began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RootEnd {
    pub(crate) map: Cursor,
    /// Segments that the map's stream filled or opened since the checkpoint began: these rows
    /// replace those of the body.
    pub(crate) segments: Vec<(u32, SegmentRow)>,
}

impl RootBody {
    pub(crate) fn encode(&self) -> Vec<u64> {
        let mut words =
            vec![self.checkpoint_seq, self.mapped_blocks, self.leaves, self.next_dictionary];
        self.cursors.iter().for_each(|cursor| cursor.push(&mut words));
        push_all(&mut words, &self.segments, SegmentRow::words);
        push_all(&mut words, &self.directories, |place| [place.word()]);
        push_all(&mut words, &self.dictionaries, |&(version, place)| {
            [u64::from(version), place.word()]
        });
        push_all(&mut words, &self.counters, |&counter| [counter]);
        words
    }
}

impl RootEnd {
    pub(crate) fn encode(&self) -> Vec<u64> {
        let mut words = Vec::new();
        self.map.push(&mut words);
        push_all(&mut words, &self.segments, |(number, row)| {
            let [a, b, c, d, e] = row.words();
            [u64::from(*number), a, b, c, d, e]
        });
        words
    }
}

impl Root {
    pub(crate) fn decode(words: &[u64]) -> Option<Root> {
        let mut taker = Taker(words);
        let [checkpoint_seq, mapped_blocks, leaves, next_dictionary] = taker.take()?;
        let mut cursors = <[Cursor; STREAMS - 1]>::default();
        for cursor in &mut cursors {
            *cursor = taker.cursor()?;
        }
        let body = RootBody {
            checkpoint_seq,
            mapped_blocks,
            leaves,
            next_dictionary,
            cursors,
            segments: taker.all(SegmentRow::from_words)?,
            directories: taker.all(|[place]| Some(Location::from_word(place)))?,
            dictionaries: taker.all(|[version, place]| {
                Some((u8::try_from(version).ok()?, Location::from_word(place)))
            })?,
            counters: taker.all(|[counter]| Some(counter))?,
        };
        let end = RootEnd {
            map: taker.cursor()?,
            segments: taker.all(|[number, a, b, c, d, e]| {
                let row = SegmentRow::from_words([a, b, c, d, e])?;
                Some((u32::try_from(number).ok()?, row))
            })?,
        };
        taker.0.is_empty().then_some(Root { body, end })
    }
}

impl Cursor {
    fn push(&self, words: &mut Vec<u64>) {
        words.push(u64::from(self.segment) << 32 | u64::from(self.offset));
        push_all(words, &self.words, |&word| [word]);
    }
}

impl SegmentRow {
    fn words(&self) -> [u64; 5] {
        let stream = self.stream.map_or(0, |stream| stream as u64 + 1);
        let live = u64::from(self.live_bytes) | u64::from(self.live_records) << 32;
        let state = stream | u64::from(self.damaged) << 8 | u64::from(self.open) << 9;
        [self.opened_seq, self.sealed_seq, live, state, self.sealed_at_bytes]
    }

    fn from_words(words: [u64; 5]) -> Option<SegmentRow> {
        let [opened_seq, sealed_seq, live, state, sealed_at_bytes] = words;
        let stream = match state as u8 {
            0 => None,
            code => Some(Stream::from_code(code - 1)?),
        };
        let (live_bytes, live_records) = (live as u32, (live >> 32) as u32);
        let (damaged, open) = (state >> 8 & 1 == 1, state >> 9 & 1 == 1);
        Some(SegmentRow {
            opened_seq,
            sealed_seq,
            live_bytes,
            live_records,
            stream,
            open,
            damaged,
            sealed_at_bytes,
        })
    }
}

fn push_all<T, const N: usize>(words: &mut Vec<u64>, all: &[T], each: impl Fn(&T) -> [u64; N]) {
    words.push(all.len() as u64);
    words.extend(all.iter().flat_map(each));
}

/// Reads groups of words from the front.
struct Taker<'a>(&'a [u64]);

impl Taker<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn cursor(&mut self) -> Option<Cursor> {
        let [place] = self.take()?;
        let (segment, offset) = ((place >> 32) as u32, place as u32);
        Some(Cursor { segment, offset, words: self.all(|[word]| Some(word))? })
    }

    fn all<T, const N: usize>(&mut self, each: impl Fn([u64; N]) -> Option<T>) -> Option<Vec<T>> {
        let [count] = self.take()?;
        let count = usize::try_from(count).ok().filter(|count| *count <= self.0.len() / N)?;
        (0..count).map(|_| self.take().and_then(&each)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Root {
        let row = SegmentRow {
            opened_seq: 3,
            sealed_seq: 9,
            live_bytes: 77,
            live_records: 5,
            stream: Some(Stream::Map),
            open: true,
            damaged: true,
            sealed_at_bytes: 6,
        };
        let cursor = Cursor { segment: 5, offset: 4096, words: vec![1, 2, 3] };
        let body = RootBody {
            checkpoint_seq: 12,
            mapped_blocks: 99,
            leaves: 7,
            next_dictionary: 3,
            cursors: [cursor.clone(), Cursor::default(), cursor.clone()],
            segments: vec![row, SegmentRow::default()],
            directories: vec![Location::NONE, Location::new(1, 64, 9, false)],
            dictionaries: vec![(1, Location::new(2, 64, 9, false))],
            counters: vec![4, 5],
        };
        Root { body, end: RootEnd { map: cursor, segments: vec![(1, row)] } }
    }

    fn words() -> Vec<u64> {
        [root().body.encode(), root().end.encode()].concat()
    }

    #[test]
    fn a_root_comes_back_and_a_cut_one_does_not() {
        let words = words();
        assert_eq!(Root::decode(&words), Some(root()));
        for length in 0..words.len() {
            assert_eq!(Root::decode(&words[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_count_beyond_the_words_is_refused_before_any_memory_is_taken() {
        assert_eq!(Root::decode(&[1, 2, 3, 4, 5, u64::MAX]), None);
    }
}
