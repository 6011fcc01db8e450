//! Puts an audit's result into words.

use assay_audit::file_system::{Manner, MountedFileSystem};
use assay_audit::files::FileKind;
use assay_audit::kernel::Guarantee;
use assay_audit::layers::{DeviceLayer, LayerKind};
use assay_audit::nvme::Nvme;
use assay_audit::server::{Doublewrite, ServerSettings};
use assay_audit::stack::{Backing, Served, ServedKind, StorageStack};
use assay_audit::trace::Traced;
use assay_audit::{Audit, AuditFindings, Keeper, LayoutChange, Remedy, SafetyClass, VerdictReason};
use assay_base::text::{counted, number, shell_word, size};
use assay_innodb::recovery::{Vendor, vendor_of};
use assay_report::words::recovery::sentences;

/// Width of the first column, in characters.
const COLUMN: usize = 10;

pub(super) fn lines(audit: &Audit, traced: Option<&Traced>) -> Vec<String> {
    let mut lines = vec![verdict(audit), String::new()];
    let why = audit.verdict.reasons.iter().map(|cause| reason(cause, &audit.findings));
    section(&mut lines, "now", why);
    section(&mut lines, "kept by", audit.verdict.kept_by.iter().map(keeper));
    section(&mut lines, "changes", audit.verdict.changes.iter().map(change));
    section(&mut lines, "to do", audit.remedies.iter().map(remedy));
    section(&mut lines, "recovery", recovery(audit).into_iter());
    section(&mut lines, "seen", findings(&audit.findings).into_iter());
    section(&mut lines, "trace", traced.map(trace).unwrap_or_default().into_iter());
    lines.push(String::new());
    lines.push("No software can show whether a drive keeps its guarantees at power loss.".into());
    lines
}

fn section(lines: &mut Vec<String>, name: &str, entries: impl Iterator<Item = String>) {
    for (place, entry) in entries.enumerate() {
        let name = if place == 0 { name } else { "" };
        lines.push(format!("{name:COLUMN$}{entry}"));
    }
}

fn verdict(audit: &Audit) -> String {
    let directory = audit.findings.directory.display();
    let page = size(audit.findings.page_bytes as f64);
    match audit.verdict.class {
        SafetyClass::Guaranteed => {
            format!(
                "{directory}: safe, guaranteed: the kernel guarantees to write pages of {page} \
                 whole"
            )
        }
        SafetyClass::SafeByLayout => format!(
            "{directory}: safe by layout: nothing here splits a page of {page}, and the drive says \
             that it writes a page whole"
        ),
        SafetyClass::SafeNow => format!(
            "{directory}: safe now, but nothing keeps it so: pages that are added later may be \
             split"
        ),
        SafetyClass::Unknown => format!(
            "{directory}: unknown: nothing that was seen splits a page of {page}, but not \
             everything could be seen, or the drive guarantees nothing"
        ),
        SafetyClass::Unsafe => match audit.findings.files.pages().split() {
            0 => format!("{directory}: unsafe: a page of {page} can be torn"),
            pages => {
                format!("{directory}: unsafe: {} of {page} can be torn", counted(pages, "page"))
            }
        },
    }
}

/// Sentences on how the server recovers torn pages from the doublewrite buffer; none if page writes
/// are safe.
fn recovery(audit: &Audit) -> Vec<String> {
    let server = audit.findings.server.as_ref().filter(|_| !audit.verdict.class.is_safe());
    let known = server.and_then(|server| Some((server, server.recovery()?)));
    let recovery = known.map(|(server, recovery)| sentences(recovery, &server_name(server)));
    recovery.unwrap_or_default()
}

fn server_name(server: &ServerSettings) -> String {
    let of = |name: &str| server.settings.get(name).map(String::as_str).unwrap_or_default();
    let (version, comment) = (of("version"), of("version_comment"));
    let make = match vendor_of(version, comment) {
        Vendor::Mysql => "MySQL",
        Vendor::Percona => "Percona Server",
        Vendor::Mariadb => "MariaDB",
    };
    format!("{make} {version}")
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

fn reason(reason: &VerdictReason, findings: &AuditFindings) -> String {
    let page = size(findings.page_bytes as f64);
    match reason {
        VerdictReason::Split { pages, of, files } => format!(
            "{} of {of} ({}) in {} lie in several extents: each is written in as many pieces",
            counted(*pages, "page"),
            share(*pages, *of),
            counted(*files, "file")
        ),
        VerdictReason::Buffered => {
            "the server writes data files through the page cache, which writes \
            them back in pieces of its own"
                .into()
        }
        VerdictReason::JournalledData => {
            "the file system journals data (data=journal), so pages go through the page cache"
                .into()
        }
        VerdictReason::TakesApart { device, bytes } => {
            format!(
                "{device} splits writes that are longer than {0} or cross a multiple of {0}",
                size(*bytes as f64)
            )
        }
        VerdictReason::StripesParity { device, level } => {
            format!("{device} is {level}: a page goes to several drives in blocks of 4 KiB")
        }
        VerdictReason::BufferedFile { device } => {
            format!("{device} writes its file through the page cache (losetup --list shows DIO 0)")
        }
        VerdictReason::SplitBelow { device, pages, of } => format!(
            "{} of {of} ({}) lie in several extents of the file below {device}",
            counted(*pages, "page"),
            share(*pages, *of)
        ),
        VerdictReason::DriveTears { device, bytes } => format!(
            "{device} says that it writes {} whole at power loss, which is less than a page of \
             {page}",
            size(*bytes as f64)
        ),
        VerdictReason::Misaligned { pages, of, device } => format!(
            "{} of {of} ({}) do not begin at a multiple of {page}, and {device} splits writes that \
             cross its boundaries",
            counted(*pages, "page"),
            share(*pages, *of)
        ),
        VerdictReason::FileSystemUnknown { name } => {
            format!("nothing guarantees that {name} puts a page of {page} in place in one piece")
        }
        VerdictReason::DeviceUnknown { device } => {
            format!("it is unknown how {device} handles a write of {page}")
        }
        VerdictReason::DriveSilent { device } => {
            format!("{device} does not say how much it writes whole at power loss")
        }
        VerdictReason::DriveUnasked { device, answer } => {
            format!("{device} could not be asked how much it writes whole: {answer}")
        }
        VerdictReason::FilesUnseen { files: 0 } => {
            "there are no data files yet, so their location is unknown".into()
        }
        VerdictReason::FilesUnseen { files } => {
            format!("the location of {} is unknown", counted(*files, "file"))
        }
        VerdictReason::FlushMethodUnknown => {
            "it is unknown whether the server bypasses the page cache".into()
        }
        VerdictReason::AllWhole { pages } => {
            format!("{} lie in one extent each", counted(*pages, "page"))
        }
        VerdictReason::DriveKeeps { device, bytes } => {
            format!("{device} says that it writes {} whole at power loss", size(*bytes as f64))
        }
        VerdictReason::OwnDrive { bytes } => {
            format!(
                "Assay's drive writes requests of up to {} whole or not at all",
                size(*bytes as f64)
            )
        }
    }
}

fn keeper(keeper: &Keeper) -> String {
    match keeper {
        Keeper::Clusters { bytes } => format!(
            "the file system allocates clusters of {}: a page is never in two extents",
            size(*bytes as f64)
        ),
        Keeper::ClustersBelow { device, bytes } => format!(
            "the file system of the file below {device} allocates clusters of {}",
            size(*bytes as f64)
        ),
        Keeper::AllocatedImage { device } => format!(
            "the file below {device} is allocated as a whole, and {device} refuses discards"
        ),
    }
}

fn change(change: &LayoutChange) -> String {
    match change {
        LayoutChange::NewPages { file_system } => {
            format!("{file_system} puts added pages wherever it finds space: it may split them")
        }
        LayoutChange::Hint { bytes, split, of } => format!(
            "the extent size hint of {} is only a hint: without aligned free space, XFS splits \
             added pages; {split} of {} here are split",
            size(*bytes as f64),
            counted(*of, "page")
        ),
        LayoutChange::SharedFiles { bytes } => format!(
            "{} of the data files are shared with other files (reflink): the next write of such a \
             page goes elsewhere",
            size(*bytes as f64)
        ),
        LayoutChange::Holes { device, bytes } => format!(
            "the file below {device} has {} of holes, which are filled from wherever there is \
             space",
            size(*bytes as f64)
        ),
        LayoutChange::Discards { device } => format!(
            "{device} takes discards (fstrim, mount option discard, mkfs): each makes a hole in \
             the file below it"
        ),
        LayoutChange::SharedImage { device, bytes } => format!(
            "the file below {device} shares {} with other files (reflink): the next write of these \
             goes elsewhere",
            size(*bytes as f64)
        ),
        LayoutChange::CopyOnWrite { device, file_system } => format!(
            "the file below {device} is on {file_system}, which writes every block elsewhere"
        ),
        LayoutChange::SplitPlaces { device, places, of } => format!(
            "{places} of {} for a page in the file below {device} lie in several extents",
            counted(*of, "place")
        ),
    }
}

fn remedy(remedy: &Remedy) -> String {
    let kib = |bytes: &u64| bytes / 1024;
    match remedy {
        Remedy::TurnDoublewriteOn => "turn the doublewrite buffer on: innodb_doublewrite=ON in \
            my.cnf, then restart the server"
            .into(),
        Remedy::KeepDoublewriteOn => {
            "keep the doublewrite buffer on (innodb_doublewrite=ON)".into()
        }
        Remedy::AskServer => "name the server: --server /run/mysqld/mysqld.sock, or say how it \
            will write: --writes direct"
            .into(),
        Remedy::AskAsRoot => "run this once more as root".into(),
        Remedy::WriteDirectly => "innodb_flush_method=O_DIRECT in my.cnf (MariaDB since 11.0: \
            innodb_data_file_buffering=OFF), then restart the server"
            .into(),
        Remedy::ClusterExt { device: Some(device), page_bytes } => format!(
            "recreate the file system, which erases it: mkfs.ext4 -O bigalloc -C {page_bytes} {}",
            shell_word(device)
        ),
        Remedy::ClusterExt { device: None, page_bytes } => format!(
            "put the data directory on a file system of its own: mkfs.ext4 -O bigalloc -C \
             {page_bytes} DEVICE"
        ),
        Remedy::AllocateImage { file, bytes } => format!(
            "fill the holes: fallocate --length {bytes} {}; then run this once more",
            shell_word(&file.to_string_lossy())
        ),
        Remedy::CopyImage { file } => format!(
            "detach {0}, copy it with cp --reflink=never --sparse=never to where it fits in one \
             piece, and use the copy",
            shell_word(&file.to_string_lossy())
        ),
        Remedy::RefuseDiscards { device } => format!(
            "after each losetup, and before mkfs and mount: echo 0 > \
             /sys/block/{device}/queue/discard_max_bytes"
        ),
        Remedy::RewriteFiles { files } => format!(
            "rewrite {}: ALTER TABLE … ENGINE=InnoDB, or stop the server and copy the files \
             (--json names them)",
            counted(*files, "file")
        ),
        Remedy::JournalMetadataOnly { target } => {
            format!("mount {} with data=ordered", target.display())
        }
        Remedy::OpenLoopDirectly { device } => {
            format!("losetup --direct-io=on /dev/{device}")
        }
        Remedy::Align { page_bytes } => format!(
            "have partitions, volumes and files begin at multiples of {} KiB (ext4: bigalloc)",
            kib(page_bytes)
        ),
    }
}

/// Results of the trace of page writes.
fn trace(traced: &Traced) -> Vec<String> {
    let Traced { device, length_s, writes, writes_of_pages, pages_whole, pages_in_pieces, .. } =
        traced;
    let mut lines = vec![
        format!(
            "{} to {device} in {length_s:.0} s, {writes_of_pages} of them to pages of these files",
            counted(*writes, "write")
        ),
        format!(
            "pages came whole {pages_whole} times; {} came in pieces",
            counted(*pages_in_pieces, "page")
        ),
    ];
    lines.extend(traced.in_pieces.iter().map(|split| {
        format!("{} page {}: {}", split.path.display(), split.page, counted(split.pieces, "piece"))
    }));
    if traced.events_lost > 0 {
        lines.push(format!(
            "the kernel dropped {}: its trace buffer was full",
            counted(traced.events_lost, "event")
        ));
    }
    lines
}

fn findings(findings: &AuditFindings) -> Vec<String> {
    let mut lines = vec![kernel(findings)];
    lines.push(match &findings.server {
        Some(server) => of_server(server),
        None => format!("server    not asked; pages of {}", size(findings.page_bytes as f64)),
    });
    lines.push(files(findings));
    lines.extend(encrypted(findings));
    for stack in &findings.stacks {
        of_stack(stack, "", &mut lines);
    }
    lines
}

fn kernel(findings: &AuditFindings) -> String {
    let guarantee = match findings.kernel.guarantee {
        Guarantee::Nothing => "it has no atomic writes",
        Guarantee::RawDevices => "it has atomic writes to raw devices",
        Guarantee::OneBlock => "it has atomic writes of one block of ext4 and XFS",
        Guarantee::SeveralBlocks => "it has atomic writes of several blocks of ext4 and XFS",
    };
    let asks = if findings.kernel.guarantee == Guarantee::Nothing {
        ""
    } else {
        ", which no server asks for yet"
    };
    format!("kernel    {}: {guarantee}{asks}", findings.kernel.release)
}

fn of_server(server: &ServerSettings) -> String {
    let doublewrite = match server.doublewrite {
        Doublewrite::On => "on",
        Doublewrite::DetectOnly => "only detects torn pages",
        Doublewrite::Off => "off",
    };
    let cache = if server.is_direct { "past" } else { "through" };
    format!(
        "server    {}: doublewrite {doublewrite}, pages of {} written {cache} the page cache",
        server.version,
        size(server.page_bytes as f64)
    )
}

fn files(findings: &AuditFindings) -> String {
    let held: Vec<_> =
        findings.files.looked.iter().filter(|file| file.kind.holds_pages()).collect();
    let bytes: u64 = held.iter().map(|file| file.bytes).sum();
    let extents: u64 = held.iter().map(|file| file.extents).sum();
    let pages = findings.files.pages();
    let doublewrite = findings.files.of(FileKind::Doublewrite).count();
    let doublewrite = if doublewrite > 0 { ", doublewrite files are there" } else { "" };
    format!(
        "files     {} with pages ({}), {} in {}, {} at multiples of a page on the \
         device{doublewrite}",
        counted(held.len() as u64, "file"),
        size(bytes as f64),
        counted(pages.count, "page"),
        counted(extents, "extent"),
        share(pages.aligned, pages.whole)
    )
}

/// Data that no drive can compress: files that the server encrypts, and everything above an
/// encrypting device.
fn encrypted(findings: &AuditFindings) -> Vec<String> {
    let bytes: u64 = findings.files.encrypted().map(|file| file.bytes).sum();
    let count = findings.files.encrypted().count() as u64;
    let by_server = (count > 0).then(|| {
        format!(
            "encrypted {} with pages ({}): InnoDB encrypts them, so no layer below can compress \
             them",
            counted(count, "file"),
            size(bytes as f64)
        )
    });
    let layers = findings.stacks.iter().flat_map(|stack| &stack.layers);
    let by_device = layers.filter(|layer| layer.encrypts()).map(|layer| {
        format!(
            "encrypted by {} (dm-crypt): no drive below it can compress; to compress, put the \
             encryption below the drive",
            layer.name
        )
    });
    by_server.into_iter().chain(by_device).collect()
}

fn of_stack(stack: &StorageStack, indent: &str, lines: &mut Vec<String>) {
    lines.push(format!("{indent}{}", of_file_system(&stack.file_system)));
    let mut files = stack.files.iter();
    for layer in &stack.layers {
        let drive =
            stack.drives.iter().find(|(name, _)| *name == layer.name).map(|(_, drive)| drive);
        lines.push(format!("{indent}device    {}: {}", layer.name, of_layer(layer, drive)));
        if matches!(layer.kind, LayerKind::Loop { .. })
            && let Some(backing) = files.next()
        {
            of_backing(backing, indent, lines);
        }
    }
}

fn of_file_system(file_system: &MountedFileSystem) -> String {
    let manner = match &file_system.manner {
        Manner::Ext { cluster_bytes: Some(bytes), .. } if *bytes > file_system.block_bytes => {
            format!(", clusters of {} (bigalloc)", size(*bytes as f64))
        }
        Manner::Ext { cluster_bytes: None, .. } => ", its superblock cannot be read".into(),
        Manner::Xfs { extent_bytes: Some(bytes) } => {
            format!(", hint for new files {} (extsize)", size(f64::from(*bytes)))
        }
        Manner::CopyOnWrite { is_off: false } => ", copy on write".into(),
        _ => String::new(),
    };
    format!(
        "mount     {} on {} at {}: blocks of {}{manner}",
        file_system.name,
        file_system.source,
        file_system.target.display(),
        size(file_system.block_bytes as f64)
    )
}

fn of_layer(layer: &DeviceLayer, drive: Option<&Nvme>) -> String {
    let kind = match &layer.kind {
        LayerKind::Partition { start_bytes } => {
            return format!(
                "a partition that begins at {} KiB",
                number(*start_bytes as f64 / 1024.0)
            );
        }
        LayerKind::Loop { file, is_direct } => {
            let how = if *is_direct { "direct" } else { "through the page cache" };
            format!("the file {} ({how})", file.display())
        }
        LayerKind::Raid { level, chunk_bytes: 0 } => level.clone(),
        LayerKind::Raid { level, chunk_bytes } => {
            format!("{level} in chunks of {}", size(*chunk_bytes as f64))
        }
        LayerKind::Mapper { made_by } if made_by.is_empty() => "device mapper".into(),
        LayerKind::Mapper { made_by } => format!("device mapper ({made_by})"),
        LayerKind::Nvme => drive.map_or_else(|| "an NVMe drive".into(), of_drive),
        LayerKind::Scsi => "a SCSI or SATA disk".into(),
        LayerKind::Virtual => "a disk of the hypervisor's".into(),
        LayerKind::Network => "a disk over the network".into(),
        LayerKind::Memory => "memory".into(),
        LayerKind::Other => "of a kind that is not known".into(),
    };
    let Some(limits) = layer.limits else { return kind };
    let mut parts = vec![format!("requests of up to {}", size(limits.request_bytes_max as f64))];
    if limits.chunk_bytes > 0 {
        parts.push(format!("none across a multiple of {}", size(limits.chunk_bytes as f64)));
    }
    if limits.atomic_bytes_max > 0 {
        parts.push(format!("atomic writes of up to {}", size(limits.atomic_bytes_max as f64)));
    }
    format!("{kind}; {}", parts.join(", "))
}

fn of_drive(drive: &Nvme) -> String {
    let by = if drive.is_of_namespace { "NAWUPF" } else { "AWUPF" };
    let boundary = match drive.boundary_bytes {
        0 => String::new(),
        bytes => format!(", not across multiples of {}", size(bytes as f64)),
    };
    format!(
        "{} {}, writes {} whole at power loss ({by}){boundary}, {} volatile cache",
        drive.model,
        drive.firmware,
        size(drive.atomic_bytes as f64),
        if drive.has_volatile_cache { "with a" } else { "no" }
    )
}

fn of_backing(backing: &Backing, indent: &str, lines: &mut Vec<String>) {
    match (&backing.served, &backing.below) {
        (Some(Served { kind, media, .. }), _) => {
            let what = match kind {
                ServedKind::Drive => "Assay's".into(),
                ServedKind::Model(name) => format!("a model of {name}"),
                ServedKind::Plain => "served as it is".into(),
            };
            lines.push(format!("{indent}drive     {what}, on {}", media.display()));
        }
        (None, Some(below)) => of_stack(below, &format!("{indent}  "), lines),
        (None, None) => lines.push(format!("{indent}device    what lies below it cannot be seen")),
    }
}
