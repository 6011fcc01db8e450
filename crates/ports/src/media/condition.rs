//! What has become of media while they are open: a file that is deleted or cut short serves on without a word.

use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock};

use assay_disk::Bytes;
use rustix::fs::SeekFrom;

use super::hold::Held;
use super::room::{Room, Space};

/// How open media are. Belongs to them, and may outlive it.
#[derive(Debug)]
pub struct Condition {
    /// What can be lost under us; nothing of what others keep.
    place: Option<Place>,
    /// The space for writes, where it is looked after.
    room: OnceLock<Arc<Room>>,
    /// Kept, for a file that was cut short grows again when something is written at its end.
    loss: OnceLock<Loss>,
    failed_reads: Mutex<FailedReads>,
}

/// What is lost of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The file has no name any more and goes when it is closed.
    Deleted,
    /// It has lost its end.
    Cut {
        /// Bytes that there are.
        size: u64,
        /// Bytes that there were.
        whole: u64,
    },
}

#[derive(Debug)]
struct Place {
    file: Arc<Held>,
    is_device: bool,
    /// Bytes that there were when it was opened.
    size: u64,
}

#[derive(Debug, Default)]
struct FailedReads {
    count: u64,
    last: String,
}

impl Condition {
    pub(super) fn new(file: Arc<Held>, is_device: bool, size: u64) -> Condition {
        Condition::at(Some(Place { file, is_device, size }))
    }

    /// Of media that a cluster keeps.
    pub(crate) fn of_remote() -> Condition {
        Condition::at(None)
    }

    fn at(place: Option<Place>) -> Condition {
        let (room, loss) = (OnceLock::new(), OnceLock::new());
        Condition { place, room, loss, failed_reads: Mutex::default() }
    }

    pub(super) fn watches(&self, room: Arc<Room>) {
        let _ = self.room.set(room);
    }

    /// Where the space for writes comes from.
    #[must_use]
    pub fn space(&self) -> Space {
        let Some(place) = &self.place else { return Space::Remote };
        let look = || Space::of(&place.file).unwrap_or(Space::Unknown);
        self.room.get().map_or_else(look, |room| room.space())
    }

    /// What is wrong, a line each.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let loss = self.loss().map(|loss| match loss {
            Loss::Deleted => {
                format!("{loss}; copy its data now: once detached, all data are gone")
            }
            Loss::Cut { .. } => format!("{loss}; data beyond that are lost"),
        });
        let FailedReads { count, last } = &*self.failed_reads();
        let failed =
            (*count > 0).then(|| format!("reads of media failed: {count}, the last so: {last}"));
        loss.into_iter().chain(failed).collect()
    }

    /// What of it is lost, or will be when it is closed.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        if let Some(loss) = self.loss.get() {
            return Some(*loss);
        }
        self.look_for_loss().map(|loss| *self.loss.get_or_init(|| loss))
    }

    pub(crate) fn note_failed_read(&self, text: String) {
        {
            let mut failed = self.failed_reads();
            *failed = FailedReads { count: failed.count + 1, last: text };
        }
        let _ = self.loss();
    }

    fn failed_reads(&self) -> MutexGuard<'_, FailedReads> {
        self.failed_reads.lock()
    }

    fn look_for_loss(&self) -> Option<Loss> {
        let Place { file, is_device, size: whole } = self.place.as_ref()?;
        let metadata = file.metadata().ok()?;
        if !is_device && metadata.nlink() == 0 {
            return Some(Loss::Deleted);
        }
        let size = match is_device {
            true => rustix::fs::seek(file, SeekFrom::End(0)).ok()?,
            false => metadata.len(),
        };
        (size < *whole).then_some(Loss::Cut { size, whole: *whole })
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Deleted => f.write_str("its media file was deleted"),
            Loss::Cut { size, whole } => {
                write!(f, "its media were truncated to {} of {}", Bytes(*size), Bytes(*whole))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use assay_disk::Disk;

    use super::super::{Allocation, FileMedia};
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_deleted_file_and_one_cut_short_are_noticed_and_stay_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("media");
        let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
        let condition = media.condition();
        assert_eq!((condition.problems(), condition.loss()), (vec![], None));
        OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
        // Whole again, in size only.
        media.write(MIB - 4096, &[1; 4096], false).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
        media.read(MIB / 2, &mut [0; 4096]).unwrap_err();
        assert_eq!(condition.loss(), Some(Loss::Cut { size: 4096, whole: MIB }));
        let problems = condition.problems();
        assert!(
            problems[0].starts_with("its media were truncated to 4 KiB of 1 MiB; "),
            "{problems:?}"
        );
        assert!(problems[1].starts_with("reads of media failed: 1, the last so: "), "{problems:?}");
        assert!(problems[1].contains("at byte 524288") && problems.len() == 2, "{problems:?}");

        std::fs::remove_file(&path).unwrap();
        let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
        let moved = directory.path().join("moved");
        std::fs::rename(&path, &moved).unwrap();
        assert_eq!(media.condition().loss(), None, "it is there under another name");
        std::fs::remove_file(moved).unwrap();
        assert_eq!(media.condition().loss(), Some(Loss::Deleted));
    }
}
