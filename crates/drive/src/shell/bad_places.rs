//! Media that cannot be read in places: what can be is, and a chunk of the map's stream brings one lost block back.
//!
//! A read that fails is asked for again, for a disk may fail once; then block by block. What cannot be read even so is
//! zeroes, which no structure of the drive passes for.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use assay_disk::{BLOCK_BYTES, BlockBuffer, Disk, DiskError, Result};

use crate::core::tables::{SegmentChunk, chunks_of};
use crate::format::{Identity, Location, NodeId, Stream, Superblock, parity_of};
use crate::shell::commit::chain;
use crate::shell::drive::Drive;
use crate::status::Counters;
use crate::sync::{Mutex, whole};

const BLOCK: usize = BLOCK_BYTES as usize;

/// A chunk's bytes, and which of its blocks could not be read.
pub(crate) struct ReadChunk {
    pub(crate) bytes: Vec<u8>,
    unreadable: Vec<usize>,
}

impl ReadChunk {
    pub(crate) fn blocks(&self) -> usize {
        self.bytes.len() / BLOCK
    }

    /// The chunk with that one of `candidates` made anew from the others for which it `fits`; none if there is no such.
    pub(crate) fn restore(
        &mut self,
        candidates: Range<usize>,
        fits: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        let candidates: Vec<usize> = match self.unreadable[..] {
            [] => candidates.collect(),
            [one] => vec![one],
            _ => return None,
        };
        candidates.into_iter().find_map(|block| {
            let mut bytes = self.bytes.clone();
            let place = block * BLOCK..(block + 1) * BLOCK;
            bytes.get_mut(place.clone())?.fill(0);
            let mut restored = [0; BLOCK];
            parity_of(&bytes, &mut restored);
            bytes[place].copy_from_slice(&restored);
            fits(&bytes).then_some(bytes)
        })
    }
}

/// Segments with a place that could not be read, by the number that they were opened with; shared by all that open one drive.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unreadable(Arc<Mutex<HashSet<(u32, u64)>>>);

impl Unreadable {
    fn note(&self, segment: u32, opened_seq: u64) {
        whole(self.0.lock()).insert((segment, opened_seq));
    }

    pub(crate) fn has(&self, segment: u32, opened_seq: u64) -> bool {
        let all = whole(self.0.lock());
        all.contains(&(segment, opened_seq))
    }
}

impl Drive {
    /// Reads what can be read; the rest is zeroes. True if there is such a rest.
    ///
    /// # Errors
    /// Any but of input and output.
    pub(crate) fn read_tolerant(&self, offset: u64, bytes: &mut [u8]) -> Result<bool> {
        if self.try_read(offset, bytes)? || self.try_read(offset, bytes)? {
            return Ok(false);
        }
        let mut is_unreadable = false;
        for (at, block) in (offset..).step_by(BLOCK).zip(bytes.chunks_mut(BLOCK)) {
            if !self.try_read(at, block)? && !self.try_read(at, block)? {
                block.fill(0);
                is_unreadable = true;
                self.report(format!("the media cannot be read at its byte {at}"));
            }
        }
        Ok(is_unreadable)
    }

    /// Whether it could be read.
    fn try_read(&self, offset: u64, bytes: &mut [u8]) -> Result<bool> {
        match self.read_media(offset, bytes) {
            Ok(()) => Ok(true),
            Err(DiskError::Io(_)) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Reads a chunk block by block where it cannot be read at once.
    pub(crate) fn read_chunk(&self, segment: u32, place: Range<u32>) -> Result<ReadChunk> {
        let start = self.identity.segment_start(segment) + u64::from(place.start);
        let mut buffer = BlockBuffer::default();
        let length = (place.end - place.start) as usize;
        let mut unreadable = Vec::new();
        let whole = buffer.first(length);
        if !self.try_read(start, whole)? {
            for (number, block) in whole.chunks_mut(BLOCK).enumerate() {
                let at = start + (number * BLOCK) as u64;
                if !self.try_read(at, block)? && !self.try_read(at, block)? {
                    block.fill(0);
                    unreadable.push(number);
                }
            }
        }
        if !unreadable.is_empty() {
            self.note_unreadable(segment);
        }
        Ok(ReadChunk { bytes: whole.to_vec(), unreadable })
    }

    /// Remembers a segment with a place that cannot be read: what is written there next might not come back either.
    pub(crate) fn note_unreadable(&self, segment: u32) {
        self.unreadable.note(segment, self.chunks.opened_seq(segment));
    }

    /// Whether a place of a segment could not be read since it was opened.
    pub(crate) fn is_unreadable(&self, segment: u32) -> bool {
        self.unreadable.has(segment, self.chunks.opened_seq(segment))
    }

    /// A record of the map's stream, made whole from the rest of its chunk; none if more than one block of that is bad.
    pub(crate) fn restored_record(&self, place: Location, key: u64) -> Result<Option<Vec<u8>>> {
        let Some(around) = self.chunk_around(place)? else { return Ok(None) };
        let mut chunk = self.read_chunk(place.segment(), around.clone())?;
        let first = (place.offset() - around.start) as usize;
        let record = first..first + place.length() as usize;
        let fits = |bytes: &[u8]| {
            bytes
                .get(record.clone())
                .is_some_and(|stored| self.check_record(stored, place, key).is_ok())
        };
        if fits(&chunk.bytes) {
            // It was in memory that it was wrong, or on its way here.
            return Ok(Some(chunk.bytes[record].to_vec()));
        }
        let blocks = record.start / BLOCK..record.end.div_ceil(BLOCK);
        let restored = chunk.restore(blocks, fits);
        if restored.is_some() {
            Counters::add(&self.counters.restored_records, 1);
            let at = self.identity.segment_start(place.segment()) + u64::from(place.offset());
            self.report(format!(
                "a part of the map at byte {at} of the media was damaged and restored from its parity"
            ));
        }
        Ok(restored.map(|bytes| bytes[record].to_vec()))
    }

    /// The chunk of the map's stream in which a record lies.
    fn chunk_around(&self, place: Location) -> Result<Option<Range<u32>>> {
        let (segment, offset) = (place.segment(), place.offset());
        let (opened_seq, open) = {
            let log = self.log()?;
            let cursor = log.cursor(Stream::Map);
            let is_open = cursor.segment == segment;
            (log.space.get(segment).opened_seq, is_open.then_some(cursor))
        };
        let chunks: Vec<SegmentChunk> = match open {
            Some(cursor) => chunks_of(Stream::Map, &cursor.words, cursor.offset)
                .into_iter()
                .map(|chunk| SegmentChunk { bytes: chunk.bytes, ..chunk })
                .collect(),
            None => match self.read_footer(segment, opened_seq)? {
                Some(footer) => footer.chunks(),
                None => self.walk_chunks(segment, opened_seq, 0, 0..u64::MAX)?.all(),
            },
        };
        // Without a footer the bad block may be a chunk's first: then it is what lies between its neighbours.
        let mut start = 0;
        for chunk in chunks {
            if offset < chunk.offset {
                return Ok(Some(start..chunk.offset));
            }
            if offset < chunk.offset + chunk.bytes {
                return Ok(Some(chunk.offset..chunk.offset + chunk.bytes));
            }
            start = chunk.offset + chunk.bytes;
        }
        Ok(None)
    }

    /// What could not be read is one bad place, unless all of the media is gone: a flush and the superblocks tell, and then the
    /// drive stops before it gives anything up.
    pub(crate) fn media_lives(&self) -> Result<()> {
        self.sync_media()?;
        let superblock = self.superblock().clone();
        drive_lives(&*self.media, &superblock)
            .map_err(|error| self.stop(format!("the media cannot be read: {}", chain(&error))))
    }

    /// Gives up a node that cannot be read: its blocks are lost until they are overwritten or discarded.
    pub(crate) fn lose_node(&self, node: NodeId, place: Location, what: &str) -> Result<()> {
        Counters::add(&self.counters.damaged_records, 1);
        let blocks = crate::core::nodes::blocks_of(node);
        let (first, end) = (blocks.start * BLOCK_BYTES, blocks.end * BLOCK_BYTES);
        self.report(format!(
            "the map is damaged: data written from byte {first} to {end} is lost until it is overwritten ({what})"
        ));
        let _log = self.log()?;
        self.map_mut()?.lose(node, place);
        Ok(())
    }
}

/// What could not be read were bad places, unless the media is gone altogether: then nothing that was found out counts.
pub(crate) fn drive_lives(media: &dyn Disk, superblock: &Superblock) -> Result<()> {
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    let [first, second] = Identity::superblock_places(superblock.identity.media_bytes);
    media.read(first, block.as_mut()).or_else(|_| media.read(second, block.as_mut()))
}
