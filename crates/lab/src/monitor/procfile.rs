//! A file of `/proc` or `/sys` that stays open and is read again from its start.
//!
//! An open file of `/proc/PID` returns `ESRCH` once that process has ended, so a reused number is
//! not mistaken for the process. The text is kept in one buffer, which is allocated only until the
//! text fits.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Longest text in bytes: far more than `/proc/stat` of the largest machine.
const BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct ProcFile {
    file: File,
    buffer: Vec<u8>,
}

impl ProcFile {
    pub(super) fn open(path: impl AsRef<Path>) -> io::Result<ProcFile> {
        Ok(ProcFile { file: File::open(path)?, buffer: vec![0; 4096] })
    }

    /// Reads the whole text.
    ///
    /// # Errors
    /// E.g. `ESRCH` when the process has ended.
    pub(super) fn read(&mut self) -> io::Result<Cow<'_, str>> {
        let mut length = 0;
        loop {
            if length >= BYTES_MAX {
                return Err(io::Error::new(
                    io::ErrorKind::FileTooLarge,
                    "the kernel's text has no end",
                ));
            }
            if length == self.buffer.len() {
                self.buffer.resize(2 * length, 0);
            }
            match self.file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => return Ok(String::from_utf8_lossy(&self.buffer[..length])),
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_end_is_refused() {
        let mut open = ProcFile::open("/dev/zero").unwrap();
        assert_eq!(open.read().unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(open.buffer.len() <= 2 * BYTES_MAX);
    }

    #[test]
    fn long_files_are_read_whole_and_changes_are_seen() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "x".repeat(10_000)).unwrap();
        let mut open = ProcFile::open(file.path()).unwrap();
        assert_eq!(open.read().unwrap().len(), 10_000);
        std::fs::write(file.path(), "short").unwrap();
        assert_eq!(open.read().unwrap(), "short");
    }

    #[test]
    fn a_process_that_ended_is_an_error() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let mut stat = ProcFile::open(format!("/proc/{}/stat", child.id())).unwrap();
        child.wait().unwrap();
        assert!(stat.read().is_err());
    }
}
