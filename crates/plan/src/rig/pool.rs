//! A pool below a rig, resolved: its place, its protection and the size of an image in it.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use assay_base::Size;
use assay_base::protection::{CompressionAlgorithm, CompressionMode, PoolCompression, Protection};

use crate::document::PoolSpec;

/// Stores of a private cluster, if nothing is said: the fewest that can lose one and heal.
const STORES: u16 = 3;

/// The most that each store keeps, if nothing is said.
const STORE_SIZE: Size = Size(10 << 30);

/// Protection of a private pool, if none is given.
const PROTECTION: Protection = Protection::Replicated { copies: 2 };

/// A pool, and the size of the image that a server gets in it.
#[derive(Debug, Clone)]
pub struct PlannedPool {
    pub size: Size,
    pub place: PoolPlace,
}

/// The place of a pool.
#[derive(Debug, Clone)]
pub enum PoolPlace {
    /// In a private cluster, where it is created for each run.
    Private(PrivatePool),
    /// In an existing cluster.
    Existing {
        /// The cluster's configuration file.
        conf: PathBuf,
        /// The Ceph user, without `client.`; `None`: admin.
        user: Option<String>,
        pool: String,
    },
}

/// A pool in a private cluster.
#[derive(Debug, Clone)]
pub struct PrivatePool {
    pub cluster: PlannedCluster,
    pub protection: Protection,
    /// Compression by the stores; `None`: they store data as they are.
    pub compression: Option<PoolCompression>,
    /// Limit of each image in I/Os per second.
    pub image_iops: Option<u64>,
    /// Limit of each image in bytes per second.
    pub image_bytes_per_s: Option<Size>,
}

/// A private cluster as the plan asks for it; equal ones are one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedCluster {
    pub stores: u16,
    /// The most that each store keeps.
    pub store_size: Size,
}

impl PlannedPool {
    /// Resolves the pool of a plan.
    ///
    /// # Errors
    /// One line naming the key and what it should be.
    pub fn of(spec: &PoolSpec) -> Result<PlannedPool> {
        check(spec)?;
        let place = match (&spec.ceph_conf, &spec.name) {
            (Some(conf), Some(pool)) => {
                check_existing(spec, pool)?;
                let (conf, user, pool) = (conf.clone(), spec.ceph_user.clone(), pool.clone());
                PoolPlace::Existing { conf, user, pool }
            }
            _ => PoolPlace::Private(PrivatePool::of(spec)?),
        };
        Ok(PlannedPool { size: spec.size, place })
    }

    /// The pool as it is created in a private cluster; `None` for one that is there already.
    #[must_use]
    pub fn private(&self) -> Option<&PrivatePool> {
        match &self.place {
            PoolPlace::Private(pool) => Some(pool),
            PoolPlace::Existing { .. } => None,
        }
    }
}

impl PrivatePool {
    fn of(spec: &PoolSpec) -> Result<PrivatePool> {
        let protection = spec.protect.unwrap_or(PROTECTION);
        let needed = protection.stores();
        let cluster = PlannedCluster {
            stores: spec.stores.unwrap_or(STORES.max(needed)),
            store_size: spec.store_size.unwrap_or(STORE_SIZE),
        };
        ensure!(
            cluster.stores >= needed,
            "{protection} takes {needed} stores, and the cluster has {}; raise stores, or \
            protect with less",
            cluster.stores
        );
        let mode = spec.compression.filter(|mode| *mode != CompressionMode::None);
        let algorithm = spec.compression_algorithm.unwrap_or(CompressionAlgorithm::Zstd);
        Ok(PrivatePool {
            cluster,
            protection,
            compression: mode.map(|mode| PoolCompression { mode, algorithm }),
            image_iops: spec.image_iops,
            image_bytes_per_s: spec.image_bytes_per_s,
        })
    }
}

/// Checks that the keys go together.
fn check(spec: &PoolSpec) -> Result<()> {
    ensure!(
        spec.ceph_conf.is_some() == spec.name.is_some(),
        "an existing cluster needs both ceph_conf and name, the pool in it; give both, or neither \
         for a private cluster"
    );
    ensure!(
        spec.ceph_user.is_none() || spec.ceph_conf.is_some(),
        "ceph_user asks an existing cluster; give its ceph_conf and the pool's name, or remove \
         ceph_user"
    );
    ensure!(
        spec.compression_algorithm.is_none() || spec.compression.is_some(),
        "compression_algorithm needs compression; give that too, e.g. compression = \"aggressive\""
    );
    for (key, is_zero) in [
        ("image_iops", spec.image_iops == Some(0)),
        ("image_bytes_per_s", spec.image_bytes_per_s == Some(Size(0))),
    ] {
        ensure!(!is_zero, "{key} is 0, with which nothing would be done; omit it for no limit");
    }
    Ok(())
}

/// Refuses keys of pools that are created for the study.
fn check_existing(spec: &PoolSpec, pool: &str) -> Result<()> {
    for (key, is_there) in [
        ("protect", spec.protect.is_some()),
        ("compression", spec.compression.is_some()),
        ("image_iops", spec.image_iops.is_some()),
        ("image_bytes_per_s", spec.image_bytes_per_s.is_some()),
        ("stores", spec.stores.is_some()),
        ("store_size", spec.store_size.is_some()),
    ] {
        ensure!(
            !is_there,
            "{key} is for pools that are made for the study, and {pool} is there already; remove \
            it, or ceph_conf and name"
        );
    }
    Ok(())
}
