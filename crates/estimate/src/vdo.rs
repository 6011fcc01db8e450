//! dm-vdo's packing: compressed blocks become fragments, and at least two fragments share a block.
//!
//! Follows `drivers/md/dm-vdo/packer.{c,h}` of Linux 6.9 and later. The kernel's packer also writes
//! its bins at every flush of the host, which packs less.

use assay_drive::BLOCK_BYTES;

/// Capacity of a block of fragments: without its header of 8 bytes and 14 sizes of 2 bytes
/// (`VDO_COMPRESSED_BLOCK_DATA_SIZE`).
const ROOM_BYTES: usize = BLOCK_BYTES as usize - 8 - 2 * MOST_FRAGMENTS;

/// The longest fragment that can share a block (`VDO_MAX_COMPRESSED_FRAGMENT_SIZE`).
pub const LONGEST_FRAGMENT_BYTES: usize = ROOM_BYTES - 1;

/// Fragments in one block (`VDO_MAX_COMPRESSION_SLOTS`).
const MOST_FRAGMENTS: usize = 14;

/// Blocks that are filled concurrently (`DEFAULT_PACKER_BINS`).
const BINS: usize = 16;

/// Packs fragments and accounts each block to the owners of its fragments.
#[derive(Debug)]
pub struct Packer {
    /// Sorted by free space, the fullest first.
    bins: Vec<Bin>,
    /// Bytes of blocks, by owner.
    shares: Vec<f64>,
}

#[derive(Debug, Default, Clone)]
struct Bin {
    used_bytes: usize,
    owners: Vec<usize>,
}

impl Bin {
    fn free_bytes(&self) -> usize {
        ROOM_BYTES - self.used_bytes
    }

    fn is_done(&self) -> bool {
        self.free_bytes() == 0 || self.owners.len() == MOST_FRAGMENTS
    }
}

impl Packer {
    #[must_use]
    pub fn new() -> Packer {
        Packer { bins: vec![Bin::default(); BINS], shares: Vec::new() }
    }

    /// Puts a fragment into the fullest bin that has space for it. If none has, writes the fullest
    /// bin and puts the fragment there; a fragment that is too long is stored as a block of its
    /// own.
    pub fn pack(&mut self, owner: usize, fragment_bytes: usize) {
        let fits = self.bins.iter().position(|bin| bin.free_bytes() >= fragment_bytes);
        let place = match fits {
            Some(place) => place,
            None if fragment_bytes >= self.bins[0].used_bytes => return self.store_whole(owner),
            None => {
                self.write(0);
                0
            }
        };
        let bin = &mut self.bins[place];
        bin.used_bytes += fragment_bytes;
        bin.owners.push(owner);
        if bin.is_done() {
            self.write(place);
        }
        self.bins.sort_by_key(Bin::free_bytes);
    }

    /// Stores an uncompressed block.
    pub fn store_whole(&mut self, owner: usize) {
        self.charge(owner, BLOCK_BYTES as f64);
    }

    /// Writes all bins and returns the bytes of each of `owners` owners.
    pub fn finish(&mut self, owners: usize) -> Vec<f64> {
        (0..BINS).for_each(|place| self.write(place));
        self.shares.resize(owners, 0.0);
        std::mem::take(&mut self.shares)
    }

    fn write(&mut self, place: usize) {
        let bin = std::mem::take(&mut self.bins[place]);
        let share = BLOCK_BYTES as f64 / bin.owners.len() as f64;
        bin.owners.into_iter().for_each(|owner| self.charge(owner, share));
    }

    fn charge(&mut self, owner: usize, bytes: f64) {
        if self.shares.len() <= owner {
            self.shares.resize(owner + 1, 0.0);
        }
        self.shares[owner] += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(fragments: &[usize]) -> f64 {
        let mut packer = Packer::new();
        fragments.iter().for_each(|&bytes| packer.pack(0, bytes));
        let blocks = packer.finish(1)[0] / 4096.0;
        // Shares of a block of several are no binary fractions.
        (blocks * 1e6).round() / 1e6
    }

    #[test]
    fn fragments_that_pair_share_a_block_and_others_have_their_own() {
        assert_eq!(blocks(&[]), 0.0);
        assert_eq!(blocks(&[100]), 1.0, "nothing to share with");
        assert_eq!(blocks(&[2030, 2030]), 1.0, "4060 bytes are all there is");
        assert_eq!(blocks(&[2030, 2031]), 2.0);
        assert_eq!(blocks(&[1000; 4]), 1.0);
        assert_eq!(blocks(&[100; 14]), 1.0);
        assert_eq!(blocks(&[100; 15]), 2.0, "fourteen at most");
        assert_eq!(blocks(&[2000; 200]), 100.0);
        assert_eq!(blocks(&[2100; 200]), 200.0, "more than half never pairs");
    }

    #[test]
    fn a_fragment_goes_where_it_leaves_least_room() {
        // 3000 and 2500 lie in bins of their own; 1000 fits both and goes to 3000, so 1500 still
        // finds 2500.
        assert_eq!(blocks(&[3000, 2500, 1000, 1500]), 2.0);
    }

    #[test]
    fn with_all_bins_taken_the_fullest_is_written_unless_the_newcomer_is_larger() {
        let mut packer = Packer::new();
        (0..16).for_each(|owner| packer.pack(owner, 2500 + owner));
        packer.pack(16, 3000);
        packer.pack(17, 2400);
        // 3000 is stored alone; 2400 takes the bin of 2515, the fullest.
        packer.pack(18, 1540);
        let shares = packer.finish(19);
        assert_eq!((shares[16], shares[15]), (4096.0, 4096.0));
        assert_eq!((shares[17], shares[18]), (4096.0, 2048.0));
        assert_eq!(shares[14], 2048.0, "1540 fits best beside 2514, not beside 2400");
    }

    #[test]
    fn shares_add_up_to_whole_blocks() {
        let mut packer = Packer::new();
        (0..1000).for_each(|number| packer.pack(number % 7, 200 + number * 37 % 3800));
        let total: f64 = packer.finish(7).iter().sum();
        assert!((total / 4096.0).fract().min(1.0 - (total / 4096.0).fract()) < 1e-6, "{total}");
        assert_eq!(packer.finish(2), [0.0, 0.0], "a finished packer begins anew");
    }
}
