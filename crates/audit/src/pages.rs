//! The pages of a file on its extents: which lie in one piece, and which begin at a multiple of their size.

use assay_ports::extents::Extent;
use serde::{Deserialize, Serialize};

use crate::ground::Ground;

/// How the pages of files lie. A page of which nothing is allocated is not counted: where it will lie is not decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// Pages of which anything is allocated.
    pub count: u64,
    /// Of these, pages that lie in one extent, as they are in the file.
    pub whole: u64,
    /// Of the whole ones, those that begin at a multiple of their size on the device.
    pub aligned: u64,
    /// Of the whole ones, those that lie in several extents of an image file below.
    pub split_below: u64,
}

impl Pages {
    /// Pages in more than one piece.
    #[must_use]
    pub fn split(&self) -> u64 {
        self.count - self.whole
    }

    /// Of both.
    #[must_use]
    pub fn with(self, other: Pages) -> Pages {
        Pages {
            count: self.count + other.count,
            whole: self.whole + other.whole,
            aligned: self.aligned + other.aligned,
            split_below: self.split_below + other.split_below,
        }
    }

    /// Counts the pages of a file of `bytes` with these extents, in order, on that ground. The rest
    /// of the file behind its last whole page is no page yet.
    #[must_use]
    pub fn of(extents: &[Extent], bytes: u64, page_bytes: u64, ground: &Ground) -> Pages {
        let end = bytes - bytes % page_bytes;
        let mut pages = Pages::default();
        // The first page that no extent before had a part in.
        let mut fresh = 0;
        for extent in extents {
            let extent_end = extent.logical_end().min(end);
            if extent.logical >= extent_end {
                continue;
            }
            let touched = extent.logical / page_bytes..extent_end.div_ceil(page_bytes);
            pages.count += touched.end.saturating_sub(touched.start.max(fresh));
            fresh = fresh.max(touched.end);
            if extent.flags.has_no_place() || extent.flags.is_encoded() {
                continue;
            }
            let inside = extent.logical.div_ceil(page_bytes)..extent_end / page_bytes;
            let whole = inside.end.saturating_sub(inside.start);
            pages.whole += whole;
            let first =
                ground.start_bytes + extent.physical + inside.start * page_bytes - extent.logical;
            if whole > 0 && first.is_multiple_of(page_bytes) {
                pages.aligned += whole;
            }
            let places = (0..whole).map(|page| first + page * page_bytes);
            pages.split_below +=
                places.filter(|place| !ground.is_one_piece(*place, page_bytes)).count() as u64;
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use assay_ports::extents::ExtentFlags;
    use proptest::prelude::*;

    use super::*;

    const PAGE: u64 = 16 << 10;

    fn extent(logical: u64, physical: u64, length: u64) -> Extent {
        Extent { logical, physical, length, flags: ExtentFlags::default() }
    }

    fn pages(count: u64, whole: u64, aligned: u64) -> Pages {
        Pages { count, whole, aligned, split_below: 0 }
    }

    fn at(start_bytes: u64) -> Ground {
        Ground { start_bytes, image: None }
    }

    #[test]
    fn a_page_across_two_extents_is_split_and_one_beside_is_not() {
        let one = [extent(0, 1 << 20, 64 << 10)];
        assert_eq!(Pages::of(&one, 64 << 10, PAGE, &at(0)), pages(4, 4, 4));
        assert_eq!(
            Pages::of(&one, 64 << 10, PAGE, &at(512)),
            pages(4, 4, 0),
            "a partition at sector 1"
        );
        let two = [extent(0, 1 << 20, 20 << 10), extent(20 << 10, 9 << 20, 44 << 10)];
        let found = Pages::of(&two, 64 << 10, PAGE, &at(0));
        assert_eq!((found, found.split()), (pages(4, 3, 1), 1));
        // Two ends of one page, with a hole between.
        let ends = [extent(0, 1 << 20, 4 << 10), extent(12 << 10, 2 << 20, 4 << 10)];
        assert_eq!(Pages::of(&ends, 16 << 10, PAGE, &at(0)), pages(1, 0, 0));
        // A page that was cut off at the end of the file.
        assert_eq!(Pages::of(&[extent(0, 0, 20 << 10)], 20 << 10, PAGE, &at(0)), pages(1, 1, 1));
        assert_eq!(Pages::of(&[], 0, PAGE, &at(0)), Pages::default());
    }

    #[test]
    fn a_page_that_an_image_file_splits_is_counted_apart() {
        let file = [extent(0, 32 << 10, 64 << 10)];
        let image = vec![extent(0, 0, 56 << 10), extent(56 << 10, 9 << 20, 72 << 10)];
        let ground = Ground { start_bytes: 0, image: Some(image) };
        let found = Pages::of(&file, 64 << 10, PAGE, &ground);
        assert_eq!((found.whole, found.split_below), (4, 1));
    }

    #[test]
    fn what_is_compressed_or_has_no_place_yet_is_in_no_piece() {
        // `FIEMAP_EXTENT_ENCODED`, `FIEMAP_EXTENT_DELALLOC`.
        for bits in [0x8, 0x4] {
            let flags = ExtentFlags::from_bits(bits);
            let extents = [Extent { flags, ..extent(0, 0, 64 << 10) }];
            assert_eq!(Pages::of(&extents, 64 << 10, PAGE, &at(0)), pages(4, 0, 0));
        }
    }

    proptest! {
        /// Against every block looked at by itself.
        #[test]
        fn counting_by_extents_is_counting_by_blocks(
            pieces in prop::collection::vec((0u64..4, 1u64..9, 0u64..64), 0..20),
            start in 0u64..8,
        ) {
            const BLOCK: u64 = 4096;
            let (mut extents, mut logical) = (Vec::new(), 0);
            for (number, (hole, length, place)) in (0u64..).zip(pieces) {
                logical += hole;
                // No two touch on the device.
                let physical = number * 1000 + place;
                extents.push(extent(logical * BLOCK, physical * BLOCK, length * BLOCK));
                logical += length;
            }
            let owner = |block: u64| extents.iter().find(|one| (one.logical..one.logical_end()).contains(&(block * BLOCK)));
            let mut wanted = Pages::default();
            for page in 0..logical.div_ceil(4) {
                let blocks: Vec<Option<&Extent>> = (page * 4..page * 4 + 4).map(owner).collect();
                if blocks.iter().all(Option::is_none) {
                    continue;
                }
                wanted.count += 1;
                if let Some(Some(first)) = blocks.first()
                    && blocks.iter().all(|one| *one == Some(first))
                {
                    wanted.whole += 1;
                    let at = start * BLOCK + first.physical + page * PAGE - first.logical;
                    wanted.aligned += u64::from(at.is_multiple_of(PAGE));
                }
            }
            prop_assert_eq!(Pages::of(&extents, 1 << 40, PAGE, &at(start * BLOCK)), wanted);
        }
    }
}
