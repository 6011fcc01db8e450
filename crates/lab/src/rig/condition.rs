//! State of a rig that explains a failure: its drive has stopped, or its file system is full, with
//! the key of the plan that gives it more room.
//!
//! Programs report a full disk in various words ("No space left on device", "The table is full", a
//! server that ends), so the state is read from the file system itself.

use std::path::Path;

use assay_plan::{RigKind, RigSpec};

/// With less left a file system counts as full: a copy fails with a part of a file left, a server on extending a table
/// by four extents of 1 MiB (MySQL reference manual, "Tablespace AUTOEXTEND_SIZE Configuration").
const LEFT_BYTES: u64 = 8 << 20;

/// What programs say of a full disk, asked to say it in English; by then they may have removed what they had begun.
const SAID: &str = "No space left on device";

/// State of a rig after something has failed on it, or before that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
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

impl Condition {
    pub(super) fn of(trouble: Option<String>, spec: &RigSpec, directory: &Path) -> Condition {
        Condition { trouble, file_system: FileSystemState::of(spec, directory) }
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
    /// Of the file system that holds `directory`; `None` where the kernel does not report it.
    fn of(spec: &RigSpec, directory: &Path) -> Option<FileSystemState> {
        let status = rustix::fs::statvfs(directory).ok()?;
        let free_bytes = status.f_bavail.saturating_mul(status.f_frsize);
        let total_bytes = status.f_blocks.saturating_mul(status.f_frsize);
        Some(FileSystemState {
            is_full: free_bytes < LEFT_BYTES,
            line: line(spec, directory, total_bytes),
        })
    }
}

fn line(spec: &RigSpec, directory: &Path, total_bytes: u64) -> String {
    let more = match spec.kind {
        RigKind::Directory => {
            return format!(
                "the disk of {} is full; free some of it or name another --location",
                directory.display()
            );
        }
        RigKind::Endpoint => "a server with more room",
        RigKind::Image => "a larger size",
        RigKind::Device => "a larger device",
        RigKind::Pool => "a larger pool.size",
        RigKind::Drive if spec.pool.is_some() && spec.logical.is_none() => "a larger pool.size",
        RigKind::Drive if spec.device.is_some() || spec.logical.is_some() => "a larger logical",
        RigKind::Drive => "a larger capacity",
        RigKind::Model => "a smaller model.capacity_scale or a larger model.fill",
    };
    let total_mb = total_bytes / 1_000_000;
    format!(
        "the rig's file system of {total_mb} MB is full; give the rig {more}, or the data a smaller table_size or fewer tables"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Size;

    #[test]
    fn each_kind_of_rig_names_the_key_that_gives_it_room() {
        let of = |kind: RigKind, logical: Option<Size>| {
            line(&RigSpec { kind, logical, ..RigSpec::default() }, Path::new("/data"), 523_000_000)
        };
        assert!(of(RigKind::Directory, None).contains("--location"));
        for (line, key) in [
            (of(RigKind::Image, None), "larger size"),
            (of(RigKind::Drive, None), "larger capacity"),
            (of(RigKind::Drive, Some(Size(1 << 30))), "larger logical"),
            (of(RigKind::Model, None), "capacity_scale"),
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
        let condition = Condition::of(None, &RigSpec::default(), directory.path());
        assert_eq!(condition.explanation("the server ended"), None);
        assert!(condition.explanation("`cp` failed: No space left on device").is_some());
        let stopped = Condition { trouble: Some("the drive ended".into()), ..condition };
        assert_eq!(stopped.explanation("No space left on device"), Some("the drive ended"));
    }
}
