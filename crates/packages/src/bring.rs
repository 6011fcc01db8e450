//! Downloads packages with their dependencies, and unpacks them into a tree.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_system::{free_bytes, tool};

use super::apt::Apt;

/// Free space needed per downloaded byte, for the packages and their contents (measured: 5.5
/// bytes).
const SPACE_PER_DOWNLOAD_BYTE: u64 = 8;

/// Setuid and setgid (`inode(7)`).
const PRIVILEGES: u32 = 0o6000;

const UNPACK_PATIENCE: Duration = Duration::from_secs(300);

/// A program that downloading or unpacking needs is missing.
#[derive(Debug, thiserror::Error)]
#[error("packages cannot be downloaded without `{program}`")]
pub struct MissingTool {
    pub program: &'static str,
}

/// Checks that packages can be downloaded and unpacked here.
pub fn check_tools() -> Result<(), MissingTool> {
    for program in ["apt-get", "dpkg-deb"] {
        let mut command = Command::new(program);
        command.arg("--version");
        tool::run(command, Duration::from_secs(30)).map_err(|_| MissingTool { program })?;
    }
    Ok(())
}

/// Downloads `packages` and their dependencies, and unpacks them into the directory `tree` in
/// `staging`; returns that directory. `progress` receives a plain line per step. An error names the
/// package or the shortage, and the remedy.
pub fn bring(
    apt: &Apt,
    packages: &[&str],
    staging: &Path,
    progress: &dyn Fn(&str),
) -> Result<PathBuf> {
    let plan = apt.plan(packages)?;
    progress(&format!("downloading {}: {plan}", packages.join(", ")));
    check_space(staging, plan.download_bytes)?;
    let files = apt.download(packages)?;
    progress(&format!("unpacking {} packages", files.len()));
    let tree = staging.join("tree");
    files.iter().try_for_each(|file| unpack(file, &tree))?;
    take_privileges(&tree)?;
    Ok(tree)
}

/// Clears the setuid and setgid bits of every file below `tree`: packages contain programs such as
/// `sudo` and `passwd`.
pub(super) fn take_privileges(tree: &Path) -> Result<()> {
    for entry in fs::read_dir(tree)? {
        let entry = entry?;
        let metadata = entry.path().symlink_metadata()?;
        if metadata.is_symlink() {
            continue;
        }
        let mode = metadata.permissions().mode();
        if mode & PRIVILEGES != 0 {
            fs::set_permissions(entry.path(), Permissions::from_mode(mode & !PRIVILEGES))?;
        }
        if metadata.is_dir() {
            take_privileges(&entry.path())?;
        }
    }
    Ok(())
}

fn check_space(directory: &Path, download_bytes: u64) -> Result<()> {
    let (free, needed) = (free_bytes(directory)?, download_bytes * SPACE_PER_DOWNLOAD_BYTE);
    if free < needed {
        bail!(
            "{} MB are needed in {} and {} MB are free; free some space or set ASSAY_CACHE",
            needed / 1_000_000,
            directory.parent().unwrap_or(directory).display(),
            free / 1_000_000
        );
    }
    Ok(())
}

fn unpack(package: &Path, tree: &Path) -> Result<()> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--extract").arg(package).arg(tree);
    tool::run(command, UNPACK_PATIENCE)
        .with_context(|| format!("cannot unpack {}", package.display()))?;
    Ok(fs::remove_file(package)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_unpacked_runs_as_another_user() {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory.path().join("tree/usr/bin");
        fs::create_dir_all(&bin).unwrap();
        let set = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        for (name, mode) in [("sudo", 0o4755), ("chage", 0o2755), ("plain", 0o755)] {
            fs::write(bin.join(name), "").unwrap();
            set(&bin.join(name), mode);
        }
        set(&bin, 0o2755);
        // The target of a link is outside the tree.
        fs::write(directory.path().join("outside"), "").unwrap();
        set(&directory.path().join("outside"), 0o4755);
        std::os::unix::fs::symlink(directory.path().join("outside"), bin.join("link")).unwrap();
        take_privileges(&directory.path().join("tree")).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        for name in ["sudo", "chage", "plain"] {
            assert_eq!(mode(&bin.join(name)), 0o755, "{name}");
        }
        assert_eq!((mode(&bin), mode(&directory.path().join("outside"))), (0o755, 0o4755));
    }
}
