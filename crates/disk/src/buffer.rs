//! Memory that a device may write to directly: whole blocks, each on a block's boundary.
//!
//! Direct I/O takes nothing else. A buffer grows and is used again; it is never given back in between.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::BLOCK_BYTES;

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK_BYTES as usize]);

/// Bytes on a block's boundary, in whole blocks.
#[derive(Default)]
pub struct BlockBuffer {
    blocks: Vec<Block>,
}

impl BlockBuffer {
    /// Zeroes, at least `bytes` of them.
    #[must_use]
    pub fn zeroed(bytes: usize) -> BlockBuffer {
        let mut buffer = BlockBuffer::default();
        buffer.resize(bytes);
        buffer
    }

    /// Makes room for `bytes`, rounded up to whole blocks; what was there stays, what is new is zero.
    pub fn resize(&mut self, bytes: usize) {
        self.blocks.resize_with(bytes.div_ceil(BLOCK_BYTES as usize), Block::new_zeroed);
    }

    /// The first `bytes` bytes, made longer when the buffer is shorter: for filling.
    pub fn first(&mut self, bytes: usize) -> &mut [u8] {
        if self.len() < bytes {
            self.resize(bytes);
        }
        &mut self.as_mut()[..bytes]
    }

    /// Bytes in the buffer, a multiple of a block.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

impl AsRef<[u8]> for BlockBuffer {
    fn as_ref(&self) -> &[u8] {
        self.blocks.as_bytes()
    }
}

impl AsMut<[u8]> for BlockBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        self.blocks.as_mut_bytes()
    }
}

impl std::fmt::Debug for BlockBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BlockBuffer({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_lies_on_a_block_and_keeps_its_bytes_when_it_grows() {
        let mut buffer = BlockBuffer::zeroed(1);
        buffer.first(10).fill(7);
        buffer.resize(9000);
        assert_eq!(buffer.len(), 3 * 4096);
        assert_eq!(buffer.as_ref().as_ptr() as usize % 4096, 0);
        assert_eq!(&buffer.as_ref()[..11], &[7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0]);
    }
}
