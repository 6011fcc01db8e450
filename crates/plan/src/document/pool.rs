//! A pool below a rig: a private Ceph cluster of the study's own, or an existing one; its
//! protection, and the image in it.

use std::path::PathBuf;

use assay_base::Size;
use assay_base::protection::{CompressionAlgorithm, CompressionMode, Protection};
use serde::{Deserialize, Serialize};

/// A pool, and the image that a server gets in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSpec {
    /// Size of the image, e.g. `"10G"`.
    pub size: Size,
    /// Copies, 2 or 3, or `"k+m"`, that keep data when stores are lost. Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect: Option<Protection>,
    /// Data that the stores compress. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionMode>,
    /// Compression algorithm of the stores. Default: zstd.
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
