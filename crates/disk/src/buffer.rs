//! Memory for direct I/O: whole blocks, aligned to a block.
//!
//! A buffer grows and is reused; it never shrinks.

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use crate::BLOCK_BYTES;

#[derive(Clone, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK_BYTES as usize]);

/// Bytes in whole blocks, aligned to a block.
#[derive(Default)]
pub struct BlockBuffer {
    blocks: Vec<Block>,
}

impl BlockBuffer {
    /// A buffer of at least `bytes` zeroes.
    #[must_use]
    pub fn zeroed(bytes: usize) -> BlockBuffer {
        let mut buffer = BlockBuffer::default();
        buffer.resize(bytes);
        buffer
    }

    /// Resizes to `bytes`, rounded up to whole blocks. Existing bytes stay, new ones are zero.
    pub fn resize(&mut self, bytes: usize) {
        self.blocks.resize_with(bytes.div_ceil(BLOCK_BYTES as usize), Block::new_zeroed);
    }

    /// The first `bytes` bytes, to be filled; grows the buffer if necessary.
    pub fn first(&mut self, bytes: usize) -> &mut [u8] {
        if self.len() < bytes {
            self.resize(bytes);
        }
        &mut self.as_mut()[..bytes]
    }

    /// Length in bytes, a multiple of a block.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES as usize
    }

    /// Whether the buffer has no bytes.
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
