//! Free space of file systems.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Free bytes for us on the file system that holds `path`.
///
/// # Errors
/// What `statvfs` answered.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let status = rustix::fs::statvfs(path)
        .with_context(|| format!("cannot determine the free space of {}", path.display()))?;
    ensure!(status.f_frsize > 0, "{} does not report its free space", path.display());
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}
