//! Free space of file systems.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Bytes that this user may still write on the file system of `path`.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let status = rustix::fs::statvfs(path)
        .with_context(|| format!("cannot determine the free space of {}", path.display()))?;
    ensure!(status.f_frsize > 0, "{} does not report its free space", path.display());
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}
