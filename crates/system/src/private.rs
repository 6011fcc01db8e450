//! Directories and files that only this process's user can change: the state, the cache, and their
//! contents.
//!
//! A user who could write there could make root remove a directory, kill a process or run a
//! program.
//!
//! Guarantees: files opened here are no links, belong to this user, and are not writable by others.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat, flock};
use rustix::io::Errno;
use thiserror::Error;

/// Suffix of the name of a file while it is being written.
pub const STAGED: &str = "new";

/// Bits of a mode that let others write (`inode(7)`).
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Why a directory or file is not to be trusted.
#[derive(Debug, Error)]
pub enum NotPrivate {
    /// The path leads elsewhere.
    #[error("{0} is a link; name where it leads")]
    Link(PathBuf),
    /// The file is of another type.
    #[error("{path} is not a {expected}")]
    Kind {
        path: PathBuf,
        /// `directory` or `file`.
        expected: &'static str,
    },
    /// The file belongs to another user.
    #[error("{path} belongs to user {owner}, and this is user {user}")]
    Owner {
        path: PathBuf,
        /// Number of its user.
        owner: u32,
        /// Number of this process's user.
        user: u32,
    },
    /// Others may have changed the contents.
    #[error(
        "others can write to {path} (mode {mode:o}); once you know that all in it is yours, `chmod \
         go-w {path}`"
    )]
    Writable {
        path: PathBuf,
        /// Permission bits.
        mode: u32,
    },
    /// A call of the operating system failed.
    #[error("{path}: {reason}")]
    System { path: PathBuf, reason: io::Error },
}

/// Makes the directory `path` and missing parents, with access for this user alone. Existing
/// directories stay as they are.
///
/// # Errors
/// Also fails if the directories would lie below one of another user, who could not reach them:
/// e.g. as root under somebody's home.
pub fn make_directory(path: &Path) -> Result<(), NotPrivate> {
    let above = path.ancestors().find(|part| part.exists()).unwrap_or(path);
    if let Ok(found) = above.metadata() {
        let user = rustix::process::geteuid().as_raw();
        let is_ours = found.uid() == user || found.uid() == 0;
        if !is_ours {
            return Err(NotPrivate::Owner { path: above.into(), owner: found.uid(), user });
        }
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    // A dangling link exists, and is no directory.
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(|reason| NotPrivate::System { path: path.into(), reason })?,
    }
    match check_directory(path)? {
        true => Ok(()),
        false => Err(NotPrivate::System { path: path.into(), reason: Errno::NOENT.into() }),
    }
}

/// Checks the directory `path`; returns false if there is none.
pub fn check_directory(path: &Path) -> Result<bool, NotPrivate> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    Ok(open(path, flags, Mode::empty(), "directory")?.is_some())
}

/// Reads the file `path`, of at most `bytes_max` bytes; `None` if there is none.
pub fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, NotPrivate> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let Some(file) = open(path, flags, Mode::empty(), "file")? else { return Ok(None) };
    read_open(path, file, bytes_max).map(Some)
}

fn read_open(path: &Path, file: File, bytes_max: u64) -> Result<Vec<u8>, NotPrivate> {
    let failed = |reason| NotPrivate::System { path: path.into(), reason };
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(failed(Errno::FBIG.into())),
        false => Ok(bytes),
    }
}

/// Writes the file `path` atomically: a reader sees all of it or nothing, also after a power cut.
/// Returns the file, locked (`flock(2)`) since before it had that name: [`is_held`] then shows
/// other processes that its writer lives.
pub fn write(path: &Path, bytes: &[u8]) -> Result<File, NotPrivate> {
    let failed = |reason| NotPrivate::System { path: path.into(), reason };
    let staged = path.with_extension(STAGED);
    let mut file = open_file(&staged)?;
    let mut written = || -> io::Result<()> {
        // On a file system without locks, the writer is known by its process number alone.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        file.set_len(0)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&staged, path)?;
        path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
    };
    written().map_err(failed)?;
    Ok(file)
}

/// Returns true if a process on any machine, in any namespace, holds the file that [`write`]
/// returned for `path`.
#[must_use]
pub fn is_held(path: &Path) -> bool {
    let same = |file: &File| {
        let (ours, there) = (file.metadata().ok()?, path.metadata().ok()?);
        Some((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
    };
    loop {
        let Ok(Some(file)) = open(path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty(), "file")
        else {
            return false;
        };
        let how = FlockOperation::NonBlockingLockShared;
        match flock(&file, how) {
            Err(Errno::WOULDBLOCK) => return true,
            Err(_) => return false,
            // The writer has replaced the file meanwhile.
            Ok(()) if same(&file) == Some(false) => {}
            Ok(()) => return false,
        }
    }
}

/// Opens the file `path` for writing, and creates it if it is missing. Keeps its contents.
pub fn open_file(path: &Path) -> Result<File, NotPrivate> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK;
    match open(path, flags, Mode::RUSR | Mode::WUSR, "file")? {
        Some(file) => Ok(file),
        None => Err(NotPrivate::System { path: path.into(), reason: Errno::NOENT.into() }),
    }
}

fn open(
    path: &Path,
    flags: OFlags,
    mode: Mode,
    expected: &'static str,
) -> Result<Option<File>, NotPrivate> {
    let failed = |errno: Errno| NotPrivate::System { path: path.into(), reason: errno.into() };
    let opened = match rustix::fs::open(path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(None),
        // With `O_DIRECTORY`, a link fails like a file of another type (open(2)).
        Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => {
            return Err(NotPrivate::Link(path.into()));
        }
        Err(Errno::NOTDIR) => return Err(NotPrivate::Kind { path: path.into(), expected }),
        Err(errno) => return Err(failed(errno)),
    };
    let stat = rustix::fs::fstat(opened.as_fd()).map_err(failed)?;
    check(path, &stat, expected)?;
    Ok(Some(opened.into()))
}

fn check(path: &Path, stat: &Stat, expected: &'static str) -> Result<(), NotPrivate> {
    let path = || path.to_owned();
    let kind = if expected == "file" { FileType::RegularFile } else { FileType::Directory };
    if FileType::from_raw_mode(stat.st_mode) != kind {
        return Err(NotPrivate::Kind { path: path(), expected });
    }
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(NotPrivate::Owner { path: path(), owner: stat.st_uid, user });
    }
    match stat.st_mode & WRITABLE_BY_OTHERS {
        0 => Ok(()),
        _ => Err(NotPrivate::Writable { path: path(), mode: stat.st_mode & 0o7777 }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_new_directory_is_private_and_one_that_is_there_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        assert!(!check_directory(&path).unwrap());
        make_directory(&path).unwrap();
        assert_eq!(mode(), 0o700);
        set_mode(&path, 0o2755);
        make_directory(&path).unwrap();
        assert!(check_directory(&path).unwrap());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o2755, "as it was");
    }

    #[test]
    fn nothing_is_made_in_a_home_of_somebody_elses() {
        if !rustix::process::geteuid().is_root() {
            return assay_testing::skip("root, who gives a directory away");
        }
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        std::fs::create_dir(&home).unwrap();
        chown(&home, Some(65_534), None).unwrap();
        let error = make_directory(&home.join(".local/state")).unwrap_err().to_string();
        assert!(error.ends_with("/home belongs to user 65534, and this is user 0"), "{error}");
        assert!(!home.join(".local").exists());
    }

    #[test]
    fn a_directory_of_others_or_open_to_them_or_elsewhere_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["writable", "theirs", "target"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        set_mode(&at("writable"), 0o775);
        symlink(at("target"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        let error = |name: &str| make_directory(&at(name)).unwrap_err().to_string();
        assert!(error("writable").contains("(mode 775); once you know"), "{}", error("writable"));
        assert!(error("link").ends_with("/link is a link; name where it leads"));
        assert!(error("dangling").ends_with("is a link; name where it leads"));
        assert!(error("file").ends_with("/file is not a directory"), "{}", error("file"));
        assert!(!at("nowhere").exists());
        if !rustix::process::geteuid().is_root() {
            return assay_testing::skip("root, who gives a directory away");
        }
        chown(at("theirs"), Some(65_534), None).unwrap();
        assert!(error("theirs").ends_with("belongs to user 65534, and this is user 0"));
    }

    #[test]
    fn a_file_is_held_until_its_writer_lets_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1-1.json");
        assert!(!is_held(&path));
        let first = write(&path, b"one").unwrap();
        assert!(is_held(&path));
        let second = write(&path, b"two").unwrap();
        drop(first);
        assert!(is_held(&path), "the newer one");
        assert_eq!(read(&path, 10).unwrap().unwrap(), b"two");
        drop(second);
        // A child that another test starts holds the file, too, until it calls `exec`.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while is_held(&path) {
            assert!(std::time::Instant::now() < until, "nobody has it any more");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_file_that_is_a_link_or_writable_by_others_or_too_long_is_neither_read_nor_changed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        assert!(read(&at("none"), 10).unwrap().is_none());
        std::fs::write(at("target"), "precious").unwrap();
        symlink(at("target"), at("link")).unwrap();
        assert!(matches!(read(&at("link"), 10), Err(NotPrivate::Link(_))));
        assert!(matches!(open_file(&at("link")), Err(NotPrivate::Link(_))));
        assert_eq!(read(&at("target"), 10).unwrap().unwrap(), b"precious");
        assert!(matches!(read(&at("target"), 7), Err(NotPrivate::System { .. })));
        set_mode(&at("target"), 0o666);
        assert!(matches!(read(&at("target"), 10), Err(NotPrivate::Writable { .. })));
        let fifo = at("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        assert!(matches!(read(&fifo, 10), Err(NotPrivate::Kind { .. })), "nobody waits for a pipe");
        drop(open_file(&at("new")).unwrap());
        assert_eq!(at("new").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
