//! A pool below a rig: a private Ceph cluster of the study's own, or an existing one; how it keeps data; the image in it.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use assay_base::Size;
use assay_base::protection::{CompressionAlgorithm, CompressionMode, PoolCompression, Protection};
use serde::{Deserialize, Serialize};

/// Stores of a private cluster, if nothing is said: the fewest that can lose one and heal.
const STORES: u16 = 3;

/// The most that each store keeps, if nothing is said.
const STORE_SIZE: Size = Size(10 << 30);

/// What a private pool keeps, if nothing is said.
const PROTECTION: Protection = Protection::Replicated { copies: 2 };

/// A pool, and the image that a server gets in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSpec {
    /// Size of the image, e.g. `"10G"`.
    pub size: Size,
    /// What keeps data when stores are lost: copies, 2 or 3, or `"k+m"`. Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect: Option<Protection>,
    /// Which data the stores compress. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionMode>,
    /// What they compress with. Default: zstd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression_algorithm: Option<CompressionAlgorithm>,
    /// Most I/Os a second of each image (Ceph's `rbd_qos_iops_limit`). Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_iops: Option<u64>,
    /// Most bytes a second of each image (`rbd_qos_bps_limit`). Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_bytes_per_s: Option<Size>,
    /// Stores of the private cluster. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stores: Option<u16>,
    /// The most that each of them keeps. Default: 10G.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_size: Option<Size>,
    /// The configuration file of an existing cluster, in place of a private one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceph_conf: Option<PathBuf>,
    /// Who asks the existing cluster, without `client.`. Default: admin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceph_user: Option<String>,
    /// The pool of the existing cluster in which images are created and removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A private cluster as the plan asks for it; equal ones are one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrivateCluster {
    /// Its stores.
    pub stores: u16,
    /// The most that each of them keeps.
    pub store_size: Size,
}

/// Where a pool is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolPlace<'a> {
    /// In a private cluster, where it is made for each run.
    Private(PrivateCluster),
    /// In an existing cluster, where it is there.
    Existing {
        /// The cluster's configuration file.
        conf: &'a PathBuf,
        /// Who asks.
        user: Option<&'a str>,
        /// The pool.
        pool: &'a str,
    },
}

impl PoolSpec {
    /// Where it is.
    #[must_use]
    pub fn place(&self) -> PoolPlace<'_> {
        match (&self.ceph_conf, &self.name) {
            (Some(conf), Some(pool)) => {
                PoolPlace::Existing { conf, user: self.ceph_user.as_deref(), pool }
            }
            _ => PoolPlace::Private(PrivateCluster {
                stores: self.stores.unwrap_or(STORES.max(self.protection().stores())),
                store_size: self.store_size.unwrap_or(STORE_SIZE),
            }),
        }
    }

    /// Whether its cluster is a private one.
    #[must_use]
    pub fn is_private(&self) -> bool {
        matches!(self.place(), PoolPlace::Private(_))
    }

    /// What keeps data in a private cluster.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.protect.unwrap_or(PROTECTION)
    }

    /// What is compressed in a private cluster, if anything is.
    #[must_use]
    pub fn compressed(&self) -> Option<PoolCompression> {
        let mode = self.compression.filter(|mode| *mode != CompressionMode::None)?;
        let algorithm = self.compression_algorithm.unwrap_or(CompressionAlgorithm::Zstd);
        Some(PoolCompression { mode, algorithm })
    }

    /// Checks that the keys go together.
    ///
    /// # Errors
    /// One line naming the key and what it should be.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            self.ceph_conf.is_some() == self.name.is_some(),
            "an existing cluster needs both ceph_conf and name, the pool in it; give both, or neither for a private cluster"
        );
        ensure!(
            self.ceph_user.is_none() || self.ceph_conf.is_some(),
            "ceph_user asks an existing cluster; give its ceph_conf and the pool's name, or remove ceph_user"
        );
        ensure!(
            self.compression_algorithm.is_none() || self.compression.is_some(),
            "compression_algorithm needs compression; give that too, e.g. compression = \"aggressive\""
        );
        for (key, is_zero) in [
            ("image_iops", self.image_iops == Some(0)),
            ("image_bytes_per_s", self.image_bytes_per_s == Some(Size(0))),
        ] {
            ensure!(!is_zero, "{key} is 0, with which nothing would be done; omit it for no limit");
        }
        match self.place() {
            PoolPlace::Private(cluster) => self.check_private(cluster),
            PoolPlace::Existing { pool, .. } => self.check_existing(pool),
        }
    }

    fn check_private(&self, cluster: PrivateCluster) -> Result<()> {
        let needed = self.protection().stores();
        ensure!(
            cluster.stores >= needed,
            "{} takes {needed} stores, and the cluster has {}; raise stores, or protect with less",
            self.protection(),
            cluster.stores
        );
        Ok(())
    }

    /// An existing pool is as it is.
    fn check_existing(&self, pool: &str) -> Result<()> {
        for (key, is_there) in [
            ("protect", self.protect.is_some()),
            ("compression", self.compression.is_some()),
            ("image_iops", self.image_iops.is_some()),
            ("image_bytes_per_s", self.image_bytes_per_s.is_some()),
            ("stores", self.stores.is_some()),
            ("store_size", self.store_size.is_some()),
        ] {
            ensure!(
                !is_there,
                "{key} is for pools that are made for the study, and {pool} is there already; remove it, or ceph_conf and name"
            );
        }
        Ok(())
    }
}
