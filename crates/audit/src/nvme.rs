//! The guarantees of an NVMe drive for writes at a power failure, from its Identify data.

use assay_ports::nvme::{Identified, Identify};
use serde::{Deserialize, Serialize};

/// The drive's own claims. Fields are named in the NVM Express specifications (NVM Command Set 1.1,
/// 2.1.4 and 4.1.5; Base 2.1, 5.1.13).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nvme {
    /// Model, without trailing spaces (MN).
    pub model: String,
    /// Firmware (FR).
    pub firmware: String,
    /// Size of a logical block in the namespace's format (LBADS).
    pub block_bytes: u64,
    /// Size that is written completely or not at all when power fails: NAWUPF of the namespace if
    /// present, else AWUPF.
    pub atomic_bytes: u64,
    /// True if that is the namespace's own value, the only one that newer kernels trust (NSFEAT,
    /// bit 1).
    pub is_of_namespace: bool,
    /// Offset of the first atomic boundary; 0 is no offset (NABO).
    pub boundary_offset_bytes: u64,
    /// A write that crosses a multiple of this is not atomic; 0 is no such boundary (NABSPF).
    pub boundary_bytes: u64,
    /// The largest transfer of one command; 0 is no limit (MDTS, in units of 4 KiB, the smallest
    /// page size of a controller).
    pub transfer_bytes_max: u64,
    /// True if the drive has a cache that loses its contents when power fails (VWC).
    pub has_volatile_cache: bool,
}

fn word(data: &Identify, at: usize) -> u64 {
    u64::from(u16::from_le_bytes([data[at], data[at + 1]]))
}

fn text(data: &Identify, places: std::ops::Range<usize>) -> String {
    String::from_utf8_lossy(&data[places]).trim().to_owned()
}

impl Nvme {
    /// Interprets the Identify data.
    #[must_use]
    pub fn of(identified: &Identified) -> Nvme {
        let (controller, namespace) = (&identified.controller, &identified.namespace);
        let format = usize::from(namespace[26] & 0xf) | usize::from(namespace[26] >> 5 & 0x3) << 4;
        let block_bytes = 1u64 << namespace[128 + 4 * format + 2].min(63);
        // Zero-based counts: the field is one less than the number of blocks.
        let blocks = |count: u64| (count + 1) * block_bytes;
        let is_of_namespace = namespace[24] & 0b10 != 0 && word(namespace, 36) != 0;
        let unit = if is_of_namespace { word(namespace, 36) } else { word(controller, 528) };
        let boundary = if is_of_namespace { word(namespace, 44) } else { 0 };
        Nvme {
            model: text(controller, 24..64),
            firmware: text(controller, 64..72),
            block_bytes,
            atomic_bytes: blocks(unit),
            is_of_namespace,
            boundary_offset_bytes: if is_of_namespace {
                word(namespace, 42) * block_bytes
            } else {
                0
            },
            boundary_bytes: if boundary == 0 { 0 } else { blocks(boundary) },
            transfer_bytes_max: match controller[77] {
                0 => 0,
                power => 4096u64.saturating_mul(1 << power.min(40)),
            },
            has_volatile_cache: controller[525] & 1 != 0,
        }
    }

    /// Returns true if a write of `bytes`, aligned to its size, is atomic.
    #[must_use]
    pub fn keeps_whole(&self, bytes: u64) -> bool {
        let crosses = self.boundary_bytes != 0 && !self.boundary_bytes.is_multiple_of(bytes);
        self.atomic_bytes >= bytes && self.boundary_offset_bytes == 0 && !crosses
    }

    /// Returns true if an unaligned write of `bytes` is atomic.
    #[must_use]
    pub fn keeps_whole_anywhere(&self, bytes: u64) -> bool {
        self.keeps_whole(bytes) && self.boundary_bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive with blocks of 4 KiB as its second format, and these fields of the namespace:
    /// NSFEAT, NAWUPF, NABO, NABSPF.
    pub fn drive(features: u8, unit: u16, offset: u16, boundary: u16) -> Identified {
        let mut controller: Box<Identify> = Box::new([0; 4096]);
        controller[24..64].copy_from_slice(b"A DRIVE                                 ");
        controller[64..72].copy_from_slice(b"1.0     ");
        controller[77] = 5;
        controller[525] = 1;
        controller[528] = 7;
        let mut namespace: Box<Identify> = Box::new([0; 4096]);
        namespace[24] = features;
        namespace[26] = 1;
        namespace[36..38].copy_from_slice(&unit.to_le_bytes());
        namespace[42..44].copy_from_slice(&offset.to_le_bytes());
        namespace[44..46].copy_from_slice(&boundary.to_le_bytes());
        namespace[128 + 2] = 9;
        namespace[132 + 2] = 12;
        Identified { controller, namespace }
    }

    #[test]
    fn what_the_namespace_says_goes_before_what_the_controller_says() {
        let own = Nvme::of(&drive(0b10, 3, 0, 0));
        assert_eq!((own.model.as_str(), own.firmware.as_str()), ("A DRIVE", "1.0"));
        assert_eq!((own.block_bytes, own.atomic_bytes), (4096, 16384));
        assert_eq!((own.transfer_bytes_max, own.has_volatile_cache), (128 << 10, true));
        assert!(own.is_of_namespace && own.keeps_whole_anywhere(16384) && !own.keeps_whole(32768));
        // Without the bit, or with 0, the controller's value applies: 8 blocks.
        for other in [drive(0, 3, 0, 0), drive(0b10, 0, 0, 0)] {
            let other = Nvme::of(&other);
            assert!(!other.is_of_namespace);
            assert_eq!(other.atomic_bytes, 32768);
        }
    }

    #[test]
    fn a_boundary_that_pages_cross_takes_the_guarantee_away() {
        let fits = Nvme::of(&drive(0b10, 3, 0, 7));
        assert!(fits.keeps_whole(16384) && !fits.keeps_whole_anywhere(16384), "every 32 KiB");
        assert!(!Nvme::of(&drive(0b10, 3, 0, 4)).keeps_whole(16384), "every 20 KiB");
        assert!(!Nvme::of(&drive(0b10, 3, 1, 7)).keeps_whole(16384), "begins one block off");
    }
}
