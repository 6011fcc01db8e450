//! Unique names of a drive's media: a path without links, or an image with its cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_pool::locate;
use assay_ports::rbd::ImageName;

/// The path without links, or the image with its cluster.
pub fn resolved(named: &Path) -> Result<PathBuf> {
    match locate::image(named, None)? {
        Some(image) => Ok(image.path()),
        None => named.canonicalize().with_context(|| named.display().to_string()),
    }
}

/// Returns true if both names can mean the same image. A name without a cluster may mean any
/// cluster.
pub(crate) fn is_same_image(one: &Path, other: &Path) -> bool {
    let (Some(one), Some(other)) = (ImageName::parse(one), ImageName::parse(other)) else {
        return false;
    };
    let is_same_cluster = one.conf.is_none() || other.conf.is_none() || one.conf == other.conf;
    (one.pool, one.image) == (other.pool, other.image) && is_same_cluster
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_with_and_without_its_cluster() {
        let same = |one: &str, other: &str| is_same_image(Path::new(one), Path::new(other));
        assert!(same("rbd:rep/a", "rbd:rep/a:conf=/x/ceph.conf"));
        assert!(same("rbd:rep/a:id=me:conf=/x", "rbd:rep/a:conf=/x"));
        assert!(!same("rbd:rep/a:conf=/y", "rbd:rep/a:conf=/x"));
        assert!(!same("rbd:rep/a", "rbd:rep/b") && !same("rbd:rep/a", "/rep/a"));
    }
}
