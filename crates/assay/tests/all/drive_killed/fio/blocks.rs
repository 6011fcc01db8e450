//! Self-certifying blocks: each holds its address and the number of the command that wrote it, and
//! its other bytes follow from these two.

use assay_drive::{BLOCK_BYTES, is_zero};

const MAGIC: u64 = u64::from_le_bytes(*b"assaykll");

/// Number of the command that wrote a block.
pub type Writer = u64;

/// Writer of a block of zeroes: never written, or discarded.
pub const NOBODY: Writer = 0;

/// Fills a block; between a quarter of it and all of it is random, so that codecs get easy and
/// hopeless blocks.
pub fn fill(block: &mut [u8], address: u64, writer: Writer) {
    block.fill(0);
    for (word, place) in [MAGIC, address, writer].into_iter().zip(block.chunks_mut(8)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let mut state = (address << 32 ^ writer).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let noise_bytes = BLOCK_BYTES as usize / 4 * (1 + (state >> 62) as usize);
    for place in block[24..noise_bytes].chunks_mut(8) {
        // Marsaglia, "Xorshift RNGs", 2003.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        place.copy_from_slice(&state.to_le_bytes()[..place.len()]);
    }
}

/// Writer of a block that was read at `address`.
///
/// # Errors
/// The block is neither zeroes nor a whole block of this address.
pub fn writer_of(block: &[u8], address: u64) -> Result<Writer, String> {
    if is_zero(block) {
        return Ok(NOBODY);
    }
    let word = |index: usize| u64::from_le_bytes(block[index * 8..][..8].try_into().unwrap());
    let writer = word(2);
    let mut whole = vec![0; block.len()];
    fill(&mut whole, address, writer);
    if block == whole {
        return Ok(writer);
    }
    let place = match word(0) == MAGIC {
        true => format!("it names block {} and command {writer}", word(1)),
        false => "it bears no mark of ours".into(),
    };
    Err(format!("block {address} is torn or damaged: {place}"))
}
