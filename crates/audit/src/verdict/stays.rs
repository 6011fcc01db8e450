//! Whether pages stay as they lie: what keeps them in one piece, also those to come, and what would change that.
//!
//! Guarantee: a hint to a file system never counts as something that keeps pages together.

use serde::{Deserialize, Serialize};

use super::{Seen, of_served_file};
use crate::file_system::{FileSystem, Manner};
use crate::layers::{Layer, LayerKind};
use crate::stack::{Backing, Stack};

/// Something that keeps every page in one piece, also pages that are added later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "keeper")]
pub enum Keeper {
    /// The file system allocates clusters of a multiple of a page: ext4 with bigalloc.
    Clusters {
        /// Bytes of a cluster.
        bytes: u64,
    },
    /// The file system of an image file allocates such clusters.
    ClustersBelow {
        /// The loop device.
        device: String,
        /// Bytes of a cluster.
        bytes: u64,
    },
    /// All of an image file is allocated, and nothing takes any of it back.
    AllocatedImage {
        /// The loop device.
        device: String,
    },
}

/// Something that can split a page which is in one piece now, or one that is added later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Change {
    /// The file system puts added pages wherever it finds room.
    NewPages {
        /// Its type.
        file_system: String,
    },
    /// XFS has an extent size hint: it asks for aligned room, and takes less where there is none
    /// (`xfs_io(8)`, `extsize`).
    Hint {
        /// Bytes that it asks for.
        bytes: u64,
        /// Pages that lie in several extents in spite of it.
        split: u64,
        /// All pages.
        of: u64,
    },
    /// Data files share extents with other files: the next write to one goes elsewhere.
    SharedFiles {
        /// Bytes that are shared.
        bytes: u64,
    },
    /// An image file has holes, which are filled from wherever there is room.
    Holes {
        /// The loop device.
        device: String,
        /// Bytes in holes.
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
        /// Bytes that are shared.
        bytes: u64,
    },
    /// The file system of the image file writes every block elsewhere.
    CopyOnWrite {
        /// The loop device.
        device: String,
        /// Type of that file system.
        file_system: String,
    },
    /// A part of the image file has the room for a page in several extents.
    SplitPlaces {
        /// The loop device.
        device: String,
        /// Places that are split.
        places: u64,
        /// All places.
        of: u64,
    },
}

/// What keeps pages in one piece, and what would not.
pub(super) fn stays(seen: &Seen) -> (Vec<Keeper>, Vec<Change>) {
    let mut found = Found { page_bytes: seen.page_bytes, keepers: Vec::new(), changes: Vec::new() };
    for stack in &seen.stacks {
        found.file_system(&stack.file_system, seen);
        found.images(stack);
    }
    let held = seen.files.looked.iter().filter(|file| file.kind.holds_pages());
    let bytes = held.map(|file| file.shared_bytes).sum();
    if bytes > 0 {
        found.add(Change::SharedFiles { bytes });
    }
    (found.keepers, found.changes)
}

struct Found {
    page_bytes: u64,
    keepers: Vec<Keeper>,
    changes: Vec<Change>,
}

impl Found {
    fn keep(&mut self, keeper: Keeper) {
        if !self.keepers.contains(&keeper) {
            self.keepers.push(keeper);
        }
    }

    fn add(&mut self, change: Change) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    fn file_system(&mut self, file_system: &FileSystem, seen: &Seen) {
        let name = || file_system.name.clone();
        match &file_system.manner {
            _ if let Some(bytes) = clusters(file_system, self.page_bytes) => {
                self.keep(Keeper::Clusters { bytes });
            }
            Manner::Xfs { extent_bytes: Some(bytes) } => {
                let pages = seen.files.pages();
                let (split, of) = (pages.split(), pages.count);
                self.add(Change::Hint { bytes: u64::from(*bytes), split, of });
            }
            Manner::Ext { .. } | Manner::Xfs { extent_bytes: None } => {
                self.add(Change::NewPages { file_system: name() });
            }
            // Nothing is known to be safe there now.
            Manner::CopyOnWrite { .. }
            | Manner::Memory
            | Manner::Remote
            | Manner::Stacked
            | Manner::Unknown => {}
        }
    }

    /// Image files below loop devices, and those below these.
    fn images(&mut self, stack: &Stack) {
        let loops = stack.layers.iter().filter(|one| matches!(one.kind, LayerKind::Loop { .. }));
        for (layer, backing) in loops.zip(&stack.files) {
            if let Some(below) = &backing.below
                && !of_served_file(backing)
            {
                self.image(layer, backing, below);
                self.images(below);
            }
        }
    }

    fn image(&mut self, layer: &Layer, backing: &Backing, below: &Stack) {
        let device = || layer.name.clone();
        if let Some(bytes) = clusters(&below.file_system, self.page_bytes) {
            return self.keep(Keeper::ClustersBelow { device: device(), bytes });
        }
        let before = self.changes.len();
        if let Manner::CopyOnWrite { .. } = below.file_system.manner {
            let file_system = below.file_system.name.clone();
            self.add(Change::CopyOnWrite { device: device(), file_system });
        }
        if backing.hole_bytes > 0 {
            self.add(Change::Holes { device: device(), bytes: backing.hole_bytes });
        }
        if backing.shared_bytes > 0 {
            self.add(Change::SharedImage { device: device(), bytes: backing.shared_bytes });
        }
        if layer.limits.is_none_or(|limits| limits.discard_bytes_max > 0) {
            self.add(Change::Discards { device: device() });
        }
        if let Some(pages) = backing.pages.filter(|pages| pages.split() > 0) {
            let (places, of) = (pages.split(), pages.count);
            self.add(Change::SplitPlaces { device: device(), places, of });
        }
        if self.changes.len() == before {
            self.keep(Keeper::AllocatedImage { device: device() });
        }
    }
}

/// Bytes of the clusters of a file system, if they hold pages in one piece.
fn clusters(file_system: &FileSystem, page_bytes: u64) -> Option<u64> {
    match file_system.manner {
        Manner::Ext { cluster_bytes: Some(bytes), .. }
            if bytes > 0 && bytes.is_multiple_of(page_bytes) =>
        {
            Some(bytes)
        }
        _ => None,
    }
}
