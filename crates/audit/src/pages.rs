//! Maps the pages of a file to its extents: which are contiguous, and which are aligned to their
//! size.

use assay_ports::extents::Extent;
use serde::{Deserialize, Serialize};

use crate::ground::Ground;

/// The layout of files' pages. Pages without an allocated block are not counted: their place is
/// undecided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLayout {
    /// Pages with at least one allocated block.
    pub count: u64,
    /// Pages within one extent.
    pub whole: u64,
    /// Whole pages that are aligned to their size on the device.
    pub aligned: u64,
    /// Whole pages that lie in several extents of an image file below.
    pub split_below: u64,
}

impl PageLayout {
    /// Pages in more than one extent.
    #[must_use]
    pub fn split(&self) -> u64 {
        self.count - self.whole
    }

    /// The sum of both.
    #[must_use]
    pub fn with(self, other: PageLayout) -> PageLayout {
        PageLayout {
            count: self.count + other.count,
            whole: self.whole + other.whole,
            aligned: self.aligned + other.aligned,
            split_below: self.split_below + other.split_below,
        }
    }

    /// Counts the pages of a file of `bytes` with these extents, in order, on that ground. A
    /// partial page at the end is not counted.
    #[must_use]
    pub fn of(extents: &[Extent], bytes: u64, page_bytes: u64, ground: &Ground) -> PageLayout {
        let end = bytes - bytes % page_bytes;
        let mut pages = PageLayout::default();
        // The first page without a part in an earlier extent.
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

    fn pages(count: u64, whole: u64, aligned: u64) -> PageLayout {
        PageLayout { count, whole, aligned, split_below: 0 }
    }

    fn at(start_bytes: u64) -> Ground {
        Ground { start_bytes, image: None }
    }

    #[test]
    fn a_page_across_two_extents_is_split_and_one_beside_is_not() {
        let one = [extent(0, 1 << 20, 64 << 10)];
        assert_eq!(PageLayout::of(&one, 64 << 10, PAGE, &at(0)), pages(4, 4, 4));
        assert_eq!(
            PageLayout::of(&one, 64 << 10, PAGE, &at(512)),
            pages(4, 4, 0),
            "a partition at sector 1"
        );
        let two = [extent(0, 1 << 20, 20 << 10), extent(20 << 10, 9 << 20, 44 << 10)];
        let found = PageLayout::of(&two, 64 << 10, PAGE, &at(0));
        assert_eq!((found, found.split()), (pages(4, 3, 1), 1));
        // Two parts of one page, with a hole between.
        let ends = [extent(0, 1 << 20, 4 << 10), extent(12 << 10, 2 << 20, 4 << 10)];
        assert_eq!(PageLayout::of(&ends, 16 << 10, PAGE, &at(0)), pages(1, 0, 0));
        // A page cut off at the end of the file.
        assert_eq!(
            PageLayout::of(&[extent(0, 0, 20 << 10)], 20 << 10, PAGE, &at(0)),
            pages(1, 1, 1)
        );
        assert_eq!(PageLayout::of(&[], 0, PAGE, &at(0)), PageLayout::default());
    }

    #[test]
    fn a_page_that_an_image_file_splits_is_counted_apart() {
        let file = [extent(0, 32 << 10, 64 << 10)];
        let image = vec![extent(0, 0, 56 << 10), extent(56 << 10, 9 << 20, 72 << 10)];
        let ground = Ground { start_bytes: 0, image: Some(image) };
        let found = PageLayout::of(&file, 64 << 10, PAGE, &ground);
        assert_eq!((found.whole, found.split_below), (4, 1));
    }

    #[test]
    fn what_is_compressed_or_has_no_place_yet_is_in_no_piece() {
        // `FIEMAP_EXTENT_ENCODED`, `FIEMAP_EXTENT_DELALLOC`.
        for bits in [0x8, 0x4] {
            let flags = ExtentFlags::from_bits(bits);
            let extents = [Extent { flags, ..extent(0, 0, 64 << 10) }];
            assert_eq!(PageLayout::of(&extents, 64 << 10, PAGE, &at(0)), pages(4, 0, 0));
        }
    }

    proptest! {
        /// Compares with a count block by block.
        #[test]
        fn counting_by_extents_is_counting_by_blocks(
            pieces in prop::collection::vec((0u64..4, 1u64..9, 0u64..64), 0..20),
            start in 0u64..8,
        ) {
            const BLOCK: u64 = 4096;
            let (mut extents, mut logical) = (Vec::new(), 0);
            for (number, (hole, length, place)) in (0u64..).zip(pieces) {
                logical += hole;
                // No two extents are adjacent on the device.
                let physical = number * 1000 + place;
                extents.push(extent(logical * BLOCK, physical * BLOCK, length * BLOCK));
                logical += length;
            }
            let holds = |extent: &&Extent, at: u64| {
                (extent.logical..extent.logical_end()).contains(&at)
            };
            let owner =
                |block: u64| extents.iter().find(|extent| holds(extent, block * BLOCK));
            let mut wanted = PageLayout::default();
            for page in 0..logical.div_ceil(4) {
                let blocks: Vec<Option<&Extent>> = (page * 4..page * 4 + 4).map(owner).collect();
                if blocks.iter().all(Option::is_none) {
                    continue;
                }
                wanted.count += 1;
                if let Some(Some(first)) = blocks.first()
                    && blocks.iter().all(|owner| *owner == Some(first))
                {
                    wanted.whole += 1;
                    let at = start * BLOCK + first.physical + page * PAGE - first.logical;
                    wanted.aligned += u64::from(at.is_multiple_of(PAGE));
                }
            }
            prop_assert_eq!(PageLayout::of(&extents, 1 << 40, PAGE, &at(start * BLOCK)), wanted);
        }
    }
}
