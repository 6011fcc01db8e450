//! Finds the users of a block device or a file, in words.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::blockdev::{DeviceError, check_unused};

/// The users of `path`, an absolute path without links: a mount, a holder or the swap of a block
/// device, and processes that have it open, each as "mounted on /mnt" or "open in fio (process
/// 4711)". Only root sees processes of others. This process is left out, and so are udev and
/// `losetup`, which open any device for a moment.
///
/// The file may be gone, and its server is not asked.
///
/// # Errors
/// `/proc` or `/sys` cannot be read.
pub fn users(path: &Path) -> io::Result<Vec<String>> {
    let mut users: Vec<String> = device_user(path)?.into_iter().collect();
    for entry in std::fs::read_dir("/proc")? {
        let process = entry?.path();
        if let Some(number) = number_of(&process)
            && has_open(&process, path)
            && number != std::process::id()
        {
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            if !name.contains("udev") && name.trim_end() != "losetup" {
                users.push(format!("open in {} (process {number})", name.trim_end()));
            }
        }
    }
    Ok(users)
}

fn device_user(path: &Path) -> io::Result<Option<String>> {
    // Only files in /dev are opened: another file may belong to a server that hangs.
    let is_device = path.starts_with("/dev")
        && path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device());
    if !is_device {
        return Ok(None);
    }
    match check_unused(path) {
        Ok(_) | Err(DeviceError::NotBlock { .. }) => Ok(None),
        Err(DeviceError::Mounted { target, .. }) => {
            Ok(Some(format!("mounted on {}", target.display())))
        }
        Err(DeviceError::Held { holder, .. }) => Ok(Some(format!("held by {holder}"))),
        Err(DeviceError::Unreadable { reason, .. }) => Err(reason),
    }
}

fn number_of(process: &Path) -> Option<u32> {
    process.file_name()?.to_str()?.parse().ok()
}

/// Returns true if the process has `path` open. A process that has ended, or may not be inspected,
/// shows nothing.
fn has_open(process: &Path, path: &Path) -> bool {
    let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    files.map(|file| std::fs::read_link(file.path())).any(|target| target.is_ok_and(|t| t == path))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn who_has_a_file_open_is_named_until_it_ends() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().canonicalize().unwrap();
        // A child forked by another test has all files of this process open until it calls `exec`.
        let users = |path: &Path| {
            users(path).map(|mut users| {
                users.retain(|user| user.contains(" sleep "));
                users
            })
        };
        let ours = std::process::id().to_string();
        assert!(!super::users(&path).unwrap().iter().any(|user| user.contains(&ours)));
        let mut other = Command::new("sleep")
            .arg("1000")
            .stdin(Stdio::from(file.reopen().unwrap()))
            .spawn()
            .unwrap();
        let expected = format!("open in sleep (process {})", other.id());
        let found = users(&path);
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(found.unwrap(), [expected]);
        assert_eq!(users(&path).unwrap(), Vec::<String>::new());
    }
}
