//! The written data: zeroes, as in sysbench, or words that depend on their place.
//!
//! The content depends on file and offset alone, so a read can be verified whichever thread wrote
//! the data and when, and a block from another place is noticed.

use assay_disk::BLOCK_BYTES;

use crate::random::Rng;

/// Seed of the contents in addition to their place: an arbitrary constant.
const SEED: u64 = 20_150_407;

/// Content by place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    /// Number of random bytes in each block; the rest is zeroes.
    drawn_bytes: usize,
}

impl Data {
    /// Data with this compression ratio; `None` for zeroes.
    pub(super) fn new(ratio: Option<f64>) -> Option<Data> {
        let ratio = ratio?;
        Some(Data { drawn_bytes: ((BLOCK_BYTES as f64 / ratio) as usize).max(8) })
    }

    /// Fills `bytes` with the content at `offset` of `file`.
    pub(super) fn fill(self, bytes: &mut [u8], file: u32, offset: u64) {
        let mut done = 0;
        while done < bytes.len() {
            let place = offset + done as u64;
            let within = (place % BLOCK_BYTES) as usize;
            let end = bytes.len().min(done + BLOCK_BYTES as usize - within);
            self.fill_part(&mut bytes[done..end], file, place - within as u64, within);
            done = end;
        }
    }

    /// Fills a part of the block at `place`, from `within` on.
    fn fill_part(self, part: &mut [u8], file: u32, place: u64, within: usize) {
        if part.len() == BLOCK_BYTES as usize {
            return self.fill_block(part, file, place);
        }
        let mut block = [0; BLOCK_BYTES as usize];
        self.fill_block(&mut block, file, place);
        part.copy_from_slice(&block[within..within + part.len()]);
    }

    fn fill_block(self, block: &mut [u8], file: u32, place: u64) {
        let mut rng = Rng::new(SEED ^ place, u64::from(file));
        let (drawn, zeroes) = block.split_at_mut(self.drawn_bytes.min(block.len()));
        for word in drawn.chunks_mut(8) {
            word.copy_from_slice(&rng.next_u64().to_le_bytes()[..word.len()]);
        }
        zeroes.fill(0);
    }

    /// Returns true if `bytes` are the content at this place; `scratch` is as long.
    pub(super) fn is(self, bytes: &[u8], scratch: &mut [u8], file: u32, offset: u64) -> bool {
        self.fill(scratch, file, offset);
        bytes == scratch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_follow_from_their_place_and_compress_as_asked() {
        let of = |ratio, file, offset| {
            let mut bytes = vec![7; 16_384];
            Data::new(Some(ratio)).unwrap().fill(&mut bytes, file, offset);
            bytes
        };
        assert_eq!(of(2.0, 1, 4096), of(2.0, 1, 4096));
        assert_ne!(of(2.0, 1, 4096), of(2.0, 2, 4096));
        assert_ne!(of(2.0, 1, 4096)[..4096], of(2.0, 1, 8192)[..4096]);
        assert_eq!(of(2.0, 1, 0)[4096..], of(2.0, 1, 4096)[..12_288], "however it is cut");
        assert_eq!(of(2.0, 1, 0)[1001..], of(2.0, 1, 1001)[..15_383], "also within blocks");
        let level = zstd::compress_bound(16_384);
        for (ratio, least, most) in [(1.0, 16_000, level), (4.0, 4_000, 4_400)] {
            let packed = zstd::bulk::compress(&of(ratio, 3, 0), 1).unwrap().len();
            assert!((least..=most).contains(&packed), "{ratio}: {packed}");
        }
        assert!(Data::new(None).is_none());
    }

    #[test]
    fn a_block_from_elsewhere_is_found() {
        let data = Data::new(Some(1.0)).unwrap();
        let (mut bytes, mut scratch) = (vec![0; 8192], vec![0; 8192]);
        data.fill(&mut bytes, 0, 8192);
        assert!(data.is(&bytes, &mut scratch, 0, 8192));
        assert!(!data.is(&bytes, &mut scratch, 0, 0));
        bytes[5000] ^= 1;
        assert!(!data.is(&bytes, &mut scratch, 0, 8192));
    }
}
