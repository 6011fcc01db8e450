//! Chunks in memory: those being filled, and sealed ones that are not written yet. Readers look for
//! records here before they read media.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use zerocopy::IntoBytes;

use crate::format::{
    CHUNK_BYTES_MAX, CHUNK_HEADER_BYTES, ChunkHeader, Location, Stream, parity_of,
};
use crate::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, whole};
use assay_disk::BLOCK_BYTES;
use assay_disk::BlockBuffer;

/// Buffers that are kept for the next chunks.
const SPARE_BUFFERS: usize = 4;

/// The bytes of one chunk or footer.
#[derive(Debug)]
pub(crate) struct ChunkBuffer {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    /// The end of the chunk in the segment; while it is open, the largest possible end.
    end: AtomicU32,
    bytes: RwLock<BlockBuffer>,
}

impl ChunkBuffer {
    pub(crate) fn new(segment: u32, offset: u32, bytes: BlockBuffer) -> ChunkBuffer {
        let end = AtomicU32::new(offset + bytes.len() as u32);
        ChunkBuffer { segment, offset, end, bytes: RwLock::new(bytes) }
    }

    /// Locks the bytes for writing. A writer only copies and cannot panic, so the bytes behind a
    /// poisoned lock are whole.
    pub(crate) fn bytes_mut(&self) -> RwLockWriteGuard<'_, BlockBuffer> {
        whole(self.bytes.write())
    }

    pub(crate) fn bytes(&self) -> RwLockReadGuard<'_, BlockBuffer> {
        whole(self.bytes.read())
    }

    /// Adds tables, header and parity; returns the length of the chunk.
    pub(crate) fn finish(&self, header: &ChunkHeader, words: &[u64], repeat: &[u64]) -> usize {
        let length = header.chunk_bytes() as usize;
        let mut buffer = self.bytes_mut();
        let bytes = &mut buffer.first(length)[..length];
        let table_at = CHUNK_HEADER_BYTES + header.payload_bytes as usize;
        let repeat_at = table_at + 8 * words.len();
        let table_end = repeat_at + 8 * repeat.len();
        put_words(words, &mut bytes[table_at..repeat_at]);
        put_words(repeat, &mut bytes[repeat_at..table_end]);
        bytes[table_end..].fill(0);
        let (head, rest) = bytes.split_at_mut(CHUNK_HEADER_BYTES);
        let table = &rest[table_at - CHUNK_HEADER_BYTES..table_end - CHUNK_HEADER_BYTES];
        header.encode(table, head);
        if header.stream == Stream::Map {
            let (blocks, parity) = bytes.split_at_mut(length - BLOCK_BYTES as usize);
            parity_of(blocks, parity);
        }
        self.end.store(self.offset + length as u32, Ordering::Release);
        length
    }

    /// Like [`ChunkBuffer::finish`], for a footer, whose header comes last.
    pub(crate) fn finish_footer(&self, header: &ChunkHeader, words: &[u64]) {
        let mut buffer = self.bytes_mut();
        let bytes = buffer.as_mut();
        put_words(words, &mut bytes[..8 * words.len()]);
        let header_at = bytes.len() - CHUNK_HEADER_BYTES;
        let (table, head) = bytes.split_at_mut(header_at);
        header.encode(&table[..8 * words.len()], head);
    }

    fn holds(&self, place: Location) -> bool {
        self.segment == place.segment()
            && place.offset() >= self.offset
            && place.offset() < self.end.load(Ordering::Acquire)
    }
}

fn put_words(words: &[u64], out: &mut [u8]) {
    for (word, bytes) in words.iter().zip(out.chunks_exact_mut(8)) {
        bytes.copy_from_slice(word.to_le_bytes().as_bytes());
    }
}

/// All chunks in memory, and the number by which each segment was opened.
#[derive(Debug)]
pub(crate) struct Chunks {
    live: RwLock<Vec<Arc<ChunkBuffer>>>,
    spare: Mutex<Vec<BlockBuffer>>,
    opened: Box<[AtomicU64]>,
    segment_bytes: u32,
}

impl Chunks {
    pub(crate) fn new(opened: impl Iterator<Item = u64>, segment_bytes: u32) -> Chunks {
        Chunks {
            live: RwLock::default(),
            spare: Mutex::default(),
            opened: opened.map(AtomicU64::new).collect(),
            segment_bytes,
        }
    }

    /// Notes the number by which a segment was opened.
    pub(crate) fn opened(&self, segment: u32, opened_seq: u64) {
        self.opened[segment as usize].store(opened_seq, Ordering::Release);
    }

    /// The number by which a segment was opened.
    pub(crate) fn opened_seq(&self, segment: u32) -> u64 {
        self.opened[segment as usize].load(Ordering::Acquire)
    }

    /// A new chunk to be filled at this place.
    pub(crate) fn open(&self, segment: u32, offset: u32) -> Arc<ChunkBuffer> {
        let room = (self.segment_bytes - offset).min(CHUNK_BYTES_MAX) as usize;
        let mut bytes = self.spares().pop().unwrap_or_default();
        // The maximum length, so that the next chunk can reuse the buffer.
        bytes.first(self.buffer_bytes());
        let chunk = ChunkBuffer::new(segment, offset, bytes);
        chunk.end.store(offset + room as u32, Ordering::Release);
        let chunk = Arc::new(chunk);
        whole(self.live.write()).push(Arc::clone(&chunk));
        chunk
    }

    /// The chunk that holds a record, if it is in memory.
    pub(crate) fn find(&self, place: Location) -> Option<Arc<ChunkBuffer>> {
        let live = whole(self.live.read());
        live.iter().find(|chunk| chunk.holds(place)).cloned()
    }

    /// Releases a written chunk.
    pub(crate) fn close(&self, chunk: Arc<ChunkBuffer>) {
        {
            let mut live = whole(self.live.write());
            live.retain(|other| !Arc::ptr_eq(other, &chunk));
        }
        if let Some(chunk) = Arc::into_inner(chunk) {
            let bytes = whole(chunk.bytes.into_inner());
            let mut spares = self.spares();
            if spares.len() < SPARE_BUFFERS && bytes.len() == self.buffer_bytes() {
                spares.push(bytes);
            }
        }
    }

    /// Length of the longest possible chunk.
    fn buffer_bytes(&self) -> usize {
        self.segment_bytes.min(CHUNK_BYTES_MAX) as usize
    }

    fn spares(&self) -> MutexGuard<'_, Vec<BlockBuffer>> {
        whole(self.spare.lock())
    }
}
