//! Entries of a chunk's table: one for each record, and for changes without a record.
//!
//! An entry has one to three words of 64 bits. The first:
//!
//! | bits | field |
//! |---|---|
//! | 0–39 | block address, node or dictionary version |
//! | 40–54 | stored length in bytes; for `Zero` the number of blocks |
//! | 55–57 | operation |
//! | 58 | last of its group |
//! | 59–63 | zero |
//!
//! A moved record has two more words: its former place, so that replay drops the move if the host
//! had written in between, and the sequence number of the chunk that first held it, so that a
//! rebuild without any map finds the newest version. A node has one more: the sequence number up to
//! which it is complete.

use super::Location;

/// The operation of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// A block.
    Data,
    /// Four blocks compressed as one.
    Unit,
    /// A run of blocks that read as zeroes.
    Zero,
    /// A block that collection moved.
    Move { from: Location, origin_seq: u64 },
    /// A unit that collection moved.
    MoveUnit { from: Location, origin_seq: u64 },
    /// A node of the map, complete up to a sequence number.
    Node { complete_seq: u64 },
    /// A dictionary of the codec.
    Dictionary,
}

impl Op {
    const fn code(self) -> u64 {
        match self {
            Op::Data => 0,
            Op::Unit => 1,
            Op::Zero => 2,
            Op::Move { .. } => 3,
            Op::MoveUnit { .. } => 4,
            Op::Node { .. } => 5,
            Op::Dictionary => 6,
        }
    }

    /// The record's key as its checksum covers it: blocks, nodes and dictionaries never pass for
    /// each other.
    pub(crate) const fn context_key(self, key: u64) -> u64 {
        match self {
            Op::Node { .. } => key | 1 << 62,
            Op::Dictionary => key | 1 << 61,
            _ => key,
        }
    }

    /// Whether the entry's record is a unit.
    pub(crate) const fn is_unit(self) -> bool {
        matches!(self, Op::Unit | Op::MoveUnit { .. })
    }
}

/// Most words of one entry.
pub(crate) const MAX_WORDS_PER_ENTRY: usize = 3;

const KEY_MASK: u64 = (1 << 40) - 1;

/// One entry of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) op: Op,
    /// Block address, node or dictionary version.
    pub(crate) key: u64,
    /// Stored bytes; for `Zero` the number of blocks.
    pub(crate) length: u32,
    /// Whether this is the last entry of its group.
    pub(crate) last: bool,
}

impl Entry {
    /// Bytes of the entry's payload.
    pub(crate) const fn payload_bytes(&self) -> u32 {
        if matches!(self.op, Op::Zero) { 0 } else { self.length }
    }

    pub(crate) fn push(&self, words: &mut Vec<u64>) {
        let first = self.key & KEY_MASK
            | u64::from(self.length) << 40
            | self.op.code() << 55
            | u64::from(self.last) << 58;
        words.push(first);
        match self.op {
            Op::Move { from, origin_seq } | Op::MoveUnit { from, origin_seq } => {
                words.extend([from.word(), origin_seq]);
            }
            Op::Node { complete_seq } => words.push(complete_seq),
            Op::Data | Op::Unit | Op::Zero | Op::Dictionary => {}
        }
    }
}

/// Iterates over the entries of a table; ends early at an invalid word.
pub(crate) struct Words<'a> {
    words: &'a [u64],
}

impl<'a> Words<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Words<'a> {
        Words { words }
    }

    /// Whether the iteration ended at the end of the table.
    #[cfg(test)]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.words.is_empty()
    }

    fn decode(&self) -> Option<(Entry, usize)> {
        let &first = self.words.first()?;
        let moved = || {
            let (&from, &origin_seq) = (self.words.get(1)?, self.words.get(2)?);
            Some((Location::from_word(from), origin_seq))
        };
        let (op, count) = match first >> 55 & 7 {
            0 => (Op::Data, 1),
            1 => (Op::Unit, 1),
            2 => (Op::Zero, 1),
            3 => moved().map(|(from, origin_seq)| (Op::Move { from, origin_seq }, 3))?,
            4 => moved().map(|(from, origin_seq)| (Op::MoveUnit { from, origin_seq }, 3))?,
            5 => (Op::Node { complete_seq: *self.words.get(1)? }, 2),
            6 => (Op::Dictionary, 1),
            _ => return None,
        };
        let entry = Entry {
            op,
            key: first & KEY_MASK,
            length: (first >> 40 & 0x7FFF) as u32,
            last: first >> 58 & 1 == 1,
        };
        (first >> 59 == 0).then_some((entry, count))
    }
}

impl Iterator for Words<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let (entry, count) = self.decode()?;
        self.words = &self.words[count..];
        Some(entry)
    }
}

/// A node of the map: a leaf holds 512 blocks, a directory 512 leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NodeId {
    Leaf(u64),
    Directory(u64),
}

impl NodeId {
    const DIRECTORY: u64 = 1 << 39;

    pub(crate) const fn word(self) -> u64 {
        match self {
            NodeId::Leaf(number) => number,
            NodeId::Directory(number) => number | NodeId::DIRECTORY,
        }
    }

    pub(crate) const fn from_word(word: u64) -> NodeId {
        if word & NodeId::DIRECTORY == 0 {
            NodeId::Leaf(word)
        } else {
            NodeId::Directory(word & !NodeId::DIRECTORY)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_as_they_went() {
        let from = Location::new(9, 4096, 77, true);
        let ops = [
            Op::Data,
            Op::Unit,
            Op::Zero,
            Op::Move { from, origin_seq: 3 },
            Op::MoveUnit { from, origin_seq: u64::MAX },
            Op::Node { complete_seq: 12 },
            Op::Dictionary,
        ];
        let entries = ops.map(|op| Entry { op, key: KEY_MASK, length: 0x7FFF, last: true });
        let mut words = Vec::new();
        entries.iter().for_each(|entry| entry.push(&mut words));
        let mut decoded = Words::new(&words);
        assert_eq!(decoded.by_ref().collect::<Vec<_>>(), entries);
        assert!(decoded.is_exhausted());
    }

    #[test]
    fn a_table_that_breaks_off_is_not_exhausted() {
        let mut words = Vec::new();
        let op = Op::Move { from: Location::NONE, origin_seq: 0 };
        Entry { op, key: 1, length: 9, last: true }.push(&mut words);
        words.pop();
        for broken in [&words[..], &[7 << 55], &[1 << 60]] {
            let mut decoded = Words::new(broken);
            assert_eq!(decoded.next(), None);
            assert!(!decoded.is_exhausted());
        }
    }

    #[test]
    fn nodes_of_both_kinds_are_told_apart() {
        for node in [NodeId::Leaf(5), NodeId::Directory(5)] {
            assert_eq!(NodeId::from_word(node.word()), node);
        }
        assert_ne!(NodeId::Leaf(5).word(), NodeId::Directory(5).word());
    }
}
