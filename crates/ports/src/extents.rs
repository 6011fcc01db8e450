//! Reads where a file lies on its device, and what its file system reports about writes; never the
//! contents of the file.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};

/// Number of extents requested by one call.
const EXTENTS_AT_ONCE: usize = 256;

/// A contiguous part of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset on the device, or in the file system's own address space, as in btrfs.
    pub physical: u64,
    /// Length.
    pub length: u64,
    /// The file system's flags.
    pub flags: ExtentFlags,
}

impl Extent {
    /// The offset of the first byte after the extent.
    #[must_use]
    pub fn logical_end(&self) -> u64 {
        self.logical.saturating_add(self.length)
    }
}

/// A file system's flags for an extent (`linux/fiemap.h`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExtentFlags(u32);

impl ExtentFlags {
    const LAST: u32 = 0x1;
    const UNKNOWN: u32 = 0x2;
    const DELALLOC: u32 = 0x4;
    const ENCODED: u32 = 0x8;
    const NOT_ALIGNED: u32 = 0x100;
    const UNWRITTEN: u32 = 0x800;
    const SHARED: u32 = 0x2000;

    /// Flags from the kernel's bits.
    #[must_use]
    pub fn from_bits(bits: u32) -> ExtentFlags {
        ExtentFlags(bits)
    }

    fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    /// Returns true if the place is unknown or undecided.
    #[must_use]
    pub fn has_no_place(self) -> bool {
        self.has(Self::UNKNOWN | Self::DELALLOC)
    }

    /// Returns true if the data are compressed, packed or otherwise encoded.
    #[must_use]
    pub fn is_encoded(self) -> bool {
        self.has(Self::ENCODED | Self::NOT_ALIGNED)
    }

    /// Returns true if the extent is reserved and was never written: it reads as zeroes.
    #[must_use]
    pub fn is_unwritten(self) -> bool {
        self.has(Self::UNWRITTEN)
    }

    /// Returns true if other files or snapshots share the extent: a write to it goes elsewhere.
    #[must_use]
    pub fn is_shared(self) -> bool {
        self.has(Self::SHARED)
    }
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved_end: [u32; 3],
}

/// `struct fiemap`, followed by space for extents.
#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [RawExtent; EXTENTS_AT_ONCE],
}

/// `FS_IOC_FIEMAP` (`linux/fs.h`: `_IOWR('f', 11, struct fiemap)`, whose 32 bytes exclude the
/// extents).
const FIEMAP: Opcode = opcode::read_write::<[u64; 4]>(b'f', 11);

/// All extents of a file, in order; holes have none.
///
/// # Errors
/// The system's error; `Unsupported` if the file system reports no extents.
pub fn of(file: &File) -> io::Result<Vec<Extent>> {
    let mut all: Vec<Extent> = Vec::new();
    let mut start = 0;
    loop {
        let mut request = Box::new(Request {
            start,
            length: u64::MAX - start,
            flags: 0,
            mapped: 0,
            count: EXTENTS_AT_ONCE as u32,
            reserved: 0,
            extents: [RawExtent::default(); EXTENTS_AT_ONCE],
        });
        // SAFETY: the kernel reads the header, and writes to it and to at most `count` extents
        // behind it, all of which are there.
        #[allow(unsafe_code)]
        unsafe {
            ioctl(file, Updater::<FIEMAP, Request>::new(&mut request))?;
        }
        let found = &request.extents[..(request.mapped as usize).min(EXTENTS_AT_ONCE)];
        all.extend(found.iter().map(|raw| Extent {
            logical: raw.logical,
            physical: raw.physical,
            length: raw.length,
            flags: ExtentFlags(raw.flags),
        }));
        match all.last() {
            Some(last) if !found.is_empty() && !last.flags.has(ExtentFlags::LAST) => {
                start = last.logical_end();
            }
            _ => return Ok(all),
        }
    }
}

/// The atomic writes that a file supports (`statx(2)`, `STATX_WRITE_ATOMIC`), in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicWrites {
    /// The smallest.
    pub unit_min: u32,
    /// The largest.
    pub unit_max: u32,
    /// The largest that the device itself performs, if the file system supports more; 0 if that is
    /// `unit_max`.
    pub unit_max_opt: u32,
}

/// The kernel's guarantee for writes with `RWF_ATOMIC`; `None` if it guarantees nothing or does not
/// know them.
///
/// # Errors
/// The system's error.
pub fn atomic_writes(file: &File) -> io::Result<Option<AtomicWrites>> {
    let wanted = StatxFlags::from_bits_retain(STATX_WRITE_ATOMIC);
    let told = statx(file, c"", AtFlags::EMPTY_PATH, wanted)?;
    let is_told = told.stx_mask & STATX_WRITE_ATOMIC != 0 && told.stx_atomic_write_unit_max > 0;
    Ok(is_told.then_some(AtomicWrites {
        unit_min: told.stx_atomic_write_unit_min,
        unit_max: told.stx_atomic_write_unit_max,
        unit_max_opt: told.stx_atomic_write_unit_max_opt,
    }))
}

/// `linux/stat.h`, since Linux 6.11.
const STATX_WRITE_ATOMIC: u32 = 0x0001_0000;

/// `struct fsxattr`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attributes {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    copy_extent_size: u32,
    padding: [u8; 8],
}

/// `FS_IOC_FSGETXATTR` (`linux/fs.h`: `_IOR('X', 31, struct fsxattr)`).
const FSGETXATTR: Opcode = opcode::read::<Attributes>(b'X', 31);

/// `FS_XFLAG_EXTSIZE` of a file, `FS_XFLAG_EXTSZINHERIT` of a directory for files to come.
const HAS_EXTENT_SIZE: u32 = 0x800 | 0x1000;

/// The extent size hint of a file, or of new files in a directory (`xfs_io(8)`, `extsize`), in
/// bytes; `None` if there is none, or if the file system has no such hint.
///
/// # Errors
/// The system's error.
pub fn extent_size_hint(file: &File) -> io::Result<Option<u32>> {
    // SAFETY: the kernel writes the 28 bytes of the structure, which may hold any bits.
    #[allow(unsafe_code)]
    let found = unsafe { ioctl(file, Getter::<FSGETXATTR, Attributes>::new()) };
    match found {
        Ok(found) => Ok((found.flags & HAS_EXTENT_SIZE != 0).then_some(found.extent_size)),
        Err(rustix::io::Errno::NOTTY | rustix::io::Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A file on a disk: file systems in memory have no extents.
    fn file() -> File {
        tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap()
    }

    #[test]
    fn every_part_of_a_file_that_was_written_is_in_an_extent_and_a_hole_in_none() {
        let mut file = file();
        file.write_all(&vec![1; 64 << 10]).unwrap();
        file.write_all_at(&vec![2; 64 << 10], 1 << 20).unwrap();
        file.sync_all().unwrap();
        let extents = of(&file).unwrap();
        let covers = |at: u64| {
            extents.iter().any(|extent| (extent.logical..extent.logical_end()).contains(&at))
        };
        assert!(covers(0) && covers((64 << 10) - 1) && covers(1 << 20), "{extents:?}");
        assert!(!covers(512 << 10) && !covers(2 << 20), "{extents:?}");
        assert!(extents.is_sorted_by_key(|extent| extent.logical));
        assert!(extents.iter().all(|extent| !extent.flags.has_no_place()), "{extents:?}");
    }

    #[test]
    fn a_file_of_more_extents_than_fit_at_once_is_told_whole() {
        let file = file();
        let pieces = EXTENTS_AT_ONCE as u64 * 2 + 3;
        for piece in 0..pieces {
            file.write_all_at(&[1; 4096], piece * 3 * 4096).unwrap();
        }
        file.sync_all().unwrap();
        let extents = of(&file).unwrap();
        assert_eq!(extents.len() as u64, pieces, "holes lie between");
        assert!((0..pieces).all(|piece| extents[piece as usize].logical == piece * 3 * 4096));
    }

    #[test]
    fn a_file_without_extents_or_atomic_writes_says_so() {
        let file = file();
        assert_eq!(of(&file).unwrap(), []);
        // Any reported range must be valid.
        if let Some(atomic) = atomic_writes(&file).unwrap() {
            assert!(atomic.unit_min <= atomic.unit_max, "{atomic:?}");
        }
        assert_eq!(extent_size_hint(&file).unwrap(), None);
    }
}
