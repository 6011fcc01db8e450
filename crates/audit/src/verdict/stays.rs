//! Judges whether pages stay contiguous: which mechanisms keep them so, including pages to come,
//! and which events would change that.
//!
//! Guarantee: a hint to a file system never counts as such a mechanism.

use serde::{Deserialize, Serialize};

use super::{AuditFindings, of_served_file};
use crate::file_system::{Manner, MountedFileSystem};
use crate::layers::{DeviceLayer, LayerKind};
use crate::stack::{Backing, StorageStack};

/// A mechanism that keeps every page contiguous, also pages added later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "keeper")]
pub enum Keeper {
    /// The file system allocates clusters of a multiple of a page: ext4 with bigalloc.
    Clusters {
        /// Cluster size.
        bytes: u64,
    },
    /// The file system of an image file allocates such clusters.
    ClustersBelow {
        /// The loop device.
        device: String,
        /// Cluster size.
        bytes: u64,
    },
    /// An image file is fully allocated, and no discard removes any of it.
    AllocatedImage {
        /// The loop device.
        device: String,
    },
}

/// An event that can split a page which is contiguous now, or one added later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum LayoutChange {
    /// The file system places new pages in any free space.
    NewPages {
        /// Its type.
        file_system: String,
    },
    /// XFS has an extent size hint: it requests aligned space, and accepts less if there is none
    /// (`xfs_io(8)`, `extsize`).
    Hint {
        /// Size of the hint.
        bytes: u64,
        /// Pages in several extents in spite of it.
        split: u64,
        /// All pages.
        of: u64,
    },
    /// Data files share extents with other files: the next write to such an extent goes elsewhere.
    SharedFiles { bytes: u64 },
    /// An image file has holes, which are filled from any free space.
    Holes {
        /// The loop device.
        device: String,
        bytes: u64,
    },
    /// A discard punches a hole into the image file.
    Discards {
        /// The loop device.
        device: String,
    },
    /// The image file shares extents with other files.
    SharedImage {
        /// The loop device.
        device: String,
        bytes: u64,
    },
    /// The file system of the image file is copy-on-write.
    CopyOnWrite {
        /// The loop device.
        device: String,
        /// Type of that file system.
        file_system: String,
    },
    /// Some parts of the image file hold a page in several extents.
    SplitPlaces {
        /// The loop device.
        device: String,
        /// Split parts.
        places: u64,
        /// All parts.
        of: u64,
    },
}

/// The mechanisms that keep pages contiguous, and the events that would change that.
pub(super) fn stays(findings: &AuditFindings) -> (Vec<Keeper>, Vec<LayoutChange>) {
    let mut found =
        Found { page_bytes: findings.page_bytes, keepers: Vec::new(), changes: Vec::new() };
    for stack in &findings.stacks {
        found.file_system(&stack.file_system, findings);
        found.images(stack);
    }
    let held = findings.files.looked.iter().filter(|file| file.kind.holds_pages());
    let bytes = held.map(|file| file.shared_bytes).sum();
    if bytes > 0 {
        found.add(LayoutChange::SharedFiles { bytes });
    }
    (found.keepers, found.changes)
}

struct Found {
    page_bytes: u64,
    keepers: Vec<Keeper>,
    changes: Vec<LayoutChange>,
}

impl Found {
    fn keep(&mut self, keeper: Keeper) {
        if !self.keepers.contains(&keeper) {
            self.keepers.push(keeper);
        }
    }

    fn add(&mut self, change: LayoutChange) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    fn file_system(&mut self, file_system: &MountedFileSystem, findings: &AuditFindings) {
        let name = || file_system.name.clone();
        match &file_system.manner {
            _ if let Some(bytes) = clusters(file_system, self.page_bytes) => {
                self.keep(Keeper::Clusters { bytes });
            }
            Manner::Xfs { extent_bytes: Some(bytes) } => {
                let pages = findings.files.pages();
                let (split, of) = (pages.split(), pages.count);
                self.add(LayoutChange::Hint { bytes: u64::from(*bytes), split, of });
            }
            Manner::Ext { .. } | Manner::Xfs { extent_bytes: None } => {
                self.add(LayoutChange::NewPages { file_system: name() });
            }
            // Nothing is known to be safe there now.
            Manner::CopyOnWrite { .. }
            | Manner::Memory
            | Manner::Remote
            | Manner::Stacked
            | Manner::Unknown => {}
        }
    }

    /// Image files below loop devices, recursively.
    fn images(&mut self, stack: &StorageStack) {
        let loops =
            stack.layers.iter().filter(|layer| matches!(layer.kind, LayerKind::Loop { .. }));
        for (layer, backing) in loops.zip(&stack.files) {
            if let Some(below) = &backing.below
                && !of_served_file(backing)
            {
                self.image(layer, backing, below);
                self.images(below);
            }
        }
    }

    fn image(&mut self, layer: &DeviceLayer, backing: &Backing, below: &StorageStack) {
        let device = || layer.name.clone();
        if let Some(bytes) = clusters(&below.file_system, self.page_bytes) {
            return self.keep(Keeper::ClustersBelow { device: device(), bytes });
        }
        let before = self.changes.len();
        if let Manner::CopyOnWrite { .. } = below.file_system.manner {
            let file_system = below.file_system.name.clone();
            self.add(LayoutChange::CopyOnWrite { device: device(), file_system });
        }
        if backing.hole_bytes > 0 {
            self.add(LayoutChange::Holes { device: device(), bytes: backing.hole_bytes });
        }
        if backing.shared_bytes > 0 {
            self.add(LayoutChange::SharedImage { device: device(), bytes: backing.shared_bytes });
        }
        if layer.limits.is_none_or(|limits| limits.discard_bytes_max > 0) {
            self.add(LayoutChange::Discards { device: device() });
        }
        if let Some(pages) = backing.pages.filter(|pages| pages.split() > 0) {
            let (places, of) = (pages.split(), pages.count);
            self.add(LayoutChange::SplitPlaces { device: device(), places, of });
        }
        if self.changes.len() == before {
            self.keep(Keeper::AllocatedImage { device: device() });
        }
    }
}

/// The cluster size of a file system, if clusters keep pages contiguous.
fn clusters(file_system: &MountedFileSystem, page_bytes: u64) -> Option<u64> {
    match file_system.manner {
        Manner::Ext { cluster_bytes: Some(bytes), .. }
            if bytes > 0 && bytes.is_multiple_of(page_bytes) =>
        {
            Some(bytes)
        }
        _ => None,
    }
}
