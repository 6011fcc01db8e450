//! An image of ours in somebody else's pool.
//!
//! Guarantees: one that cannot be looked for counts as there; nothing but the image of that very name is removed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_ports::rbd::{self, Cluster, ClusterAccess, ImageName, Libraries, PoolIo, RbdError};

/// A client that died counts as one that has the image open for 30 s (Ceph's `osd_client_watch_timeout`).
const BUSY_PATIENCE: Duration = Duration::from_secs(45);

/// How often a removal is tried meanwhile.
const TRIED_EVERY: Duration = Duration::from_secs(1);

/// Whether it is there, as far as can be told.
pub(crate) fn may_exist(name: &Path, libraries: &Libraries) -> bool {
    let looked = open_pool(name, libraries).and_then(|(io, image)| Ok(rbd::exists(&io, &image)?));
    looked.unwrap_or(true)
}

/// Removes it. One that a client of ours, killed a moment ago, seems to have open is tried again for a while.
///
/// # Errors
/// The cluster does not answer, or somebody has it open.
pub(crate) fn remove(name: &Path, libraries: &Libraries) -> Result<()> {
    let (io, image) = open_pool(name, libraries)?;
    let deadline = Instant::now() + BUSY_PATIENCE;
    loop {
        match rbd::remove(&io, &image) {
            Ok(()) | Err(RbdError::NoImage { .. }) => return Ok(()),
            Err(RbdError::InUse { .. }) if Instant::now() < deadline => {
                std::thread::sleep(TRIED_EVERY);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn open_pool(name: &Path, libraries: &Libraries) -> Result<(PoolIo, ImageName)> {
    let image = ImageName::parse(name).context("the ledger names no image")?;
    let conf = image.conf.clone().context("the ledger names no cluster")?;
    let user = format!("client.{}", image.user.as_deref().unwrap_or("admin"));
    let access = ClusterAccess { conf, user, libraries: libraries.clone() };
    let io = PoolIo::open(&Arc::new(Cluster::connect(&access)?), &image.pool)?;
    Ok((io, image))
}
