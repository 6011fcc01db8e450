//! Whether a page can be torn: a class, what is so now, what keeps it so, and what would change it.
//!
//! Guarantees: what is not known never counts for safety, nor does a layout that nothing keeps; reasons are values, and
//! sentences are made of them where they are shown.

mod stays;

use serde::{Deserialize, Serialize};

use crate::file_system::Manner;
use crate::files::FileKind;
use crate::layers::{Layer, LayerKind};
use crate::nvme::Nvme;
use crate::seen::Seen;
use crate::stack::{Backing, Served, ServedKind, Stack};

use stays::stays;
pub use stays::{Change, Keeper};

/// How safe a page write is, from the safest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The kernel guarantees that no page is torn, and the server asks it to.
    Guaranteed,
    /// Nothing splits a page, something keeps it so for pages that are added later, and the drive
    /// says that it writes a page whole.
    SafeByLayout,
    /// The same of the pages as they lie now; nothing keeps it so.
    SafeNow,
    /// Nothing that was seen takes a page apart, but something was not seen, or the drive says nothing.
    Unknown,
    /// A page can be torn.
    Unsafe,
}

impl Class {
    /// Whether the doublewrite buffer may be off.
    #[must_use]
    pub fn is_safe(self) -> bool {
        matches!(self, Class::Guaranteed | Class::SafeByLayout)
    }
}

/// A reason for the class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Reason {
    /// Pages lie in several extents: each is written in as many pieces.
    Split {
        /// So many.
        pages: u64,
        /// Of so many.
        of: u64,
        /// In so many files.
        files: u64,
    },
    /// Data files are written through the page cache, which writes them back in pieces of its own.
    Buffered,
    /// Data go through the file system's journal, and so through the page cache.
    JournalledData,
    /// A device takes longer requests apart.
    TakesApart {
        /// Which.
        device: String,
        /// Into pieces of so many bytes, or at their multiples.
        bytes: u64,
    },
    /// A device of several writes a page in pieces to several drives.
    StripesParity {
        /// Which.
        device: String,
        /// As `md` calls it.
        level: String,
    },
    /// A file that is shown as a device is written through the page cache.
    BufferedFile {
        /// The device.
        device: String,
    },
    /// Pages of a file that is shown as a device lie in several extents.
    SplitBelow {
        /// The device.
        device: String,
        /// So many.
        pages: u64,
        /// Of so many.
        of: u64,
    },
    /// The drive says that it keeps no more whole than this when power goes.
    DriveTears {
        /// Which.
        device: String,
        /// In bytes.
        bytes: u64,
    },
    /// Pages do not begin at multiples of their size, and a device takes apart what crosses its boundaries.
    Misaligned {
        /// So many.
        pages: u64,
        /// Of so many.
        of: u64,
        /// The device.
        device: String,
    },
    /// The file system is not known to keep pages together, or is not seen from here.
    FileSystemUnknown {
        /// Its type.
        name: String,
    },
    /// It is not known what a device does to requests.
    DeviceUnknown {
        /// Which.
        device: String,
    },
    /// The drive does not say what it keeps whole.
    DriveSilent {
        /// Which.
        device: String,
    },
    /// The drive could not be asked.
    DriveUnasked {
        /// Which.
        device: String,
        /// What the system answered.
        answer: String,
    },
    /// Files could not be looked at.
    FilesUnseen {
        /// So many.
        files: u64,
    },
    /// Whether data files are written past the page cache is not known.
    FlushMethodUnknown,
    /// All pages lie in one extent each.
    AllWhole {
        /// So many.
        pages: u64,
    },
    /// The drive says that it keeps so much whole when power goes.
    DriveKeeps {
        /// Which.
        device: String,
        /// In bytes.
        bytes: u64,
    },
    /// Assay's drive writes every request up to this whole or not at all.
    OwnDrive {
        /// In bytes.
        bytes: u64,
    },
}

/// Where a reason points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Points {
    Unsafe,
    Unknown,
    Safe,
}

impl Reason {
    fn points(&self) -> Points {
        match self {
            Reason::Split { .. }
            | Reason::Buffered
            | Reason::JournalledData
            | Reason::TakesApart { .. }
            | Reason::StripesParity { .. }
            | Reason::BufferedFile { .. }
            | Reason::SplitBelow { .. }
            | Reason::DriveTears { .. }
            | Reason::Misaligned { .. } => Points::Unsafe,
            Reason::FileSystemUnknown { .. }
            | Reason::DeviceUnknown { .. }
            | Reason::DriveSilent { .. }
            | Reason::DriveUnasked { .. }
            | Reason::FilesUnseen { .. }
            | Reason::FlushMethodUnknown => Points::Unknown,
            Reason::AllWhole { .. } | Reason::DriveKeeps { .. } | Reason::OwnDrive { .. } => {
                Points::Safe
            }
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The class.
    pub class: Class,
    /// What is so now, what weighs most first.
    pub reasons: Vec<Reason>,
    /// What keeps it so, also for pages that are added later.
    pub kept_by: Vec<Keeper>,
    /// What would change it.
    pub changes: Vec<Change>,
}

/// Judges what was seen.
#[must_use]
pub fn judge(seen: &Seen) -> Verdict {
    let mut reasons: Vec<Reason> = of_server(seen).into_iter().collect();
    reasons.extend(of_files(seen));
    for stack in &seen.stacks {
        reasons.extend(of_file_system(stack));
        reasons.extend(of_stack(stack, seen, Level::Top));
    }
    let mut distinct: Vec<Reason> = Vec::new();
    for reason in reasons {
        if !distinct.contains(&reason) {
            distinct.push(reason);
        }
    }
    distinct.sort_by_key(Reason::points);
    let (kept_by, changes) = stays(seen);
    let class = match distinct.first().map(Reason::points) {
        Some(Points::Unsafe) => Class::Unsafe,
        Some(Points::Safe) if changes.is_empty() && !kept_by.is_empty() => Class::SafeByLayout,
        Some(Points::Safe) => Class::SafeNow,
        Some(Points::Unknown) | None => Class::Unknown,
    };
    Verdict { class, reasons: distinct, kept_by, changes }
}

fn of_server(seen: &Seen) -> Option<Reason> {
    match seen.is_direct {
        None => Some(Reason::FlushMethodUnknown),
        Some(is_direct) => (!is_direct).then_some(Reason::Buffered),
    }
}

fn of_files(seen: &Seen) -> Vec<Reason> {
    let held = || seen.files.looked.iter().filter(|one| one.kind.holds_pages());
    let pages = seen.files.pages();
    let split = held().filter(|one| one.pages.is_some_and(|pages| pages.split() > 0)).count();
    let untold = held().filter(|one| one.pages.is_none() && one.bytes > 0).count();
    let mut reasons = Vec::new();
    match pages.split() {
        0 if pages.count > 0 => reasons.push(Reason::AllWhole { pages: pages.count }),
        0 => {}
        some => reasons.push(Reason::Split { pages: some, of: pages.count, files: split as u64 }),
    }
    let unseen = untold + seen.files.refused.len();
    if unseen > 0 || seen.files.of(FileKind::Table).next().is_none() && pages.count == 0 {
        reasons.push(Reason::FilesUnseen { files: unseen as u64 });
    }
    reasons
}

fn of_file_system(stack: &Stack) -> Option<Reason> {
    let name = stack.file_system.name.clone();
    match &stack.file_system.manner {
        Manner::Ext { journals_data: true, .. } => Some(Reason::JournalledData),
        Manner::Ext { .. } | Manner::Xfs { .. } => None,
        // What they write elsewhere may be in several pieces too, which nothing guarantees to put in place together.
        Manner::CopyOnWrite { .. }
        | Manner::Memory
        | Manner::Remote
        | Manner::Stacked
        | Manner::Unknown => Some(Reason::FileSystemUnknown { name }),
    }
}

/// Whether a stack is that of the data files, or of an image file somewhere below.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Below,
}

fn of_stack(stack: &Stack, seen: &Seen, level: Level) -> Vec<Reason> {
    let page = seen.page_bytes;
    let mut reasons: Vec<Reason> =
        stack.layers.iter().filter_map(|layer| of_limits(layer, seen)).collect();
    let mut files = stack.files.iter();
    for layer in &stack.layers {
        let device = || layer.name.clone();
        match &layer.kind {
            LayerKind::Partition { .. } => {}
            LayerKind::Raid { level, chunk_bytes } => {
                reasons.extend(of_raid(&layer.name, level, *chunk_bytes, seen));
            }
            LayerKind::Loop { is_direct, .. } => {
                let Some(backing) = files.next() else { continue };
                reasons.extend((!is_direct).then(|| Reason::BufferedFile { device: device() }));
                reasons.extend(of_backing(&layer.name, backing, seen, level));
            }
            LayerKind::Nvme => reasons.push(of_nvme(layer, stack, seen)),
            LayerKind::Scsi => reasons.push(of_kernel(layer, page)),
            LayerKind::Mapper { .. } | LayerKind::Other => {
                reasons.push(Reason::DeviceUnknown { device: device() });
            }
            LayerKind::Virtual | LayerKind::Network | LayerKind::Memory => {
                reasons.push(of_kernel(layer, page));
            }
        }
    }
    if stack.layers.is_empty() {
        reasons.push(Reason::DeviceUnknown { device: stack.file_system.source.clone() });
    }
    reasons
}

/// What a queue takes apart.
fn of_limits(layer: &Layer, seen: &Seen) -> Option<Reason> {
    let limits = layer.limits?;
    let longest = Some(limits.request_bytes_max).filter(|most| *most > 0);
    match longest.filter(|most| *most < seen.page_bytes) {
        Some(bytes) => Some(Reason::TakesApart { device: layer.name.clone(), bytes }),
        None => of_chunks(&layer.name, limits.chunk_bytes, seen),
    }
}

/// What is taken apart at multiples of so many bytes, if at any: pages that begin at multiples of their size lie across none of them, if
/// these are multiples of a page.
fn of_chunks(device: &str, chunk_bytes: u64, seen: &Seen) -> Option<Reason> {
    let device = device.to_owned();
    if chunk_bytes == 0 {
        return None;
    }
    if !chunk_bytes.is_multiple_of(seen.page_bytes) {
        return Some(Reason::TakesApart { device, bytes: chunk_bytes });
    }
    let pages = seen.files.pages();
    let misaligned = pages.whole - pages.aligned;
    (misaligned > 0).then_some(Reason::Misaligned { pages: misaligned, of: pages.count, device })
}

fn of_raid(device: &str, level: &str, chunk_bytes: u64, seen: &Seen) -> Option<Reason> {
    match level {
        "raid1" | "linear" => None,
        // A page that lies across two chunks goes to two drives.
        "raid0" | "raid10" => of_chunks(device, chunk_bytes, seen),
        "raid4" | "raid5" | "raid6" => {
            Some(Reason::StripesParity { device: device.into(), level: level.into() })
        }
        _ => Some(Reason::DeviceUnknown { device: device.into() }),
    }
}

/// What the kernel says that a drive keeps whole.
fn of_kernel(layer: &Layer, page: u64) -> Reason {
    let device = layer.name.clone();
    match layer.limits.map_or(0, |limits| limits.atomic_bytes_max) {
        0 => Reason::DriveSilent { device },
        bytes if bytes >= page => Reason::DriveKeeps { device, bytes },
        bytes => Reason::DriveTears { device, bytes },
    }
}

fn of_nvme(layer: &Layer, stack: &Stack, seen: &Seen) -> Reason {
    let device = layer.name.clone();
    let page = seen.page_bytes;
    if let Some((_, drive)) = stack.drives.iter().find(|(name, _)| *name == layer.name) {
        return of_identified(device, drive, seen);
    }
    match stack.refused.iter().find(|(name, _)| *name == layer.name) {
        Some((_, answer)) if layer.limits.is_none_or(|limits| limits.atomic_bytes_max == 0) => {
            Reason::DriveUnasked { device, answer: answer.clone() }
        }
        _ => of_kernel(layer, page),
    }
}

fn of_identified(device: String, drive: &Nvme, seen: &Seen) -> Reason {
    let page = seen.page_bytes;
    if drive.atomic_bytes < page || !drive.keeps_whole(page) {
        let bytes = if drive.atomic_bytes < page { drive.atomic_bytes } else { drive.block_bytes };
        return Reason::DriveTears { device, bytes };
    }
    let pages = seen.files.pages();
    let misaligned = pages.whole - pages.aligned;
    if misaligned > 0 && !drive.keeps_whole_anywhere(page) {
        return Reason::Misaligned { pages: misaligned, of: pages.count, device };
    }
    Reason::DriveKeeps { device, bytes: drive.atomic_bytes }
}

/// What Assay serves says itself what it keeps whole. Of an image, whoever runs its pool would have to.
fn of_served(device: String, served: &Served, page: u64) -> Reason {
    match (&served.kind, served.atomic_bytes) {
        (_, None) => Reason::DriveSilent { device },
        (ServedKind::Drive, Some(bytes)) if bytes >= page => Reason::OwnDrive { bytes },
        (_, Some(bytes)) if bytes >= page => Reason::DriveKeeps { device, bytes },
        (ServedKind::Plain, Some(_)) => Reason::DriveSilent { device },
        (_, Some(bytes)) => Reason::DriveTears { device, bytes },
    }
}

/// Whether Assay serves the file: then it decides itself where blocks lie.
fn of_served_file(backing: &Backing) -> bool {
    backing.served.is_some()
}

fn of_backing(device: &str, backing: &Backing, seen: &Seen, level: Level) -> Vec<Reason> {
    let device = device.to_owned();
    if let Some(served) = &backing.served {
        return vec![of_served(device, served, seen.page_bytes)];
    }
    let Some(below) = &backing.below else { return vec![Reason::DeviceUnknown { device }] };
    let mut reasons = of_stack(below, seen, Level::Below);
    let pages = seen.files.pages();
    let split = match (level, backing.pages) {
        (_, None) => {
            reasons.push(Reason::DeviceUnknown { device: device.clone() });
            None
        }
        (Level::Top, Some(_)) => Some((pages.split_below, pages.count)),
        // Where data files lie in it is not followed further down: any split place counts.
        (Level::Below, Some(places)) => Some((places.split(), places.count)),
    };
    if let Some((pages, of)) = split.filter(|(pages, _)| *pages > 0) {
        reasons.push(Reason::SplitBelow { device, pages, of });
    }
    reasons.extend(of_file_system(below));
    reasons
}

#[cfg(test)]
mod tests;
