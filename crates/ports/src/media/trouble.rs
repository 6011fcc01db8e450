//! What has become of media while they are open: a file that is deleted or cut short serves on without a word.

use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, OnceLock, PoisonError};

use assay_drive::Bytes;
use rustix::fs::SeekFrom;

use super::FileMedia;

/// What was noticed so far.
#[derive(Debug, Default)]
pub(super) struct Noticed {
    /// Kept, for a file that was cut short grows again when something is written at its end.
    loss: OnceLock<String>,
    failed_reads: Mutex<(u64, String)>,
}

impl FileMedia {
    /// What is wrong with it, a line each: it was deleted, has lost its end, could not be read.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let loss = self.loss().map(str::to_owned);
        let (count, last) = &*self.failed_reads();
        let failed =
            (*count > 0).then(|| format!("{count} reads of media failed, the last so: {last}"));
        loss.into_iter().chain(failed).collect()
    }

    /// What of it is lost, or will be when it is closed.
    #[must_use]
    pub fn loss(&self) -> Option<&str> {
        if self.noticed.loss.get().is_none()
            && let Some(loss) = self.look_for_loss()
        {
            return Some(self.noticed.loss.get_or_init(|| loss));
        }
        self.noticed.loss.get().map(String::as_str)
    }

    pub(super) fn note_failed_read(&self, text: &str) {
        {
            let mut failed = self.failed_reads();
            failed.0 += 1;
            failed.1.clear();
            failed.1.push_str(text);
        }
        let _ = self.loss();
    }

    fn failed_reads(&self) -> std::sync::MutexGuard<'_, (u64, String)> {
        self.noticed.failed_reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_for_loss(&self) -> Option<String> {
        let metadata = self.file.metadata().ok()?;
        if !self.is_device && metadata.nlink() == 0 {
            return Some(
                "its file was deleted, and is gone with all data once it is detached".into(),
            );
        }
        let size = match self.is_device {
            true => rustix::fs::seek(&self.file, SeekFrom::End(0)).ok()?,
            false => metadata.len(),
        };
        (size < self.size).then(|| {
            let what = if self.is_device { "device" } else { "file" };
            let (size, whole) = (Bytes(size), Bytes(self.size));
            format!("its {what} was cut to {size} of {whole}, and what lay beyond is lost")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use assay_drive::Disk;

    use super::super::{Allocation, FileMedia};

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_deleted_file_and_one_cut_short_are_noticed_and_stay_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("media");
        let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
        assert_eq!((media.problems(), media.loss()), (vec![], None));
        OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
        media.read(MIB / 2, &mut [0; 4096]).unwrap_err();
        // Whole again in size only.
        media.write(MIB - 4096, &[1; 4096], false).unwrap();
        let problems = media.problems();
        assert!(problems[0].starts_with("its file was cut to 4 KiB of 1 MiB"), "{problems:?}");
        let read = "1 reads of media failed, the last so: ";
        assert!(
            problems[1].starts_with(read) && problems[1].contains("at byte 524288"),
            "{problems:?}"
        );
        assert_eq!(problems.len(), 2);

        std::fs::remove_file(&path).unwrap();
        let media = FileMedia::create(&path, MIB, Allocation::Sparse).unwrap();
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        assert_eq!(media.loss(), None, "it is there under another name");
        std::fs::remove_file(folder.path().join("moved")).unwrap();
        assert!(media.loss().unwrap().starts_with("its file was deleted"));
    }
}
