//! The position of a file system's device: its offset on the disk, and its extents in an image
//! file.

use std::fs::File;

use assay_ports::extents::{self, Extent};
use assay_serve::health::{Health, STATUS_FILE};

use crate::layers::{DeviceChain, LayerKind, start_bytes, walk};

/// The position of a file system's device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    /// Bytes from the start of the disk to the start of the device.
    pub start_bytes: u64,
    /// Extents of the image file behind a loop device; `None` for any other disk.
    pub image: Option<Vec<Extent>>,
}

impl Ground {
    /// The position of the block device with this number.
    #[must_use]
    pub fn of(device: u64) -> Ground {
        let chain = walk(device);
        Ground { start_bytes: start_bytes(&chain.layers), image: image(&chain) }
    }

    /// Returns true if `bytes` from `place` on lie in one extent of the image file, or if none of
    /// them is allocated.
    #[must_use]
    pub fn is_one_piece(&self, place: u64, bytes: u64) -> bool {
        let Some(image) = &self.image else { return true };
        let first = image.partition_point(|extent| extent.logical_end() <= place);
        image.get(first).is_none_or(|extent| {
            let is_inside = extent.logical <= place && place + bytes <= extent.logical_end();
            let is_decided = !extent.flags.has_no_place() && !extent.flags.is_encoded();
            extent.logical >= place + bytes || (is_inside && is_decided)
        })
    }
}

/// Extents of the file below a loop device, with or without partitions. A file served by Assay has
/// none: the server places the blocks.
fn image(chain: &DeviceChain) -> Option<Vec<Extent>> {
    let mut layers = chain.layers.iter();
    let disk = layers.find(|layer| !matches!(layer.kind, LayerKind::Partition { .. }))?;
    let LayerKind::Loop { file, .. } = &disk.kind else { return None };
    let is_served = file.parent().is_some_and(|at| Health::read(&at.join(STATUS_FILE)).is_ok());
    if is_served {
        return None;
    }
    extents::of(&File::open(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use assay_ports::extents::ExtentFlags;

    use super::*;

    #[test]
    fn a_page_is_in_one_piece_inside_an_extent_or_a_hole() {
        let extent = |logical, length, bits| Extent {
            logical,
            physical: 1 << 30,
            length,
            flags: ExtentFlags::from_bits(bits),
        };
        let image = vec![extent(0, 24, 0), extent(24, 8, 0), extent(48, 16, 0), extent(64, 16, 4)];
        let ground = Ground { start_bytes: 0, image: Some(image) };
        for (place, is_one) in [
            (0, true),
            (8, true),
            (16, false),
            (32, true),
            (40, false),
            (48, true),
            (64, false),
            (80, true),
        ] {
            assert_eq!(ground.is_one_piece(place, 16), is_one, "{place}");
        }
        assert!(Ground::default().is_one_piece(16, 16));
    }
}
