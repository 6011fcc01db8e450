//! Reads small text files that a user names. Only regular files up to a limit are read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Largest file that is read, in bytes; a larger one was named by mistake.
const BYTES_MAX: u64 = 1 << 20;

/// Reads the file that should contain `what`. Pipes, devices and directories are not opened:
/// reading some of them never ends. An error is one line.
pub fn read(path: &Path, what: &str) -> Result<String> {
    let shown = path.display();
    let cannot = || format!("cannot read {shown}");
    let metadata = path.metadata().with_context(cannot)?;
    let advice = || format!("{shown} holds no {what}; name a regular file of at most 1 MiB");
    ensure!(metadata.is_file(), advice());
    let mut bytes = Vec::new();
    // A file can grow while it is read, and some files report a length of 0.
    File::open(path)
        .with_context(cannot)?
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .with_context(cannot)?;
    ensure!(bytes.len() as u64 <= BYTES_MAX, advice());
    String::from_utf8(bytes)
        .ok()
        .with_context(|| format!("{shown} holds no {what}: it is not text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        format!("{:#}", read(path, "prices").unwrap_err())
    }

    #[test]
    fn a_file_is_read_and_what_is_none_is_said_in_a_line() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("prices.toml");
        std::fs::write(&file, "years = 3\n").unwrap();
        assert_eq!(read(&file, "prices").unwrap(), "years = 3\n");
        std::fs::write(&file, "x".repeat(1 << 20)).unwrap();
        assert!(read(&file, "prices").is_ok());
        for (path, says) in [
            (
                "/dev/zero".as_ref(),
                "/dev/zero holds no prices; name a regular file of at most 1 MiB",
            ),
            (directory.path(), "holds no prices; name a regular file"),
            ("/nowhere/at/all".as_ref(), "cannot read /nowhere/at/all: No such file"),
        ] {
            assert!(refused(path).contains(says), "{}", refused(path));
        }
        std::fs::write(&file, "x".repeat((1 << 20) + 1)).unwrap();
        assert!(refused(&file).contains("holds no prices"), "one byte too many");
        std::fs::write(&file, b"\xff").unwrap();
        assert!(
            refused(&file).contains("holds no prices: it is not text in UTF-8"),
            "{}",
            refused(&file)
        );
    }

    /// Opening a pipe without a writer would block.
    #[test]
    fn a_pipe_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(refused(&pipe).contains("holds no prices"), "{}", refused(&pipe));
    }
}
