//! Writes of a connection whose data are still to come.
//!
//! Guarantees: the buffers of all writes together take at most the connection's limit, or one
//! write's; the data of a write arrive exactly once, in order, in the requested bytes.

use std::collections::{BTreeMap, VecDeque};

use crate::transport::LinkFault;
use crate::wire::{DataHeader, FatalReason, Submission};

/// A write that waits for its data.
pub(super) struct Pending {
    pub(super) command: Submission,
    pub(super) data: Vec<u8>,
    filled: usize,
    is_damaged: bool,
}

/// A write whose data are all there.
pub(super) struct Complete {
    pub(super) command: Submission,
    pub(super) data: Vec<u8>,
    /// Whether a digest of the data was wrong.
    pub(super) is_damaged: bool,
}

/// The next request for data, by tag and length.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) command: u16,
    pub(super) tag: u16,
    pub(super) length: u32,
}

pub(super) struct Writes {
    limit_bytes: usize,
    held_bytes: usize,
    pending: BTreeMap<u16, Pending>,
    waiting: VecDeque<Submission>,
    next_tag: u16,
}

/// The place of arriving data among those of a write.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) tag: u16,
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) is_last: bool,
}

impl Writes {
    pub(super) fn new(limit_bytes: usize) -> Writes {
        Writes {
            limit_bytes,
            held_bytes: 0,
            pending: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_tag: 0,
        }
    }

    /// Notes a write; [`Writes::wanted`] says when its data are to be asked for.
    pub(super) fn add(&mut self, command: Submission) {
        self.waiting.push_back(command);
    }

    /// The next write whose data there is room for.
    pub(super) fn wanted(&mut self) -> Option<Wanted> {
        let length = self.waiting.front()?.data.length.get();
        let is_first = self.held_bytes == 0;
        if !is_first && self.held_bytes + length as usize > self.limit_bytes {
            return None;
        }
        let command = self.waiting.pop_front()?;
        let tag = self.free_tag();
        self.held_bytes += length as usize;
        let id = command.id.get();
        let data = vec![0; length as usize];
        self.pending.insert(tag, Pending { command, data, filled: 0, is_damaged: false });
        Some(Wanted { command: id, tag, length })
    }

    fn free_tag(&mut self) -> u16 {
        loop {
            let tag = self.next_tag;
            self.next_tag = tag.wrapping_add(1);
            if !self.pending.contains_key(&tag) {
                return tag;
            }
        }
    }

    /// Checks the header of data from the host, which carry `data_bytes`.
    pub(super) fn arrival(
        &self,
        header: &DataHeader,
        data_bytes: usize,
        is_last: bool,
    ) -> Result<Arrival, LinkFault> {
        const COMMAND_AT: u32 = 8;
        const TAG_AT: u32 = 10;
        let out_of_range = || LinkFault::Protocol { reason: FatalReason::DataRange, detail: 12 };
        let tag = header.tag.get();
        let pending =
            self.pending.get(&tag).ok_or_else(|| crate::transport::wrong_field(TAG_AT))?;
        if header.command.get() != pending.command.id.get() {
            return Err(crate::transport::wrong_field(COMMAND_AT));
        }
        let (offset, length) = (header.offset.get() as usize, header.length.get() as usize);
        let left = pending.data.len() - pending.filled;
        if length != data_bytes || length == 0 || offset != pending.filled || length > left {
            return Err(out_of_range());
        }
        if is_last != (length == left) {
            return Err(out_of_range());
        }
        Ok(Arrival { tag, offset, length, is_last })
    }

    /// The bytes that arriving data go to.
    pub(super) fn room(&mut self, arrival: &Arrival) -> &mut [u8] {
        match self.pending.get_mut(&arrival.tag) {
            Some(pending) => &mut pending.data[arrival.offset..arrival.offset + arrival.length],
            None => &mut [],
        }
    }

    /// Notes data that have arrived; the write, if they were its last.
    pub(super) fn arrived(&mut self, arrival: &Arrival, is_whole: bool) -> Option<Complete> {
        let pending = self.pending.get_mut(&arrival.tag)?;
        pending.filled += arrival.length;
        pending.is_damaged |= !is_whole;
        if !arrival.is_last {
            return None;
        }
        let Pending { command, data, is_damaged, .. } = self.pending.remove(&arrival.tag)?;
        Some(Complete { command, data, is_damaged })
    }

    /// Notes that the buffer of a write is free again.
    pub(super) fn release(&mut self, bytes: usize) {
        self.held_bytes -= bytes;
    }

    /// Number of writes that wait for their data or for room.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.pending.len() + self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{CommonHeader, Digests, IoOpcode, PduKind, Sgl};

    fn write(id: u16, bytes: u32) -> Submission {
        let mut command =
            Submission::new(IoOpcode::Write as u8, 1).with_data(Sgl::transport(bytes));
        command.id.set(id);
        command
    }

    fn header(command: u16, tag: u16, offset: u32, length: u32) -> DataHeader {
        let common = CommonHeader::new(PduKind::HostData, length as usize, Digests::default(), 1);
        DataHeader::new(common, command, tag, offset, length)
    }

    #[test]
    fn writes_wait_for_room_and_go_in_order() {
        let mut writes = Writes::new(8192);
        for id in 0..3 {
            writes.add(write(id, 4096));
        }
        let wanted = |one: Option<Wanted>| one.map(|one| (one.command, one.tag));
        assert_eq!(wanted(writes.wanted()), Some((0, 0)));
        assert_eq!(wanted(writes.wanted()), Some((1, 1)));
        assert_eq!(wanted(writes.wanted()), None, "the limit");
        writes.release(4096);
        assert_eq!(wanted(writes.wanted()), Some((2, 2)));
        let mut small = Writes::new(10);
        small.add(write(7, 4096));
        assert!(small.wanted().is_some(), "one alone always has room");
    }

    #[test]
    fn data_come_once_in_order_and_whole() {
        let mut writes = Writes::new(1 << 20);
        writes.add(write(5, 8192));
        let Wanted { tag, .. } = writes.wanted().unwrap();
        let bad = [
            (header(5, tag + 1, 0, 4096), 4096, false),
            (header(6, tag, 0, 4096), 4096, false),
            (header(5, tag, 4096, 4096), 4096, false),
            (header(5, tag, 0, 4096), 4096, true),
            (header(5, tag, 0, 8192), 8192, false),
            (header(5, tag, 0, 12288), 12288, true),
            (header(5, tag, 0, 4096), 512, false),
            (header(5, tag, 0, 0), 0, false),
        ];
        for (header, bytes, is_last) in &bad {
            assert!(writes.arrival(header, *bytes, *is_last).is_err(), "{header:?}");
        }
        let first = writes.arrival(&header(5, tag, 0, 4096), 4096, false).unwrap();
        writes.room(&first).fill(1);
        assert!(writes.arrived(&first, true).is_none());
        assert!(writes.arrival(&header(5, tag, 0, 4096), 4096, false).is_err(), "twice");
        let last = writes.arrival(&header(5, tag, 4096, 4096), 4096, true).unwrap();
        writes.room(&last).fill(2);
        let complete = writes.arrived(&last, true).unwrap();
        assert_eq!((complete.data[0], complete.data[8191], complete.is_damaged), (1, 2, false));
        assert_eq!(writes.len(), 0);
    }
}
