//! What would make a place safer, as values; commands are made of them where they are shown.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::layers::LayerKind;
use crate::seen::Seen;
use crate::server::Doublewrite;
use crate::stack::Stack;
use crate::verdict::{Change, Reason, Verdict};

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "remedy")]
pub enum Remedy {
    /// The doublewrite buffer is off, and this is no place for that.
    TurnDoublewriteOn,
    /// Leave it on.
    KeepDoublewriteOn,
    /// Let the server be asked how it writes.
    AskServer,
    /// Ask once more as root.
    AskAsRoot,
    /// Have the server write past the page cache.
    WriteDirectly,
    /// Make the file system anew, with clusters of a page.
    ClusterExt {
        /// Its device, which that erases; nothing where the whole machine lies on it, so that another is needed.
        device: Option<String>,
        /// Bytes of a page.
        page_bytes: u64,
    },
    /// Allocate the holes of the image file.
    AllocateImage {
        /// The file.
        file: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Copy the image file, so that it shares nothing and no page of it is split.
    CopyImage {
        /// The file.
        file: PathBuf,
    },
    /// Have the loop device refuse discards.
    RefuseDiscards {
        /// The device.
        device: String,
    },
    /// Write files anew, so that their pages come to lie together.
    RewriteFiles {
        /// So many.
        files: u64,
    },
    /// Mount the file system without a journal of data.
    JournalMetadataOnly {
        /// Where it is mounted.
        target: PathBuf,
    },
    /// Show the file as a device past the page cache.
    OpenLoopDirectly {
        /// The device.
        device: String,
    },
    /// Have partitions and volumes begin at multiples of a page.
    Align {
        /// Bytes of a page.
        page_bytes: u64,
    },
}

/// What would help, the most urgent first.
#[must_use]
pub fn remedies(seen: &Seen, verdict: &Verdict) -> Vec<Remedy> {
    let mut all = Vec::new();
    if !verdict.class.is_safe() {
        let is_off = seen.server.as_ref().is_some_and(|one| one.doublewrite != Doublewrite::On);
        all.push(if is_off { Remedy::TurnDoublewriteOn } else { Remedy::KeepDoublewriteOn });
    }
    let now = verdict.reasons.iter().flat_map(|reason| of(reason, seen));
    for remedy in now.chain(verdict.changes.iter().filter_map(|change| against(change, seen))) {
        if !all.contains(&remedy) {
            all.push(remedy);
        }
    }
    all
}

fn of(reason: &Reason, seen: &Seen) -> Vec<Remedy> {
    let page_bytes = seen.page_bytes;
    match reason {
        Reason::Split { files, .. } => {
            let mut all: Vec<Remedy> = layout(seen).into_iter().collect();
            all.push(Remedy::RewriteFiles { files: *files });
            all
        }
        Reason::SplitBelow { device, .. } => copy_of(seen, device).into_iter().collect(),
        Reason::Buffered => vec![Remedy::WriteDirectly],
        Reason::FlushMethodUnknown => vec![Remedy::AskServer],
        Reason::JournalledData => seen.stacks.first().map_or_else(Vec::new, |stack| {
            vec![Remedy::JournalMetadataOnly { target: stack.file_system.target.clone() }]
        }),
        Reason::BufferedFile { device } => {
            vec![Remedy::OpenLoopDirectly { device: device.clone() }]
        }
        Reason::Misaligned { .. } => vec![Remedy::Align { page_bytes }],
        Reason::DriveUnasked { .. } | Reason::FilesUnseen { .. } if !is_root() => {
            vec![Remedy::AskAsRoot]
        }
        _ => Vec::new(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns what takes a change away; none where the file system below copies on write.
fn against(change: &Change, seen: &Seen) -> Option<Remedy> {
    match change {
        Change::NewPages { .. } | Change::Hint { .. } => layout(seen),
        Change::SharedFiles { .. } => {
            let shares = seen.files.looked.iter().filter(|file| file.shared_bytes > 0);
            Some(Remedy::RewriteFiles { files: shares.count() as u64 })
        }
        Change::Holes { device, .. } => {
            let file = image(seen, device)?;
            let bytes = std::fs::metadata(&file).ok()?.len();
            Some(Remedy::AllocateImage { file, bytes })
        }
        Change::Discards { device } => Some(Remedy::RefuseDiscards { device: device.clone() }),
        Change::SharedImage { device, .. } | Change::SplitPlaces { device, .. } => {
            copy_of(seen, device)
        }
        Change::CopyOnWrite { .. } => None,
    }
}

fn copy_of(seen: &Seen, device: &str) -> Option<Remedy> {
    Some(Remedy::CopyImage { file: image(seen, device)? })
}

/// The image file of a loop device.
fn image(seen: &Seen, device: &str) -> Option<PathBuf> {
    fn find(stack: &Stack, device: &str) -> Option<PathBuf> {
        let file = stack.layers.iter().find_map(|layer| match &layer.kind {
            LayerKind::Loop { file, .. } if layer.name == device => Some(file.clone()),
            _ => None,
        });
        let mut below = stack.files.iter().filter_map(|file| file.below.as_deref());
        file.or_else(|| below.find_map(|below| find(below, device)))
    }
    seen.stacks.iter().find_map(|stack| find(stack, device))
}

/// A file system that keeps pages together, in place of the one here.
fn layout(seen: &Seen) -> Option<Remedy> {
    let file_system = &seen.stacks.first()?.file_system;
    let is_own = file_system.target != Path::new("/");
    Some(Remedy::ClusterExt {
        device: is_own.then(|| file_system.source.clone()),
        page_bytes: seen.page_bytes,
    })
}
