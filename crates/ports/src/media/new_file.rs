//! A new file that gets its name last: it appears complete, and a killed process leaves nothing.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{MediaError, failed, place};

/// A file without its name. Dropping it removes it.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    pub(super) file: File,
    /// Its temporary name, on file systems that need one.
    temporary: Option<PathBuf>,
}

impl NewFile {
    /// Creates the file that will be named `path`, readable by its owner alone.
    pub(super) fn begin(path: &Path) -> Result<NewFile, MediaError> {
        match path.symlink_metadata() {
            Ok(_) => return Err(MediaError::Exists { path: path.into() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(reason) => return Err(MediaError::Io { path: path.into(), reason }),
        }
        // A file without a name is freed with the last process that has it open (open(2),
        // O_TMPFILE).
        match open(place::directory(path), OFlags::TMPFILE) {
            Ok(file) => Ok(NewFile { path: path.into(), file, temporary: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => NewFile::begin_named(path),
            Err(errno) => Err(failed(path, errno)),
        }
    }

    /// Creates it under a temporary name, which remains if the process is killed.
    pub(super) fn begin_named(path: &Path) -> Result<NewFile, MediaError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".unfinished-{}", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = open(&temporary, OFlags::CREATE | OFlags::EXCL)
            .map_err(|errno| failed(&temporary, errno))?;
        Ok(NewFile { path: path.into(), file, temporary: Some(temporary) })
    }

    /// Names the file; file and directory are on stable media afterwards.
    ///
    /// # Errors
    /// [`MediaError::Exists`] if the name was taken meanwhile, or the system's error; the file is
    /// removed then.
    pub fn finish(mut self) -> Result<(), MediaError> {
        let io = |reason| MediaError::Io { path: self.path.clone(), reason };
        self.file.sync_all().map_err(io)?;
        self.name().map_err(|errno| match errno {
            Errno::EXIST => MediaError::Exists { path: self.path.clone() },
            errno => failed(&self.path, errno),
        })?;
        self.temporary = None;
        // The name survives a power cut only if its directory was synced (fsync(2)).
        File::open(place::directory(&self.path)).and_then(|directory| directory.sync_all()).map_err(
            |reason| {
                remove(&self.path);
                MediaError::Io { path: self.path.clone(), reason }
            },
        )
    }

    fn name(&self) -> rustix::io::Result<()> {
        let Some(temporary) = &self.temporary else {
            // This way needs no privilege (open(2), O_TMPFILE).
            let open = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.file));
            return rustix::fs::linkat(CWD, open, CWD, &self.path, AtFlags::SYMLINK_FOLLOW);
        };
        match rustix::fs::renameat_with(CWD, temporary, CWD, &self.path, RenameFlags::NOREPLACE) {
            // Not every file system can refuse to replace; a link never replaces.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(CWD, temporary, CWD, &self.path, AtFlags::empty())?;
                rustix::fs::unlink(temporary)
            }
            other => other,
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            remove(temporary);
        }
    }
}

fn open(path: &Path, flags: OFlags) -> rustix::io::Result<File> {
    let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        log::warn!("{} is unfinished and cannot be removed: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_when_it_is_finished_and_replaces_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let listing = || std::fs::read_dir(directory.path()).unwrap().count();
        for begin in [NewFile::begin, NewFile::begin_named] {
            let new = begin(&path).unwrap();
            assert!(!path.exists());
            drop(new);
            assert_eq!(listing(), 0);
            begin(&path).unwrap().finish().unwrap();
            assert!(path.is_file() && listing() == 1);
            std::fs::remove_file(&path).unwrap();
            // Another file takes the name meanwhile.
            let new = begin(&path).unwrap();
            std::fs::write(&path, "precious").unwrap();
            let error = new.finish().unwrap_err();
            assert!(matches!(error, MediaError::Exists { .. }), "{error}");
            assert_eq!(
                (std::fs::read(&path).unwrap().as_slice(), listing()),
                (&b"precious"[..], 1)
            );
            std::fs::remove_file(&path).unwrap();
        }
    }
}
