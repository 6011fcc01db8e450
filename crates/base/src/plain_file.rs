//! Opens files in a directory that another user may have filled.
//!
//! Guarantees: no symbolic link is followed, only a regular file is opened, and opening neither
//! blocks nor truncates.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the regular file `path` for reading; a link or a file of another type is an error.
pub fn open(path: &Path) -> io::Result<File> {
    checked(OpenOptions::new().read(true), path)
}

/// Opens the regular file `path` for writing and keeps its contents. Creates it if it is missing; a
/// link or a file of another type is an error.
pub fn open_or_make(path: &Path) -> io::Result<File> {
    checked(OpenOptions::new().write(true).create(true).truncate(false), path)
}

/// Creates `path` as a new file. An existing entry of that name is removed; a link is not followed.
pub fn make_anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)
}

fn checked(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a pipe without a writer would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let not_plain = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    let file = options.custom_flags(flags.bits().cast_signed()).open(path).map_err(|error| {
        let is_link = path.symlink_metadata().is_ok_and(|found| !found.is_file());
        if is_link { not_plain() } else { error }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_plain()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_is_followed_and_no_pipe_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("data"), "kept").unwrap();
        std::os::unix::fs::symlink(at("data"), at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["link", "pipe", "."] {
            for opened in [open(&at(name)), open_or_make(&at(name))] {
                assert_eq!(opened.unwrap_err().to_string(), "not a regular file", "{name}");
            }
        }
        open_or_make(&at("data")).unwrap();
        make_anew(&at("link")).unwrap();
        assert_eq!(std::fs::read_to_string(at("data")).unwrap(), "kept");
        assert!(at("link").symlink_metadata().unwrap().is_file());
        assert_eq!(open(&at("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
