//! A group: records that take effect together, encoded before the log gives them places.
//!
//! Encoding is expensive and needs no lock; fields that depend on the place are filled in later.

use crate::codec::{Dictionary, Encoding};
use crate::format::{Entry, Op, RECORD_HEADER_BYTES, plain_checksum};

/// One record of a group, or one run of zeroes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) op: Op,
    /// Block address, node or dictionary version.
    pub(crate) key: u64,
    /// Stored bytes with their header; for zeroes the number of blocks.
    pub(crate) length: u32,
    /// Offset of the payload in the group's bytes.
    pub(crate) start: usize,
    pub(crate) codec_id: u8,
    /// Checksum of codec id and payload, not yet bound to a place.
    pub(crate) plain: u32,
}

impl Record {
    pub(crate) fn payload<'a>(&self, group: &'a Group) -> &'a [u8] {
        let length = self.length as usize - RECORD_HEADER_BYTES;
        &group.bytes[self.start..self.start + length]
    }

    pub(crate) fn entry(&self, last: bool) -> Entry {
        Entry { op: self.op, key: self.key, length: self.length, last }
    }

    /// Words of the record's table entry.
    pub(crate) fn words(&self) -> usize {
        match self.op {
            Op::Move { .. } | Op::MoveUnit { .. } => 3,
            Op::Node { .. } => 2,
            Op::Data | Op::Unit | Op::Zero | Op::Dictionary => 1,
        }
    }

    pub(crate) fn has_payload(&self) -> bool {
        self.op != Op::Zero
    }

    /// Blocks that the record covers.
    pub(crate) fn blocks(&self) -> u64 {
        match self.op {
            Op::Zero => u64::from(self.length),
            Op::Unit | Op::MoveUnit { .. } => crate::format::UNIT_BLOCKS,
            _ => 1,
        }
    }
}

/// Records that take effect together. Reused, and keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) records: Vec<Record>,
    pub(crate) bytes: Vec<u8>,
}

impl Group {
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
    }

    /// Adds the record whose payload `encode` appends and whose codec id it returns.
    pub(crate) fn push(&mut self, op: Op, key: u64, encode: impl FnOnce(&mut Vec<u8>) -> u8) {
        self.push_with(None, op, key, encode);
    }

    /// Like [`Group::push`], for a record that may need a dictionary.
    pub(crate) fn push_with(
        &mut self,
        dictionary: Option<&Dictionary>,
        op: Op,
        key: u64,
        encode: impl FnOnce(&mut Vec<u8>) -> u8,
    ) {
        let start = self.bytes.len();
        let codec_id = encode(&mut self.bytes);
        let payload = &self.bytes[start..];
        let length = (payload.len() + RECORD_HEADER_BYTES) as u32;
        let needed = dictionary.filter(|_| codec_id == Encoding::ZstdDictionary.id());
        let plain = plain_checksum(codec_id, payload, needed.map(Dictionary::checksum));
        self.records.push(Record { op, key, length, start, codec_id, plain });
    }

    /// Adds zeroes, to the previous run if they continue it.
    pub(crate) fn push_zeroes(&mut self, block: u64, blocks: u32) {
        if let Some(last) = self.records.last_mut()
            && last.op == Op::Zero
            && last.key + u64::from(last.length) == block
            && last.length + blocks <= ZERO_BLOCKS_MAX
        {
            last.length += blocks;
            return;
        }
        let record =
            Record { op: Op::Zero, key: block, length: blocks, start: 0, codec_id: 0, plain: 0 };
        self.records.push(record);
    }

    /// Payload bytes with record headers.
    pub(crate) fn payload_bytes(&self) -> usize {
        let stored = self.records.iter().filter(|record| record.has_payload());
        stored.map(|record| record.length as usize).sum()
    }

    /// Cost of a replay of the wanted records, in blocks changed in the map. A block of a long run
    /// of zeroes costs little.
    pub(crate) fn replay_blocks(&self, wanted: impl Fn(usize) -> bool) -> u64 {
        let wanted = self.records.iter().enumerate().filter(|(index, _)| wanted(*index));
        wanted
            .map(|(_, record)| match record.op {
                Op::Zero => {
                    let blocks = record.blocks();
                    blocks.min(ZERO_BLOCKS_PER_BLOCK) + blocks / ZERO_BLOCKS_PER_BLOCK
                }
                _ => record.blocks(),
            })
            .sum()
    }

    /// Table words.
    pub(crate) fn words(&self) -> usize {
        self.records.iter().map(Record::words).sum()
    }
}

/// Longest run of zeroes in one entry, the maximum of its length field.
pub(crate) const ZERO_BLOCKS_MAX: u32 = (1 << 15) - 1;

/// Blocks of a long run of zeroes that a replay applies in the time of one written block.
const ZERO_BLOCKS_PER_BLOCK: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_zeroes_join_and_records_keep_their_payload() {
        let mut group = Group::default();
        group.push_zeroes(4, 1);
        group.push_zeroes(5, 2);
        group.push(Op::Data, 7, |out| {
            out.extend([1, 2, 3]);
            9
        });
        group.push_zeroes(8, 1);
        let lengths: Vec<_> = group.records.iter().map(|record| record.length).collect();
        assert_eq!(lengths, [3, 8, 1]);
        assert_eq!(group.records[1].payload(&group), [1, 2, 3]);
        assert_eq!(group.payload_bytes(), 8);
    }

    #[test]
    fn a_run_never_outgrows_its_field() {
        let mut group = Group::default();
        group.push_zeroes(0, ZERO_BLOCKS_MAX);
        group.push_zeroes(u64::from(ZERO_BLOCKS_MAX), 1);
        assert_eq!(group.records.len(), 2);
    }
}
