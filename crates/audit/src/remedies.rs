//! Remedies that would make a place safer, as values; the report turns them into commands.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::findings::AuditFindings;
use crate::layers::LayerKind;
use crate::server::Doublewrite;
use crate::stack::StorageStack;
use crate::verdict::{AuditVerdict, LayoutChange, VerdictReason};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "remedy")]
pub enum Remedy {
    /// The doublewrite buffer is off, and this place needs it.
    TurnDoublewriteOn,
    /// The doublewrite buffer must stay on.
    KeepDoublewriteOn,
    /// Ask the server for its settings.
    AskServer,
    /// Repeat the audit as root.
    AskAsRoot,
    /// Have the server use direct I/O.
    WriteDirectly,
    /// Create a new file system, with clusters of a page.
    ClusterExt {
        /// Its device, which this erases; `None` if the whole machine lies on it, so that another
        /// device is needed.
        device: Option<String>,
        page_bytes: u64,
    },
    /// Allocate the holes of the image file.
    AllocateImage { file: PathBuf, bytes: u64 },
    /// Copy the image file, so that the copy shares no extents and splits no page.
    CopyImage { file: PathBuf },
    /// Have the loop device refuse discards.
    RefuseDiscards { device: String },
    /// Rewrite files, so that their pages become contiguous.
    RewriteFiles {
        /// Number of files.
        files: u64,
    },
    /// Mount the file system without a journal of data.
    JournalMetadataOnly {
        /// The mount point.
        target: PathBuf,
    },
    /// Attach the loop device with direct I/O.
    OpenLoopDirectly { device: String },
    /// Align partitions and volumes to a page.
    Align { page_bytes: u64 },
}

/// The remedies, the most urgent first.
#[must_use]
pub fn remedies(findings: &AuditFindings, verdict: &AuditVerdict) -> Vec<Remedy> {
    let mut all = Vec::new();
    if !verdict.class.is_safe() {
        let is_off =
            findings.server.as_ref().is_some_and(|server| server.doublewrite != Doublewrite::On);
        all.push(if is_off { Remedy::TurnDoublewriteOn } else { Remedy::KeepDoublewriteOn });
    }
    let now = verdict.reasons.iter().flat_map(|reason| of(reason, findings));
    for remedy in now.chain(verdict.changes.iter().filter_map(|change| against(change, findings))) {
        if !all.contains(&remedy) {
            all.push(remedy);
        }
    }
    all
}

fn of(reason: &VerdictReason, findings: &AuditFindings) -> Vec<Remedy> {
    let page_bytes = findings.page_bytes;
    match reason {
        VerdictReason::Split { files, .. } => {
            let mut all: Vec<Remedy> = layout(findings).into_iter().collect();
            all.push(Remedy::RewriteFiles { files: *files });
            all
        }
        VerdictReason::SplitBelow { device, .. } => copy_of(findings, device).into_iter().collect(),
        VerdictReason::Buffered => vec![Remedy::WriteDirectly],
        VerdictReason::FlushMethodUnknown => vec![Remedy::AskServer],
        VerdictReason::JournalledData => findings.stacks.first().map_or_else(Vec::new, |stack| {
            vec![Remedy::JournalMetadataOnly { target: stack.file_system.target.clone() }]
        }),
        VerdictReason::BufferedFile { device } => {
            vec![Remedy::OpenLoopDirectly { device: device.clone() }]
        }
        VerdictReason::Misaligned { .. } => vec![Remedy::Align { page_bytes }],
        VerdictReason::DriveUnasked { .. } | VerdictReason::FilesUnseen { .. } if !is_root() => {
            vec![Remedy::AskAsRoot]
        }
        _ => Vec::new(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The remedy for a change; `None` on a copy-on-write file system.
fn against(change: &LayoutChange, findings: &AuditFindings) -> Option<Remedy> {
    match change {
        LayoutChange::NewPages { .. } | LayoutChange::Hint { .. } => layout(findings),
        LayoutChange::SharedFiles { .. } => {
            let shares = findings.files.looked.iter().filter(|file| file.shared_bytes > 0);
            Some(Remedy::RewriteFiles { files: shares.count() as u64 })
        }
        LayoutChange::Holes { device, .. } => {
            let file = image(findings, device)?;
            let bytes = std::fs::metadata(&file).ok()?.len();
            Some(Remedy::AllocateImage { file, bytes })
        }
        LayoutChange::Discards { device } => {
            Some(Remedy::RefuseDiscards { device: device.clone() })
        }
        LayoutChange::SharedImage { device, .. } | LayoutChange::SplitPlaces { device, .. } => {
            copy_of(findings, device)
        }
        LayoutChange::CopyOnWrite { .. } => None,
    }
}

fn copy_of(findings: &AuditFindings, device: &str) -> Option<Remedy> {
    Some(Remedy::CopyImage { file: image(findings, device)? })
}

/// The image file of a loop device.
fn image(findings: &AuditFindings, device: &str) -> Option<PathBuf> {
    fn find(stack: &StorageStack, device: &str) -> Option<PathBuf> {
        let file = stack.layers.iter().find_map(|layer| match &layer.kind {
            LayerKind::Loop { file, .. } if layer.name == device => Some(file.clone()),
            _ => None,
        });
        let mut below = stack.files.iter().filter_map(|file| file.below.as_deref());
        file.or_else(|| below.find_map(|below| find(below, device)))
    }
    findings.stacks.iter().find_map(|stack| find(stack, device))
}

/// A file system that keeps pages contiguous, to replace the present one.
fn layout(findings: &AuditFindings) -> Option<Remedy> {
    let file_system = &findings.stacks.first()?.file_system;
    let is_own = file_system.target != Path::new("/");
    Some(Remedy::ClusterExt {
        device: is_own.then(|| file_system.source.clone()),
        page_bytes: findings.page_bytes,
    })
}
