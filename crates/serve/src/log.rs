//! The log of a drive: one file for its media, which stays, whoever serves the drive and however
//! that ends.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_ports::rbd::ImageName;
use sha2::{Digest, Sha256};

use assay_system::state;

/// Directory of logs in the state directory.
const LOGS: &str = "logs";

/// A longer log is renamed to `….log.1` before the drive is attached, in bytes.
const LENGTH_MAX: u64 = 1 << 20;

/// Length to which names are cut; file systems allow 255 bytes.
const NAME_MAX: usize = 100;

/// The path of the log of the drive on `media`, an absolute path without links.
pub fn path_of(media: &Path) -> Result<PathBuf> {
    Ok(state::directory()?.join(LOGS).join(name_of(media)))
}

/// The log of the drive on `media`, if it exists.
pub fn found_of(media: &Path) -> Option<PathBuf> {
    path_of(media).ok().filter(|path| path.is_file())
}

/// A name derived from that of the media, in plain characters, with a digest that distinguishes
/// equal names in different directories.
pub fn name_of(media: &Path) -> String {
    let name = match ImageName::parse(media) {
        Some(image) => image.short(),
        None => media.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let typed = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
    let name: String =
        name.chars().take(NAME_MAX).map(|sign| if typed(sign) { sign } else { '_' }).collect();
    let digest = Sha256::digest(media.as_os_str().as_encoded_bytes());
    let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{digest}.log")
}

/// Redirects this process's log to that of the drive on `media`. Returns the journal if the log
/// went there before.
pub fn begin(media: &Path) -> Result<Option<File>> {
    let path = state::below(LOGS)?.join(name_of(media));
    let what = || format!("cannot write the log {}", path.display());
    put_aside(&path).with_context(what)?;
    let log =
        OpenOptions::new().create(true).append(true).mode(0o600).open(&path).with_context(what)?;
    let journal = journal();
    rustix::stdio::dup2_stderr(log)?;
    Ok(journal)
}

fn put_aside(path: &Path) -> std::io::Result<()> {
    match path.metadata() {
        Ok(metadata) if metadata.len() > LENGTH_MAX => {
            fs::rename(path, path.with_extension("log.1"))
        }
        _ => Ok(()),
    }
}

/// Standard error, if it is connected to the journal (`systemd.exec(5)`, `$JOURNAL_STREAM`).
fn journal() -> Option<File> {
    let named = std::env::var("JOURNAL_STREAM").ok()?;
    let (device, inode) = named.split_once(':')?;
    let stderr = File::from(std::io::stderr().as_fd().try_clone_to_owned().ok()?);
    let metadata = stderr.metadata().ok()?;
    let is_it = device.parse() == Ok(metadata.dev()) && inode.parse() == Ok(metadata.ino());
    is_it.then_some(stderr)
}

/// A line of a log without its time and level.
#[must_use]
pub fn words(line: &str) -> &str {
    let behind = line.split_once(' ').filter(|(time, _)| time.ends_with('Z'));
    behind.and_then(|(_, rest)| rest.split_once(' ')).map_or(line, |(_, words)| words)
}

/// Returns true for a line that reports an error.
#[must_use]
pub fn is_error(line: &str) -> bool {
    line.split(' ').nth(1) == Some("error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_media_and_no_file_system_refuses_them() {
        let name = name_of(Path::new("/srv/vol.img"));
        assert!(name.starts_with("vol.img-") && name.ends_with(".log"), "{name}");
        assert_eq!(name.len(), "vol.img-01234567.log".len());
        assert_ne!(name, name_of(Path::new("/data/vol.img")));
        let odd = name_of(Path::new("/srv/my \n'vol\u{fc}"));
        assert!(odd.starts_with("my___vol_-"), "{odd}");
        assert!(name_of(Path::new(&format!("/{}", "ü".repeat(120)))).len() < 128);
    }

    #[test]
    fn a_line_of_a_log_says_what_is_behind_its_time_and_level() {
        let line = "2026-11-23T03:52:07.123Z error vol.img: cut short";
        assert_eq!((words(line), is_error(line)), ("vol.img: cut short", true));
        assert_eq!(words("memory allocation failed"), "memory allocation failed");
        assert_eq!((words(""), is_error("")), ("", false));
    }
}
