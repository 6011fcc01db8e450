//! State of a rig that explains a failure: its drive has stopped, or its file system is full, with
//! the key of the plan that gives it more room.
//!
//! Programs report a full disk in various words ("No space left on device", "The table is full", a
//! server that ends), so the state is read from the file system itself.

use std::path::Path;

use assay_plan::{DiskBase, DriveMedia, PlannedDisk, PlannedDrive};

/// With less left a file system counts as full: a copy fails with a part of a file left, a server
/// on extending a table by four extents of 1 MiB (MySQL reference manual, "Tablespace
/// AUTOEXTEND_SIZE Configuration").
const LEFT_BYTES: u64 = 8 << 20;

/// Message of programs about a full disk, in English; by then they may have removed their partial
/// files.
const SAID: &str = "No space left on device";

/// State of a rig after something has failed on it, or before that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RigCondition {
    /// Why its drive has stopped.
    pub trouble: Option<String>,
    file_system: Option<FileSystemState>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileSystemState {
    is_full: bool,
    /// The advice to give if the file system was full.
    line: String,
}

impl RigCondition {
    pub(super) fn of(
        trouble: Option<String>,
        disk: Option<&PlannedDisk>,
        directory: &Path,
    ) -> RigCondition {
        RigCondition { trouble, file_system: FileSystemState::of(disk, directory) }
    }

    /// A better explanation of `error` than the error itself: the drive has stopped, or the file
    /// system is full.
    #[must_use]
    pub fn explanation(&self, error: &str) -> Option<&str> {
        let full = self.file_system.as_ref().filter(|one| one.is_full || error.contains(SAID));
        self.trouble.as_deref().or(full.map(|state| state.line.as_str()))
    }
}

impl FileSystemState {
    /// State of the file system that holds `directory`; `None` if the kernel does not report it.
    fn of(disk: Option<&PlannedDisk>, directory: &Path) -> Option<FileSystemState> {
        let status = rustix::fs::statvfs(directory).ok()?;
        let free_bytes = status.f_bavail.saturating_mul(status.f_frsize);
        let total_bytes = status.f_blocks.saturating_mul(status.f_frsize);
        Some(FileSystemState {
            is_full: free_bytes < LEFT_BYTES,
            line: line(disk, directory, total_bytes),
        })
    }
}

fn line(disk: Option<&PlannedDisk>, directory: &Path, total_bytes: u64) -> String {
    let Some(disk) = disk else {
        return format!(
            "the disk of {} is full; free some of it or name another --location",
            directory.display()
        );
    };
    let more = match &disk.base {
        DiskBase::Image { .. } => "a larger size",
        DiskBase::Device(_) => "a larger device",
        DiskBase::Pool(..)
        | DiskBase::Drive(PlannedDrive { media: DriveMedia::Image(_), logical: None, .. }) => {
            "a larger pool.size"
        }
        DiskBase::Drive(PlannedDrive { media: DriveMedia::File { .. }, logical: None, .. }) => {
            "a larger capacity"
        }
        DiskBase::Drive(_) => "a larger logical",
        DiskBase::Model(_) => "a smaller model.capacity_scale or a larger model.fill",
    };
    let total_mb = total_bytes / 1_000_000;
    format!(
        "the rig's file system of {total_mb} MB is full; give the rig {more}, or the data a \
        smaller table_size or fewer tables"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::planned_rig;

    #[test]
    fn each_kind_of_rig_names_the_key_that_gives_it_room() {
        let of = |rig: &str| line(planned_rig(rig).disk(), Path::new("/data"), 523_000_000);
        let drive = "kind = \"drive\"\ncapacity = \"1G\"";
        let model = "kind = \"model\"\nmodel = { preset = \"gp3\", capacity_scale = 100 }";
        assert!(of("kind = \"directory\"").contains("--location"));
        for (line, key) in [
            (of("kind = \"image\"\nsize = \"1G\""), "larger size"),
            (of(drive), "larger capacity"),
            (of(&format!("{drive}\nlogical = \"1G\"")), "larger logical"),
            (of(model), "capacity_scale"),
        ] {
            assert!(
                line.contains(key)
                    && line.contains("of 523 MB is full")
                    && line.contains("table_size"),
                "{line}"
            );
        }
    }

    #[test]
    fn a_file_system_with_room_lacks_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let condition = RigCondition::of(None, None, directory.path());
        assert_eq!(condition.explanation("the server ended"), None);
        assert!(condition.explanation("`cp` failed: No space left on device").is_some());
        let stopped = RigCondition { trouble: Some("the drive ended".into()), ..condition };
        assert_eq!(stopped.explanation("No space left on device"), Some("the drive ended"));
    }
}
