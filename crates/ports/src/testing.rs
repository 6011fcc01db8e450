//! Helpers for the tests of this crate: skipping with a report, and mounts and loop devices that
//! end with a test.
//!
//! Tests outside the crate include this file by its path.
#![allow(dead_code, reason = "not every including test uses all of it")]

use std::path::{Path, PathBuf};

pub(crate) use assay_testing::skip;
use assay_testing::{Scope, scope};

/// Returns true if this test may mount and attach; otherwise it is skipped. `./assay check` skips
/// it without a report.
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root() && scope() != Scope::Check;
    if !is_root {
        skip("root");
    }
    is_root
}

/// Returns true if root and FUSE are available; otherwise the test is skipped.
pub(crate) fn has_fuse() -> bool {
    let has_fuse = Path::new("/dev/fuse").exists();
    if !has_fuse {
        skip("/dev/fuse");
    }
    has_fuse && is_root()
}

/// Runs a program that must succeed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program)
        .args(arguments)
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A mount that is removed with its directory when the test ends.
pub(crate) struct TestMount {
    directory: tempfile::TempDir,
}

impl TestMount {
    /// Mounts `what` with file system type `kind`.
    pub(crate) fn new(kind: &str, what: &Path, options: &str) -> TestMount {
        let directory = tempfile::tempdir().unwrap();
        let (what, target) = (what.to_str().unwrap(), directory.path().to_str().unwrap());
        run("mount", &["-t", kind, "-o", options, what, target]);
        TestMount { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for TestMount {
    fn drop(&mut self) {
        let flags = rustix::mount::UnmountFlags::DETACH;
        let _ = rustix::mount::unmount(self.directory.path(), flags);
    }
}

/// A loop device that is detached when the test ends.
pub(crate) struct TestLoop {
    pub(crate) device: PathBuf,
    file: PathBuf,
}

impl TestLoop {
    pub(crate) fn new(file: &Path) -> TestLoop {
        let device = run("losetup", &["--find", "--show", file.to_str().unwrap()]);
        TestLoop { device: device.trim_end().into(), file: file.into() }
    }
}

impl Drop for TestLoop {
    fn drop(&mut self) {
        // Waits for the last user: a child of another test may have inherited it and not yet called
        // `exec`.
        let _ = assay_ports::loopdev::detach(&self.device, &self.file);
    }
}
