//! The source of space for a drive's writes, as its health reports it.

use assay_base::text::size;
use assay_ports::media::SpaceSource;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpaceKind {
    /// A block device.
    Device,
    /// A cluster's pool.
    Pool,
    /// The file's own blocks, overwritten in place.
    Allocated,
    /// Blocks allocated when they are first written.
    Sparse,
    /// New blocks for each write.
    CopyOnWrite,
    /// Blocks shared with other files or snapshots, copied when they are written.
    Shared,
    /// Unknown for this file system.
    Unknown,
}

/// The source of space, and the amounts at stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaSpace {
    #[serde(rename = "media_space")]
    pub kind: SpaceKind,
    /// Shared with copies and snapshots.
    #[serde(rename = "media_shared_bytes")]
    pub shared_bytes: u64,
    /// Set aside for writing shared blocks.
    #[serde(rename = "media_set_aside_bytes")]
    pub set_aside_bytes: u64,
}

impl From<SpaceSource> for MediaSpace {
    fn from(space: SpaceSource) -> MediaSpace {
        let plain = |kind| MediaSpace { kind, shared_bytes: 0, set_aside_bytes: 0 };
        match space {
            SpaceSource::Device => plain(SpaceKind::Device),
            SpaceSource::Remote => plain(SpaceKind::Pool),
            SpaceSource::Allocated => plain(SpaceKind::Allocated),
            SpaceSource::Sparse => plain(SpaceKind::Sparse),
            SpaceSource::CopyOnWrite => plain(SpaceKind::CopyOnWrite),
            SpaceSource::Unknown => plain(SpaceKind::Unknown),
            SpaceSource::Shared { bytes, set_aside } => MediaSpace {
                kind: SpaceKind::Shared,
                shared_bytes: bytes,
                set_aside_bytes: set_aside,
            },
        }
    }
}

impl MediaSpace {
    /// The effect on the drive if the file system of its media fills up; `None` if it is unknown.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        const STOPS: &str = "if its file system fills, the drive stops";
        Some(match self.kind {
            SpaceKind::Device | SpaceKind::Pool => return None,
            SpaceKind::Allocated => "allocated; writes take no new space".into(),
            SpaceKind::Sparse => format!("allocated on demand; {STOPS}"),
            SpaceKind::CopyOnWrite => {
                format!("on a file system that copies on write, so writes take new space; {STOPS}")
            }
            SpaceKind::Unknown => {
                "whether writes take new space on this file system is not known".into()
            }
            SpaceKind::Shared => {
                let (shared, aside) =
                    (size(self.shared_bytes as f64), size(self.set_aside_bytes as f64));
                let rest = if self.set_aside_bytes < self.shared_bytes { STOPS } else { "" };
                let gap = if rest.is_empty() { "" } else { "; " };
                format!(
                    "{shared} shared with a copy or snapshot, so writes there take new space; \
                     {aside} set aside for that{gap}{rest}"
                )
            }
        })
    }

    /// Returns true if the drive may stop when the file system of its media fills up, although it
    /// is not sparse.
    #[must_use]
    pub fn breaks_promise(&self) -> bool {
        matches!(self.kind, SpaceKind::CopyOnWrite | SpaceKind::Shared)
    }
}
