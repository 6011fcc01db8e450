//! A run whose file system was full has failed: a server that waits for room would go on as if
//! nothing were wrong.
//!
//! MySQL and MariaDB wait in a write of the binary log until space is freed (MySQL reference
//! manual, "How MySQL Handles a Full Disk"), and the load with them: seconds without a transaction
//! would look like a slow disk.

use std::path::{Path, PathBuf};

use assay_ports::filesystem;

use crate::monitor::ROOM;
use assay_study::Series;
use assay_study::metrics::Window;

/// A file system with less room is full: a server needs a page of 16 KiB, and extents of a table of
/// 1 MiB.
const LEFT_BYTES: f64 = (1 << 20) as f64;

/// The file system of a data directory after the load.
#[derive(Debug)]
pub(crate) struct FileSystem {
    root: PathBuf,
    /// Infinite where the kernel does not report it.
    room_bytes: f64,
}

impl FileSystem {
    pub(crate) fn of(directory: &Path) -> FileSystem {
        let room = filesystem::room_bytes(directory).ok().flatten();
        let root = filesystem::mount_of(directory).ok().flatten().map(|mount| mount.target);
        FileSystem {
            root: root.unwrap_or_else(|| PathBuf::from(directory)),
            room_bytes: room.map_or(f64::INFINITY, |bytes| bytes as f64),
        }
    }
}

/// The error of a run whose file system had no room in a second of the window, or at its end.
pub(crate) fn error(series: &[Series], window: Window, after: &FileSystem) -> Option<String> {
    let points =
        series.iter().find(|series| series.name == ROOM).map_or(&[][..], |series| &series.points);
    let since = full_since(points, window, after.room_bytes)?;
    // If it is still full, the rig's explanation has the advice.
    let advice = match after.room_bytes < LEFT_BYTES {
        true => "",
        false => "; let nothing else fill it, or provide more space",
    };
    Some(format!(
        "the file system {} was full {since}: the server waited for space, so the run says \
         nothing about the disk{advice}",
        after.root.display()
    ))
}

/// The time since which there was no room, in words. The room after the load counts too: a waiting
/// server may delay the monitor's samples.
fn full_since(points: &[(u32, f64)], window: Window, now_bytes: f64) -> Option<String> {
    let mut inside = points.iter().filter(|(second, _)| window.contains_second(*second));
    match inside.find(|(_, bytes)| *bytes < LEFT_BYTES) {
        Some((second, _)) => {
            let of_window = (f64::from(*second) - window.from_s).ceil();
            Some(format!("from second {of_window:.0} of {:.0} measured", window.length_s()))
        }
        None => (now_bytes < LEFT_BYTES).then(|| "when measuring ended".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = (1 << 20) as f64;

    #[test]
    fn a_second_without_room_in_the_window_counts_and_none_beside_it() {
        let points = [(1, 0.0), (2, 90.0 * MIB), (3, 40.0 * MIB), (4, 0.5 * MIB), (5, 60.0 * MIB)];
        let since = |from_s, to_s, now| full_since(&points, Window { from_s, to_s }, now);
        assert_eq!(since(1.0, 6.0, 60.0 * MIB).unwrap(), "from second 3 of 5 measured");
        assert_eq!(since(1.0, 3.0, 40.0 * MIB), None, "before and after the window");
        assert_eq!(since(4.0, 6.0, 60.0 * MIB), None);
        assert_eq!(since(4.0, 6.0, 0.0).unwrap(), "when measuring ended");
        assert_eq!(full_since(&[], Window { from_s: 0.0, to_s: 9.0 }, 2.0 * MIB), None);
    }
}
