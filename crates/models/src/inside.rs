//! The software drive as the inside of a flash device, in the role of its translation layer.

use std::sync::Arc;

use assay_disk::Disk;
use assay_drive::{Cache, Drive, DriveError, DriveOptions, Emulation};

use super::in_hand::InHand;

/// The durability of a completed write, by a device's guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteCache {
    /// Survives a power cut after the next completed flush.
    #[default]
    Volatile,
    /// Survives a power cut: the device has no volatile cache.
    Writethrough,
    /// Survives a power cut: the cache has power of its own, and a flush does nothing.
    Protected,
}

impl WriteCache {
    /// Whether a host must flush.
    #[must_use]
    pub fn is_volatile(self) -> bool {
        self == WriteCache::Volatile
    }
}

/// Settings of the drive inside a device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inside {
    /// Guarantee of the device.
    pub cache: WriteCache,
    /// Stores blocks of zeroes like other data, as a device without zero detection does.
    pub stores_zeroes: bool,
    /// Bytes of a chunk at which it is written; `None`: the format's maximum.
    pub chunk_bytes: Option<u32>,
    /// Passes a flush to the media although the device's cache is protected.
    pub flushes_protected: bool,
}

impl Inside {
    /// Opens the drive on `media`. [`super::in_hand::with_stored_sizes`] observes what it stores.
    ///
    /// # Errors
    /// Those of the drive.
    pub fn open(&self, media: Arc<dyn Disk>, options: DriveOptions) -> Result<Drive, DriveError> {
        let (cache, is_protected) = match self.cache {
            WriteCache::Volatile => (Cache::Volatile, false),
            WriteCache::Writethrough => (Cache::Writethrough, false),
            WriteCache::Protected => (Cache::Volatile, true),
        };
        let drive = Drive::open(media, DriveOptions { cache, ..options })?;
        Ok(drive.emulating(Emulation {
            stores_zeroes: self.stores_zeroes,
            chunk_bytes: self.chunk_bytes,
            keeps_cache: is_protected && !self.flushes_protected,
            observer: Some(Arc::new(InHand)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use assay_disk::{BLOCK_BYTES, MemoryDisk};
    use assay_drive::{Codec, Format};

    use super::*;
    use crate::in_hand::with_stored_sizes;

    const MEDIA_BYTES: u64 = 64 << 20;

    fn opened(inside: Inside) -> Drive {
        let media: Arc<dyn Disk> = Arc::new(MemoryDisk::new(MEDIA_BYTES).unwrap());
        let format = Format {
            drive_id: 1,
            logical_bytes: MEDIA_BYTES,
            codec: Codec::Zstd,
            units: false,
            dictionary: false,
            segment_bytes: None,
        };
        Drive::format(Arc::clone(&media), &format).unwrap();
        inside.open(media, DriveOptions::default()).unwrap()
    }

    #[test]
    fn it_guarantees_what_the_device_does_and_flushes_only_where_that_is_of_use() {
        for (cache, is_volatile, flushes) in [
            (WriteCache::Volatile, true, true),
            (WriteCache::Writethrough, false, true),
            (WriteCache::Protected, false, false),
        ] {
            let drive = opened(Inside { cache, ..Inside::default() });
            assert_eq!(drive.guarantees().volatile_cache, is_volatile, "{cache:?}");
            drive.write(0, &[7; BLOCK_BYTES as usize], false).unwrap();
            let before = drive.status().counts.writes_media;
            drive.flush().unwrap();
            let wrote = drive.status().counts.writes_media > before;
            assert_eq!(wrote, flushes && cache == WriteCache::Volatile, "{cache:?}");
        }
    }

    #[test]
    fn what_it_stores_is_told_block_by_block() {
        let mut data = vec![0; 3 * BLOCK_BYTES as usize];
        data[..BLOCK_BYTES as usize].fill(7);
        for stores_zeroes in [false, true] {
            let drive = opened(Inside { stores_zeroes, ..Inside::default() });
            let mut sizes = Vec::new();
            with_stored_sizes(&mut sizes, || drive.write(0, &data, false)).unwrap();
            assert_eq!(sizes.len(), 3);
            assert!(sizes[0] > 0);
            assert!(sizes[1..].iter().all(|&size| (size > 0) == stores_zeroes), "{sizes:?}");
        }
    }
}
