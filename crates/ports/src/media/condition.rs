//! The condition of open media: a file that was deleted or truncated shows no error by itself.

use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock};

use assay_disk::Bytes;
use rustix::fs::SeekFrom;

use super::hold::Held;
use super::room::{Room, SpaceSource};

/// The condition of open media, which it may outlive.
#[derive(Debug)]
pub struct MediaCondition {
    /// The local file or device; `None` for remote media.
    place: Option<Place>,
    /// The source of space for writes, if it is watched.
    room: OnceLock<Arc<Room>>,
    /// Recorded once: a truncated file grows again with a write at its end.
    loss: OnceLock<MediaLoss>,
    failed_reads: Mutex<FailedReads>,
}

/// A loss of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaLoss {
    /// The file has no name any more, and is freed when it is closed.
    Deleted,
    /// The file was truncated.
    Cut {
        /// Present size in bytes.
        size: u64,
        /// Former size in bytes.
        whole: u64,
    },
}

#[derive(Debug)]
struct Place {
    file: Arc<Held>,
    is_device: bool,
    /// Size at opening, in bytes.
    size: u64,
}

#[derive(Debug, Default)]
struct FailedReads {
    count: u64,
    last: String,
}

impl MediaCondition {
    pub(super) fn new(file: Arc<Held>, is_device: bool, size: u64) -> MediaCondition {
        MediaCondition::at(Some(Place { file, is_device, size }))
    }

    /// The condition of media in a cluster.
    pub(crate) fn of_remote() -> MediaCondition {
        MediaCondition::at(None)
    }

    fn at(place: Option<Place>) -> MediaCondition {
        let (room, loss) = (OnceLock::new(), OnceLock::new());
        MediaCondition { place, room, loss, failed_reads: Mutex::default() }
    }

    pub(super) fn watches(&self, room: Arc<Room>) {
        let _ = self.room.set(room);
    }

    /// The source of space for writes.
    #[must_use]
    pub fn space(&self) -> SpaceSource {
        let Some(place) = &self.place else { return SpaceSource::Remote };
        let look = || SpaceSource::of(&place.file).unwrap_or(SpaceSource::Unknown);
        self.room.get().map_or_else(look, |room| room.space())
    }

    /// The problems, a line each.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let loss = self.loss().map(|loss| match loss {
            MediaLoss::Deleted => {
                format!("{loss}; copy its data now: once detached, all data are gone")
            }
            MediaLoss::Cut { .. } => format!("{loss}; data beyond that are lost"),
        });
        let FailedReads { count, last } = &*self.failed_reads();
        let failed =
            (*count > 0).then(|| format!("reads of media failed: {count}, the last so: {last}"));
        loss.into_iter().chain(failed).collect()
    }

    /// A present loss, or one that happens when the media are closed.
    #[must_use]
    pub fn loss(&self) -> Option<MediaLoss> {
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

    fn look_for_loss(&self) -> Option<MediaLoss> {
        let Place { file, is_device, size: whole } = self.place.as_ref()?;
        let metadata = file.metadata().ok()?;
        if !is_device && metadata.nlink() == 0 {
            return Some(MediaLoss::Deleted);
        }
        let size = match is_device {
            true => rustix::fs::seek(file, SeekFrom::End(0)).ok()?,
            false => metadata.len(),
        };
        (size < *whole).then_some(MediaLoss::Cut { size, whole: *whole })
    }
}

impl fmt::Display for MediaLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MediaLoss::Deleted => f.write_str("its media file was deleted"),
            MediaLoss::Cut { size, whole } => {
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
        assert_eq!(condition.loss(), Some(MediaLoss::Cut { size: 4096, whole: MIB }));
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
        assert_eq!(media.condition().loss(), Some(MediaLoss::Deleted));
    }
}
