//! An image that Assay made in somebody else's pool.
//!
//! Guarantees: an existing image is never taken over; only the image that was made is removed; the
//! client library is one found on this machine, never one named in a ledger.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_ports::rbd::{self, Cluster, ClusterAccess, ImageName, Libraries, PoolIo, RbdError};
use serde::{Deserialize, Serialize};

use super::presence::Presence;

/// A client that died counts as having the image open for 30 s (Ceph's `osd_client_watch_timeout`).
const BUSY_PATIENCE: Duration = Duration::from_secs(45);

/// Interval between attempts to remove an image.
const TRIED_EVERY: Duration = Duration::from_secs(1);

/// An image of Assay's, with its name and its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnImage {
    /// With its cluster, as `rbd:POOL/IMAGE:conf=FILE`.
    name: PathBuf,
    /// `None` before the image is made. If the process dies in between, the name alone identifies
    /// the image: it is never used twice.
    #[serde(default)]
    id: Option<String>,
    #[serde(skip)]
    libraries: Option<Libraries>,
}

impl OwnImage {
    /// An image that is to be made.
    pub(crate) fn meant(name: &ImageName, libraries: &Libraries) -> OwnImage {
        OwnImage { name: name.path(), id: None, libraries: Some(libraries.clone()) }
    }

    /// The image after it was made.
    pub(crate) fn made(self, id: Option<String>) -> OwnImage {
        OwnImage { id, ..self }
    }

    /// The name, with its cluster.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The same image, accessed with these client libraries.
    #[must_use]
    pub fn with_libraries(self, libraries: Libraries) -> OwnImage {
        OwnImage { libraries: Some(libraries), ..self }
    }

    /// Returns [`Presence::There`] if the cluster cannot be asked.
    pub(crate) fn presence(&self) -> Presence {
        let looked = self.open_pool().and_then(|(io, image)| Ok(rbd::id(&io, &image)?));
        match looked {
            Ok(None) => Presence::Gone,
            Ok(Some(id)) if self.id.as_ref().is_some_and(|ours| *ours != id) => Presence::Another,
            Ok(Some(_)) => Presence::There,
            Err(_) => Presence::Unasked,
        }
    }

    /// Removes the image. If a client of Assay's that was killed seems to have it open, the removal
    /// is repeated for a while.
    pub(crate) fn remove(&self) -> Result<()> {
        let (io, image) = self.open_pool()?;
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

    fn open_pool(&self) -> Result<(PoolIo, ImageName)> {
        let image = ImageName::parse(&self.name).context("the ledger names no image")?;
        let conf = image.conf.clone().context("the ledger names no cluster")?;
        let user = format!("client.{}", image.user.as_deref().unwrap_or("admin"));
        let libraries = self.libraries.clone();
        let libraries = libraries.context(
            "no Ceph client library is here; install librbd1, or fetch it with `assay pool fetch`",
        )?;
        let access = ClusterAccess { conf, user, libraries };
        let io = PoolIo::open(&Arc::new(Cluster::connect(&access)?), &image.pool)?;
        Ok((io, image))
    }
}
