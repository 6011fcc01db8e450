//! What would make a place safer, as values; commands are made of them where they are shown.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file_system::Manner;
use crate::seen::Seen;
use crate::server::Doublewrite;
use crate::verdict::{Reason, Verdict};

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
    /// Have new files laid out in units of a page.
    HintExtents {
        /// The directory.
        directory: PathBuf,
        /// Bytes of a page.
        page_bytes: u64,
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
    for reason in &verdict.reasons {
        for remedy in of(reason, seen) {
            if !all.contains(&remedy) {
                all.push(remedy);
            }
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
        Reason::MayChange => layout(seen).into_iter().collect(),
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

/// How the file system would keep pages together.
fn layout(seen: &Seen) -> Option<Remedy> {
    let page_bytes = seen.page_bytes;
    let file_system = &seen.stacks.first()?.file_system;
    match &file_system.manner {
        Manner::Ext { .. } => {
            let is_own = file_system.target != Path::new("/");
            Some(Remedy::ClusterExt {
                device: is_own.then(|| file_system.source.clone()),
                page_bytes,
            })
        }
        Manner::Xfs { .. } => {
            Some(Remedy::HintExtents { directory: seen.directory.clone(), page_bytes })
        }
        _ => None,
    }
}
