//! Judges whether a page can be torn: a class, the reasons for it, the mechanisms that keep it so,
//! and events that would change it.
//!
//! Guarantees: unknown facts never count for safety, nor does a layout that no mechanism preserves;
//! reasons are values, which the report turns into sentences.

mod stays;

use serde::{Deserialize, Serialize};

use crate::file_system::Manner;
use crate::files::FileKind;
use crate::findings::AuditFindings;
use crate::layers::{DeviceLayer, LayerKind};
use crate::nvme::Nvme;
use crate::stack::{Backing, Served, ServedKind, StorageStack};

use stays::stays;
pub use stays::{Keeper, LayoutChange};

/// How safe a page write is, from the safest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SafetyClass {
    /// The kernel guarantees that no page is torn, and the server requests it.
    Guaranteed,
    /// No page is split, a mechanism keeps this true for pages added later, and the drive claims to
    /// write a page completely or not at all.
    SafeByLayout,
    /// The same for the present pages; no mechanism preserves it.
    SafeNow,
    /// No layer is known to split a page, but some layer could not be examined, or the drive claims
    /// nothing.
    Unknown,
    /// A page can be torn.
    Unsafe,
}

impl SafetyClass {
    /// Returns true if the doublewrite buffer may be off.
    #[must_use]
    pub fn is_safe(self) -> bool {
        matches!(self, SafetyClass::Guaranteed | SafetyClass::SafeByLayout)
    }
}

/// A reason for the class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum VerdictReason {
    /// Pages lie in several extents: each is written in as many pieces.
    Split {
        /// Number of split pages.
        pages: u64,
        /// Number of all pages.
        of: u64,
        /// Number of files with split pages.
        files: u64,
    },
    /// Data files are written through the page cache, which writes them back in other units.
    Buffered,
    /// Data pass through the file system's journal, and so through the page cache.
    JournalledData,
    /// A device splits longer requests.
    TakesApart {
        device: String,
        /// Size of the pieces, or their alignment.
        bytes: u64,
    },
    /// A RAID device writes a page in pieces to several drives.
    StripesParity {
        device: String,
        /// Level under `md`'s name.
        level: String,
    },
    /// A file shown as a device is written through the page cache.
    BufferedFile { device: String },
    /// Pages of a file shown as a device lie in several extents.
    SplitBelow {
        device: String,
        /// Number of split pages.
        pages: u64,
        /// Number of all pages.
        of: u64,
    },
    /// The drive claims to keep no more than this whole when power fails.
    DriveTears { device: String, bytes: u64 },
    /// Pages are not aligned to their size, and a device splits requests at its boundaries.
    Misaligned {
        /// Number of misaligned pages.
        pages: u64,
        /// Number of all pages.
        of: u64,
        device: String,
    },
    /// The file system is not known to keep pages contiguous, or is invisible from here.
    FileSystemUnknown {
        /// Its type.
        name: String,
    },
    /// The effect of a device on requests is unknown.
    DeviceUnknown { device: String },
    /// The drive does not claim to keep anything whole.
    DriveSilent { device: String },
    /// The drive could not be asked.
    DriveUnasked {
        device: String,
        /// The error.
        answer: String,
    },
    /// Files could not be examined.
    FilesUnseen { files: u64 },
    /// It is unknown whether data files are written with direct I/O.
    FlushMethodUnknown,
    /// All pages lie in one extent each.
    AllWhole { pages: u64 },
    /// The drive claims to keep this much whole when power fails.
    DriveKeeps { device: String, bytes: u64 },
    /// Assay's drive writes every request up to this size completely or not at all.
    OwnDrive { bytes: u64 },
}

/// The direction in which a reason points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Points {
    Unsafe,
    Unknown,
    Safe,
}

impl VerdictReason {
    fn points(&self) -> Points {
        match self {
            VerdictReason::Split { .. }
            | VerdictReason::Buffered
            | VerdictReason::JournalledData
            | VerdictReason::TakesApart { .. }
            | VerdictReason::StripesParity { .. }
            | VerdictReason::BufferedFile { .. }
            | VerdictReason::SplitBelow { .. }
            | VerdictReason::DriveTears { .. }
            | VerdictReason::Misaligned { .. } => Points::Unsafe,
            VerdictReason::FileSystemUnknown { .. }
            | VerdictReason::DeviceUnknown { .. }
            | VerdictReason::DriveSilent { .. }
            | VerdictReason::DriveUnasked { .. }
            | VerdictReason::FilesUnseen { .. }
            | VerdictReason::FlushMethodUnknown => Points::Unknown,
            VerdictReason::AllWhole { .. }
            | VerdictReason::DriveKeeps { .. }
            | VerdictReason::OwnDrive { .. } => Points::Safe,
        }
    }
}

/// The result of judging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditVerdict {
    pub class: SafetyClass,
    /// The facts, the weightiest first.
    pub reasons: Vec<VerdictReason>,
    /// The mechanisms that preserve the layout, also for pages added later.
    pub kept_by: Vec<Keeper>,
    /// The events that would change it.
    pub changes: Vec<LayoutChange>,
}

/// Judges the findings.
#[must_use]
pub fn judge(findings: &AuditFindings) -> AuditVerdict {
    let mut reasons: Vec<VerdictReason> = of_server(findings).into_iter().collect();
    reasons.extend(of_files(findings));
    for stack in &findings.stacks {
        reasons.extend(of_file_system(stack));
        reasons.extend(of_stack(stack, findings, Level::Top));
    }
    let mut distinct: Vec<VerdictReason> = Vec::new();
    for reason in reasons {
        if !distinct.contains(&reason) {
            distinct.push(reason);
        }
    }
    distinct.sort_by_key(VerdictReason::points);
    let (kept_by, changes) = stays(findings);
    let class = match distinct.first().map(VerdictReason::points) {
        Some(Points::Unsafe) => SafetyClass::Unsafe,
        Some(Points::Safe) if changes.is_empty() && !kept_by.is_empty() => {
            SafetyClass::SafeByLayout
        }
        Some(Points::Safe) => SafetyClass::SafeNow,
        Some(Points::Unknown) | None => SafetyClass::Unknown,
    };
    AuditVerdict { class, reasons: distinct, kept_by, changes }
}

fn of_server(findings: &AuditFindings) -> Option<VerdictReason> {
    match findings.is_direct {
        None => Some(VerdictReason::FlushMethodUnknown),
        Some(is_direct) => (!is_direct).then_some(VerdictReason::Buffered),
    }
}

fn of_files(findings: &AuditFindings) -> Vec<VerdictReason> {
    let held = || findings.files.looked.iter().filter(|file| file.kind.holds_pages());
    let pages = findings.files.pages();
    let split = held().filter(|file| file.pages.is_some_and(|pages| pages.split() > 0)).count();
    let untold = held().filter(|file| file.pages.is_none() && file.bytes > 0).count();
    let mut reasons = Vec::new();
    match pages.split() {
        0 if pages.count > 0 => reasons.push(VerdictReason::AllWhole { pages: pages.count }),
        0 => {}
        some => {
            reasons.push(VerdictReason::Split { pages: some, of: pages.count, files: split as u64 })
        }
    }
    let unseen = untold + findings.files.refused.len();
    if unseen > 0 || findings.files.of(FileKind::Table).next().is_none() && pages.count == 0 {
        reasons.push(VerdictReason::FilesUnseen { files: unseen as u64 });
    }
    reasons
}

fn of_file_system(stack: &StorageStack) -> Option<VerdictReason> {
    let name = stack.file_system.name.clone();
    match &stack.file_system.manner {
        Manner::Ext { journals_data: true, .. } => Some(VerdictReason::JournalledData),
        Manner::Ext { .. } | Manner::Xfs { .. } => None,
        // A write to a new place may also be in several pieces, and nothing guarantees to activate
        // them together.
        Manner::CopyOnWrite { .. }
        | Manner::Memory
        | Manner::Remote
        | Manner::Stacked
        | Manner::Unknown => Some(VerdictReason::FileSystemUnknown { name }),
    }
}

/// Distinguishes the stack of the data files from that of an image file below.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Below,
}

fn of_stack(stack: &StorageStack, findings: &AuditFindings, level: Level) -> Vec<VerdictReason> {
    let page = findings.page_bytes;
    let mut reasons: Vec<VerdictReason> =
        stack.layers.iter().filter_map(|layer| of_limits(layer, findings)).collect();
    let mut files = stack.files.iter();
    for layer in &stack.layers {
        let device = || layer.name.clone();
        match &layer.kind {
            LayerKind::Partition { .. } => {}
            LayerKind::Raid { level, chunk_bytes } => {
                reasons.extend(of_raid(&layer.name, level, *chunk_bytes, findings));
            }
            LayerKind::Loop { is_direct, .. } => {
                let Some(backing) = files.next() else { continue };
                reasons
                    .extend((!is_direct).then(|| VerdictReason::BufferedFile { device: device() }));
                reasons.extend(of_backing(&layer.name, backing, findings, level));
            }
            LayerKind::Nvme => reasons.push(of_nvme(layer, stack, findings)),
            LayerKind::Scsi => reasons.push(of_kernel(layer, page)),
            LayerKind::Mapper { .. } | LayerKind::Other => {
                reasons.push(VerdictReason::DeviceUnknown { device: device() });
            }
            LayerKind::Virtual | LayerKind::Network | LayerKind::Memory => {
                reasons.push(of_kernel(layer, page));
            }
        }
    }
    if stack.layers.is_empty() {
        reasons.push(VerdictReason::DeviceUnknown { device: stack.file_system.source.clone() });
    }
    reasons
}

/// The reason if a queue splits requests.
fn of_limits(layer: &DeviceLayer, findings: &AuditFindings) -> Option<VerdictReason> {
    let limits = layer.limits?;
    let longest = Some(limits.request_bytes_max).filter(|most| *most > 0);
    match longest.filter(|most| *most < findings.page_bytes) {
        Some(bytes) => Some(VerdictReason::TakesApart { device: layer.name.clone(), bytes }),
        None => of_chunks(&layer.name, limits.chunk_bytes, findings),
    }
}

/// The reason if requests are split at multiples of `chunk_bytes`. Pages aligned to their size
/// never cross multiples of the page size.
fn of_chunks(device: &str, chunk_bytes: u64, findings: &AuditFindings) -> Option<VerdictReason> {
    let device = device.to_owned();
    if chunk_bytes == 0 {
        return None;
    }
    if !chunk_bytes.is_multiple_of(findings.page_bytes) {
        return Some(VerdictReason::TakesApart { device, bytes: chunk_bytes });
    }
    let pages = findings.files.pages();
    let misaligned = pages.whole - pages.aligned;
    (misaligned > 0).then_some(VerdictReason::Misaligned {
        pages: misaligned,
        of: pages.count,
        device,
    })
}

fn of_raid(
    device: &str,
    level: &str,
    chunk_bytes: u64,
    findings: &AuditFindings,
) -> Option<VerdictReason> {
    match level {
        "raid1" | "linear" => None,
        // A page that crosses two chunks goes to two drives.
        "raid0" | "raid10" => of_chunks(device, chunk_bytes, findings),
        "raid4" | "raid5" | "raid6" => {
            Some(VerdictReason::StripesParity { device: device.into(), level: level.into() })
        }
        _ => Some(VerdictReason::DeviceUnknown { device: device.into() }),
    }
}

/// The reason from the kernel's limit for atomic writes.
fn of_kernel(layer: &DeviceLayer, page: u64) -> VerdictReason {
    let device = layer.name.clone();
    match layer.limits.map_or(0, |limits| limits.atomic_bytes_max) {
        0 => VerdictReason::DriveSilent { device },
        bytes if bytes >= page => VerdictReason::DriveKeeps { device, bytes },
        bytes => VerdictReason::DriveTears { device, bytes },
    }
}

fn of_nvme(layer: &DeviceLayer, stack: &StorageStack, findings: &AuditFindings) -> VerdictReason {
    let device = layer.name.clone();
    let page = findings.page_bytes;
    if let Some((_, drive)) = stack.drives.iter().find(|(name, _)| *name == layer.name) {
        return of_identified(device, drive, findings);
    }
    match stack.refused.iter().find(|(name, _)| *name == layer.name) {
        Some((_, answer)) if layer.limits.is_none_or(|limits| limits.atomic_bytes_max == 0) => {
            VerdictReason::DriveUnasked { device, answer: answer.clone() }
        }
        _ => of_kernel(layer, page),
    }
}

fn of_identified(device: String, drive: &Nvme, findings: &AuditFindings) -> VerdictReason {
    let page = findings.page_bytes;
    if drive.atomic_bytes < page || !drive.keeps_whole(page) {
        let bytes = if drive.atomic_bytes < page { drive.atomic_bytes } else { drive.block_bytes };
        return VerdictReason::DriveTears { device, bytes };
    }
    let pages = findings.files.pages();
    let misaligned = pages.whole - pages.aligned;
    if misaligned > 0 && !drive.keeps_whole_anywhere(page) {
        return VerdictReason::Misaligned { pages: misaligned, of: pages.count, device };
    }
    VerdictReason::DriveKeeps { device, bytes: drive.atomic_bytes }
}

/// A server of Assay's reports what it keeps whole. For an image, that would be up to the operator
/// of the pool.
fn of_served(device: String, served: &Served, page: u64) -> VerdictReason {
    match (&served.kind, served.atomic_bytes) {
        (_, None) => VerdictReason::DriveSilent { device },
        (ServedKind::Drive, Some(bytes)) if bytes >= page => VerdictReason::OwnDrive { bytes },
        (_, Some(bytes)) if bytes >= page => VerdictReason::DriveKeeps { device, bytes },
        (ServedKind::Plain, Some(_)) => VerdictReason::DriveSilent { device },
        (_, Some(bytes)) => VerdictReason::DriveTears { device, bytes },
    }
}

/// Returns true if Assay serves the file: then the server places the blocks.
fn of_served_file(backing: &Backing) -> bool {
    backing.served.is_some()
}

fn of_backing(
    device: &str,
    backing: &Backing,
    findings: &AuditFindings,
    level: Level,
) -> Vec<VerdictReason> {
    let device = device.to_owned();
    if let Some(served) = &backing.served {
        return vec![of_served(device, served, findings.page_bytes)];
    }
    let Some(below) = &backing.below else { return vec![VerdictReason::DeviceUnknown { device }] };
    let mut reasons = of_stack(below, findings, Level::Below);
    let pages = findings.files.pages();
    let split = match (level, backing.pages) {
        (_, None) => {
            reasons.push(VerdictReason::DeviceUnknown { device: device.clone() });
            None
        }
        (Level::Top, Some(_)) => Some((pages.split_below, pages.count)),
        // The positions of data files in the image are not traced further down: any split place
        // counts.
        (Level::Below, Some(places)) => Some((places.split(), places.count)),
    };
    if let Some((pages, of)) = split.filter(|(pages, _)| *pages > 0) {
        reasons.push(VerdictReason::SplitBelow { device, pages, of });
    }
    reasons.extend(of_file_system(below));
    reasons
}

#[cfg(test)]
mod tests;
