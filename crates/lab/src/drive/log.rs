//! The log of a drive: one file for what it lies on, which stays, whoever serves it and however that ends.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::messages;
use assay_system::ledger::state_folder;

/// The folder of logs in the state folder.
const LOGS: &str = "logs";

/// A log that is longer when its drive is attached is put aside first, as `….log.1`, in bytes.
const LENGTH_MAX: u64 = 1 << 20;

/// How much of a name is kept: file systems take 255 bytes.
const NAME_MAX: usize = 100;

/// The log of the drive on `media`, an absolute path without links.
pub(super) fn path_of(media: &Path) -> PathBuf {
    state_folder().join(LOGS).join(name_of(media))
}

/// The same where there is one already.
pub(super) fn found_of(media: &Path) -> Option<PathBuf> {
    std::path::absolute(path_of(media)).ok().filter(|path| path.is_file())
}

/// What the media is called, as far as that can be typed everywhere, and what tells it from others that are called so elsewhere.
fn name_of(media: &Path) -> String {
    let name = media.file_name().unwrap_or_default().to_string_lossy();
    let typed = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
    let name: String =
        name.chars().take(NAME_MAX).map(|sign| if typed(sign) { sign } else { '_' }).collect();
    let digest = Sha256::digest(media.as_os_str().as_encoded_bytes());
    let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{digest}.log")
}

/// From now on what this process says goes into the log of the drive on `media`, and to the journal, where that is where it went.
///
/// # Errors
/// The log cannot be written.
pub(super) fn begin(media: &Path) -> Result<()> {
    let path = path_of(media);
    let what = || format!("cannot write the log {}", path.display());
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(what)?;
    }
    put_aside(&path).with_context(what)?;
    let log = OpenOptions::new().create(true).append(true).open(&path).with_context(what)?;
    messages::become_log(journal());
    Ok(rustix::stdio::dup2_stderr(log)?)
}

fn put_aside(path: &Path) -> std::io::Result<()> {
    match path.metadata() {
        Ok(metadata) if metadata.len() > LENGTH_MAX => {
            fs::rename(path, path.with_extension("log.1"))
        }
        _ => Ok(()),
    }
}

/// Standard error, where it is the journal's (`systemd.exec(5)`, `$JOURNAL_STREAM`).
fn journal() -> Option<File> {
    let named = std::env::var("JOURNAL_STREAM").ok()?;
    let (device, inode) = named.split_once(':')?;
    let stderr = File::from(std::io::stderr().as_fd().try_clone_to_owned().ok()?);
    let metadata = stderr.metadata().ok()?;
    let is_it = device.parse() == Ok(metadata.dev()) && inode.parse() == Ok(metadata.ino());
    is_it.then_some(stderr)
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
}
