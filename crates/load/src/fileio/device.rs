//! The share of a run's reads and writes that the device moves; the page cache handles the rest.
//!
//! Reads are those that the kernel sends to devices for this process (`read_bytes` of
//! `/proc/self/io`, `proc(5)`), read-ahead included. Its `write_bytes` counts pages as they become
//! dirty and not as they are written, so writes are those of the files' block device
//! (`/sys/dev/block/…/stat`, the kernel's `Documentation/block/stat.rst`), from any process. File
//! systems without a block device of their own, such as tmpfs, Btrfs and overlayfs, have no count
//! of writes.

use std::path::Path;

use rustix::fs::{major, minor, stat};

use crate::device_bytes::DeviceBytes;

/// The kernel's counters at one instant, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    read: Option<u64>,
    written: Option<u64>,
}

impl Counts {
    /// The counters of this process and of the device of `directory`.
    pub(super) fn now(directory: &Path) -> Counts {
        Counts { read: read_bytes(), written: written_bytes(directory) }
    }

    /// Bytes counted since `before`, with those that the run moved.
    pub(super) fn since(self, before: Counts, read_bytes: u64, write_bytes: u64) -> DeviceBytes {
        let difference = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        DeviceBytes {
            read_bytes,
            read_bytes_device: difference(self.read, before.read),
            write_bytes,
            write_bytes_device: difference(self.written, before.written),
        }
    }
}

fn read_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.trim().parse().ok()
}

/// The seventh field: sectors of 512 bytes, whatever the device's sector size.
fn written_bytes(directory: &Path) -> Option<u64> {
    let device = stat(directory).ok()?.st_dev;
    let file = format!("/sys/dev/block/{}:{}/stat", major(device), minor(device));
    let text = std::fs::read_to_string(file).ok()?;
    let sectors: u64 = text.split_whitespace().nth(6)?.parse().ok()?;
    Some(sectors * 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_where_the_page_cache_has_one() {
        let counted = |read, written| Counts { read: Some(read), written: Some(written) };
        let bytes = counted(1100, 5050).since(counted(1000, 5000), 400, 50);
        assert_eq!((bytes.read_percent(), bytes.write_percent()), (Some(25.0), None));
        let none = Counts { read: None, written: None };
        let unknown = none.since(none, 400, 50);
        assert_eq!((unknown.read_percent(), unknown.write_percent()), (None, None));
        // Read-ahead reads more than requested.
        assert_eq!(counted(900, 0).since(counted(0, 0), 400, 0).read_percent(), None);
    }
}
