//! A drive whose newest checkpoint has lost its root.

use assay_drive::BLOCK_BYTES;

use super::anatomy::{geometry, u64_at};
use super::media::SimulatedMedia;

/// Wipes the chunks of the root that counts: that of the newest whole superblock.
pub fn destroy_roots(media: &SimulatedMedia) {
    let image = media.image();
    let is_whole = |at: &usize| {
        let (bytes, sum) = image[*at..*at + 4096].split_at(4092);
        crc32c::crc32c(bytes).to_le_bytes() == sum
    };
    let both = [0, image.len() - 4096].into_iter().filter(is_whole);
    let newest = both.max_by_key(|at| u64_at(&image, at + 48));
    let Some(superblock) = newest else { return };
    for part in 0..u64_at(&image, superblock + 96) as usize {
        let place = u64_at(&image, superblock + 104 + 8 * part);
        let start = geometry(&image[superblock..]).segment_start(place & 0xF_FFFF);
        // Parity brings back one block: it takes two.
        let first = (start + (place >> 20 & 0x3FF_FFFF)) / BLOCK_BYTES;
        media.wipe(first);
        media.wipe(first + 1);
    }
}
