//! Files that are whole or not there: written under another name, then renamed.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_base::plain_file;

/// Writes `path` with what `fill` gives; a reader sees the old file or the new one, never half.
///
/// # Errors
/// A directory or file that cannot be written, or an error of `fill`.
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let what = || format!("cannot write {}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(what)?;
    }
    let unfinished = &unfinished(path);
    let written = write_whole(unfinished, fill)
        .and_then(|()| fs::rename(unfinished, path).map_err(Into::into));
    if written.is_err() {
        // What is left of it is of no use; that it cannot be removed changes nothing about the
        // error.
        let _ = fs::remove_file(unfinished);
    }
    written.with_context(what)
}

/// Whether [`replace`] could write `path`; leaves nothing behind.
///
/// # Errors
/// What making a file beside it answered.
pub fn check(path: &Path) -> Result<()> {
    let unfinished = unfinished(path);
    plain_file::make_anew(&unfinished)?;
    Ok(fs::remove_file(unfinished)?)
}

/// The name under which `path` is written.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    name.into()
}

fn write_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut file = BufWriter::new(plain_file::make_anew(path)?);
    fill(&mut file)?;
    file.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study that was sent may hold a link under each name that a report writes.
    #[test]
    fn a_link_is_replaced_and_not_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("data"), "kept").unwrap();
        for link in [at("report.html"), unfinished(&at("report.html"))] {
            std::os::unix::fs::symlink(at("data"), link).unwrap();
        }
        replace(&at("report.html"), |file| Ok(file.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read_to_string(at("data")).unwrap(), "kept");
        assert!(at("report.html").symlink_metadata().unwrap().is_file());
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/report.html");
        replace(&path, |file| Ok(file.write_all(b"old")?)).unwrap();
        let error = replace(&path, |file| {
            file.write_all(b"half of the new")?;
            anyhow::bail!("the disk is full")
        })
        .unwrap_err();
        assert!(format!("{error:#}").contains("the disk is full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
