//! Places where a run may write: the study's directory, held by one run at a time, and the
//! directory on the measured disk.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use assay_base::plain_file;
use assay_plan::Experiment;
use assay_ports::file_id::FileId;
use assay_system::changeable;

/// The directory on the disk that is measured: the plan's, which must be there, else one in the
/// study.
///
/// # Errors
/// The plan's is no directory.
pub fn location_of(experiment: &Experiment, study: &Path) -> Result<PathBuf> {
    let Some(location) = &experiment.location else { return Ok(study.join("work")) };
    if !location.is_dir() {
        bail!("the location {} is not a directory; create it or give another", location.display());
    }
    Ok(location.clone())
}

/// Returns true if both lie on one file system.
pub(crate) fn is_same_device(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(a).is_some() && device(a) == device(b)
}

/// Directories that were not there before; those still empty at the end are removed, so that a
/// refused plan leaves nothing behind.
#[derive(Debug, Default)]
pub(super) struct NewDirectories(Vec<PathBuf>);

impl NewDirectories {
    /// Makes it and those above it.
    ///
    /// # Errors
    /// What the system answered.
    pub(super) fn make(&mut self, directory: &Path) -> Result<()> {
        let missing: Vec<PathBuf> = directory
            .ancestors()
            .take_while(|part| !part.as_os_str().is_empty() && !part.exists())
            .map(PathBuf::from)
            .collect();
        for part in missing.into_iter().rev() {
            // Nobody else reads what it holds of a server until its owner lets him.
            DirBuilder::new()
                .mode(0o700)
                .create(&part)
                .with_context(|| format!("cannot make the directory {}", part.display()))?;
            self.0.push(part);
        }
        Ok(())
    }
}

impl Drop for NewDirectories {
    fn drop(&mut self) {
        for directory in self.0.iter().rev() {
            // One that holds something by now has become the user's.
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// A study's directory, held for as long as this lives.
#[derive(Debug)]
pub struct StudyLock {
    // Dropped in this order: the lock's file must be gone before its directory can go.
    _lock: Lock,
    _directories: NewDirectories,
}

impl StudyLock {
    /// Makes the directory, and that on the measured disk where it is here, and takes the study's
    /// lock.
    ///
    /// # Errors
    /// Another run has it, or a directory cannot be made.
    pub fn take(study: &Path, location: Option<&Path>) -> Result<StudyLock> {
        let mut directories = NewDirectories::default();
        if let Some(who) = location.and_then(changeable::anywhere) {
            log::warn!("{who}: what a run makes at its location could be led elsewhere");
        }
        directories.make(study)?;
        location.map_or(Ok(()), |location| directories.make(location))?;
        Ok(StudyLock { _lock: Lock::take(study)?, _directories: directories })
    }
}

/// One run at a time in a study.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the study's lock.
    ///
    /// # Errors
    /// Another run has it, or the directory is somebody's who has no study there.
    pub fn take(study: &Path) -> Result<Lock> {
        ensure_own(study)?;
        ensure_room(study)?;
        let path = study.join("lock");
        loop {
            // The creator of the directory may have put a link there.
            let file = plain_file::open_or_make(&path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            if let Some(lock) = Lock::of(file, &path, study)? {
                return Ok(lock);
            }
        }
    }

    /// By a file that was opened as `path`; nothing where the run that had it has removed it
    /// meanwhile: then the next one has another file there.
    fn of(file: File, path: &Path, study: &Path) -> Result<Option<Lock>> {
        lock(&file, study)?;
        let lock = Lock { path: path.to_owned(), file };
        Ok(if lock.is_there() { Some(lock) } else { None })
    }

    fn is_there(&self) -> bool {
        let ours = self.file.metadata().map(|found| FileId::of(&found));
        ours.is_ok_and(|ours| FileId::named(&self.path).is_ok_and(|found| found == ours))
    }

    /// Checks that the lock could be taken, without making it.
    ///
    /// # Errors
    /// Another run has it.
    pub fn check(study: &Path) -> Result<()> {
        ensure_own(study)?;
        ensure_room(study)?;
        let path = study.join("lock");
        match plain_file::open(&path) {
            Ok(file) => lock(&file, study),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
}

/// Space that a study and its report take at least: the page alone has three megabytes of scripts.
const STUDY_BYTES: u64 = 16 << 20;

/// Refuses a study on a full disk before runs are measured that could not be stored.
fn ensure_room(study: &Path) -> Result<()> {
    let whole = std::path::absolute(study)?;
    let Some(there) = whole.ancestors().find(|path| path.is_dir()) else { return Ok(()) };
    let free = assay_system::free_bytes(there)?;
    ensure!(
        free >= STUDY_BYTES,
        "no space: a study takes at least {} MB, and {} has {} MB free; free some, or give \
        another --out",
        STUDY_BYTES >> 20,
        there.display(),
        free >> 20
    );
    Ok(())
}

/// Entries of a directory without a study: leftovers of a run that was killed at its beginning, and
/// of mkfs.
const OF_NO_STUDY: [&str; 3] = ["lock", "work", "lost+found"];

/// Refuses a directory that holds files which are not a study's: the report would replace some.
fn ensure_own(study: &Path) -> Result<()> {
    assay_study::check_directory(study)?;
    if let Some(who) = changeable::itself(study) {
        bail!(
            "{who}: what is written there could be led elsewhere; give a directory of your own \
            as --out"
        );
    }
    if study.join(assay_study::FILE_NAME).exists() {
        return Ok(());
    }
    let Ok(entries) = std::fs::read_dir(study) else { return Ok(()) };
    let names = entries.flatten().map(|entry| entry.file_name());
    let foreign = names.into_iter().find(|name| !OF_NO_STUDY.iter().any(|own| name == own));
    match foreign {
        None => Ok(()),
        Some(name) => bail!(
            "{} holds files that are not a study's ({}); give a new or empty directory as --out",
            study.display(),
            name.display()
        ),
    }
}

fn lock(file: &File, study: &Path) -> Result<()> {
    let how = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    if rustix::fs::flock(file, how).is_err() {
        bail!("another assay is running in {}; wait for it or give another --out", study.display());
    }
    Ok(())
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_there() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_has_a_study_also_when_another_ends_meanwhile() {
        let study = tempfile::tempdir().unwrap();
        let path = study.path().join("lock");
        let first = Lock::take(study.path()).unwrap();
        assert!(Lock::take(study.path()).is_err());
        // It was opened while the first run had it, and is asked for once that has ended.
        let opened = plain_file::open_or_make(&path).unwrap();
        drop(first);
        let second = Lock::take(study.path()).unwrap();
        assert!(Lock::of(opened, &path, study.path()).unwrap().is_none());
        assert!(path.exists(), "the second run's");
        drop(second);
        assert!(!path.exists());
    }
}
