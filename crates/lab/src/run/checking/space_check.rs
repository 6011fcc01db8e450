//! The room that a plan needs on a machine: memory, disk, asynchronous I/O, and data that fit on
//! the disks of its rigs.
//!
//! Guarantee: the machine is a value here, so that a plan can be checked against any.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use assay_base::Size;
use assay_drive::Codec;
use assay_load::Schema;
use assay_plan::{
    DiskBase, DriveMedia, Experiment, PlannedDisk, PlannedDrive, PlannedPool, Variant,
};
use assay_study::Design;

use crate::rig::{pool, server};
use crate::run::base_snapshots;
use crate::run::describing::machine;

/// Size of a data directory without tables: system and undo tablespaces, redo, doublewrite and the
/// server's own tables, measured 190 MB freshly made by MySQL 9.7, and room for undo and redo under
/// load.
const BESIDE_TABLES_BYTES: u64 = 320 << 20;

/// Resources of a machine for the runs of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Memory that can be had without swapping.
    pub memory_bytes: u64,
    /// Free space where the rigs lie.
    pub disk_bytes: u64,
    /// Requests of asynchronous I/O that are in use, and at most (`fs.aio-nr`, `fs.aio-max-nr`);
    /// `None` where the kernel does not tell.
    pub aio: Option<(u64, u64)>,
}

impl Room {
    /// The room of this machine, with the disk under `directory`, which exists.
    ///
    /// # Errors
    /// The kernel tells no memory or no free space.
    pub fn found(directory: &Path) -> Result<Room> {
        let number = |file: &str| -> Option<u64> {
            std::fs::read_to_string(format!("/proc/sys/fs/{file}")).ok()?.trim().parse().ok()
        };
        Ok(Room {
            memory_bytes: available_memory_bytes()?,
            disk_bytes: assay_system::free_bytes(directory)?,
            aio: number("aio-nr").zip(number("aio-max-nr")),
        })
    }
}

/// Checks that every configuration of a plan fits on its disk, and the plan into `room`; `location`
/// is named in errors.
///
/// # Errors
/// One line: what is missing and what to change.
pub fn fits(experiment: &Experiment, room: &Room, location: &Path) -> Result<()> {
    for variant in &experiment.variants {
        check_variant(experiment, variant, room).with_context(|| variant.key.to_string())?;
    }
    for sides in at_once(experiment) {
        check_asynchronous_io(&sides, room).with_context(|| names(&sides))?;
        check_memory(experiment, &sides, room).with_context(|| names(&sides))?;
    }
    check_space(experiment, room, location)
}

/// Variants whose servers are up at once.
fn at_once(experiment: &Experiment) -> Vec<Vec<&Variant>> {
    let variants = experiment.variants.iter();
    match experiment.judging.design {
        Design::Adjacent => variants.map(|variant| vec![variant]).collect(),
        Design::Switchback => {
            let profile = |variant: &&Variant| variant.key.data_profile.clone();
            let profiles: BTreeSet<_> = variants.clone().map(|variant| profile(&variant)).collect();
            let of = |its| variants.clone().filter(|variant| profile(variant) == its).collect();
            profiles.into_iter().map(of).collect()
        }
    }
}

fn names(variants: &[&Variant]) -> String {
    variants.iter().map(|variant| variant.key.to_string()).collect::<Vec<_>>().join(" and ")
}

fn check_variant(experiment: &Experiment, variant: &Variant, room: &Room) -> Result<()> {
    check_drive(experiment, variant)?;
    check_pool(experiment, variant, room)?;
    check_image(experiment, variant)
}

/// Returns true if everything from the server down is on this machine and ours.
fn is_ours(variant: &Variant) -> bool {
    variant.rig.endpoint().is_none()
}

/// Data fit on a model, and on a drive in a file that does not compress. How far others shrink
/// data, a run is to find out.
fn check_drive(experiment: &Experiment, variant: &Variant) -> Result<()> {
    let Some(disk) = variant.rig.disk() else { return Ok(()) };
    match &disk.base {
        DiskBase::Model(model) => ensure_all_fits(Size(model.filled_bytes()), experiment, variant),
        DiskBase::Drive(PlannedDrive {
            codec: Codec::None,
            media: DriveMedia::File { capacity, .. },
            ..
        }) => ensure_all_fits(*capacity, experiment, variant),
        _ => Ok(()),
    }
}

/// A private cluster has the memory that it takes.
fn check_pool(experiment: &Experiment, variant: &Variant, room: &Room) -> Result<()> {
    let Some(pool) = variant.rig.pool() else { return Ok(()) };
    let stores =
        pool::private_clusters(experiment).iter().map(|cluster| u64::from(cluster.stores)).sum();
    let needed = assay_pool::memory_needed_bytes(stores);
    let there = room.memory_bytes;
    ensure!(
        pool.private().is_none() || needed <= there,
        "private clusters with {stores} stores need about {} of memory, {} are available; lower \
         pool.stores, or name an existing cluster",
        rounded(needed),
        rounded(there)
    );
    Ok(())
}

/// Servers that run at once share what the kernel gives of asynchronous I/O: each I/O thread of
/// InnoDB asks for 256 requests (`OS_AIO_N_PENDING_IOS_PER_THREAD` in MySQL's `os0file.h`), and is
/// told to come again where there are none left.
fn check_asynchronous_io(sides: &[&Variant], room: &Room) -> Result<()> {
    const REQUESTS_OF_THREAD: u64 = 256;
    let servers: u64 = sides.iter().map(|side| u64::from(side.servers)).sum();
    let Some((used, most)) = room.aio else { return Ok(()) };
    let of_side = |side: &&Variant| {
        let threads = |name: &str| {
            side.settings.get(name).and_then(|count| count.parse().ok()).unwrap_or(4_u64)
        };
        // One more for the log, and one for what is read while starting.
        let of_server = threads("innodb_read_io_threads") + threads("innodb_write_io_threads") + 2;
        u64::from(side.servers) * of_server
    };
    let needed = sides.iter().map(of_side).sum::<u64>() * REQUESTS_OF_THREAD;
    let left = most.saturating_sub(used);
    ensure!(
        servers == 1 || needed <= left,
        "{servers} servers at once need about {needed} requests of asynchronous I/O, and the \
        kernel has {left} left; raise its limit with `sysctl -w fs.aio-max-nr={}`, or lower \
        innodb_read_io_threads and innodb_write_io_threads",
        (used + needed * 2).next_power_of_two()
    );
    Ok(())
}

fn check_image(experiment: &Experiment, variant: &Variant) -> Result<()> {
    let disk = variant.rig.disk().and_then(PlannedDisk::size);
    disk.map_or(Ok(()), |size| ensure_all_fits(size, experiment, variant))
}

/// A run has tables or files on its disk, never both.
pub(super) fn ensure_all_fits(
    disk: Size,
    experiment: &Experiment,
    variant: &Variant,
) -> Result<()> {
    if let Some((name, bytes)) = largest_files(experiment) {
        ensure!(
            bytes < disk.0,
            "the files of workload `{name}`, {}, do not fit on a disk of {disk}; lower \
            file_total_size or take a larger disk",
            Size(bytes)
        );
    }
    if experiment.needs_server() { ensure_fits(disk, snapshot_bytes(variant)) } else { Ok(()) }
}

fn ensure_fits(disk: Size, data_bytes: u64) -> Result<()> {
    ensure!(
        data_bytes <= disk.0,
        "about {} of data do not fit on a disk of {}; lower table_size or take a larger disk",
        rounded(data_bytes),
        if disk.0.is_multiple_of(1 << 20) { disk.to_string() } else { rounded(disk.0) }
    );
    Ok(())
}

fn check_memory(experiment: &Experiment, sides: &[&Variant], room: &Room) -> Result<()> {
    if !experiment.needs_server() {
        return Ok(());
    }
    let ours = || sides.iter().filter(|side| is_ours(side));
    let servers = ours().map(|side| u64::from(side.servers)).sum();
    let of_side = |side: &&Variant| {
        let of_one = server::memory_needed_bytes(&side.settings, u64::from(side.threads_most));
        of_one.saturating_mul(u64::from(side.servers))
    };
    let needed = ours().map(of_side).fold(0, u64::saturating_add);
    ensure_memory_for(room.memory_bytes, needed, servers)
}

/// Checks that a server with these settings under so many connections fits into what memory is
/// left.
///
/// # Errors
/// One line with both figures and what to lower.
pub fn ensure_memory(settings: &server::Settings, connections: u32) -> Result<()> {
    let needed = server::memory_needed_bytes(settings, u64::from(connections));
    ensure_memory_for(available_memory_bytes()?, needed, 1)
}

fn ensure_memory_for(there: u64, needed: u64, servers: u64) -> Result<()> {
    let (who, or_fewer) = match servers {
        0 => return Ok(()),
        1 => ("the server needs".to_owned(), "threads"),
        _ => (format!("{servers} servers need"), "threads, or servers"),
    };
    ensure!(
        needed <= there,
        "{who} about {} of memory, {} are available; lower innodb_buffer_pool_size or {or_fewer}",
        rounded(needed),
        rounded(there)
    );
    Ok(())
}

/// Memory available without swapping, as the kernel estimates it (`proc(5)`, `MemAvailable`).
fn available_memory_bytes() -> Result<u64> {
    let told = machine::field("/proc/meminfo", "MemAvailable:");
    // The kernel writes "kB" and means 1024 bytes.
    let kib: u64 = told
        .and_then(|told| told.trim_end_matches(" kB").parse().ok())
        .context("/proc/meminfo has no MemAvailable; mount proc at /proc")?;
    Ok(kib * 1024)
}

/// All base snapshots of the run lie in the location, and beside them the copies or images of the
/// rigs that are up at once.
fn check_space(experiment: &Experiment, room: &Room, location: &Path) -> Result<()> {
    let variants = &experiment.variants;
    let has_server = experiment.needs_server();
    let snapshots = base_snapshots::all(experiment);
    let snapshots = snapshots.into_iter().map(tables_bytes).fold(0, u64::saturating_add);
    let snapshots = if has_server { snapshots } else { 0 };
    let largest = variants.iter().max_by_key(|variant| rig_bytes(experiment, variant));
    let of_sides =
        |sides: &Vec<&Variant>| sides.iter().map(|side| rig_bytes(experiment, side)).sum::<u64>();
    let rig_bytes = at_once(experiment).iter().map(of_sides).max().unwrap_or(0);
    let is_model = largest.is_some_and(|variant| variant.rig.model().is_some());
    let smaller = match is_model && rig_bytes > snapshots {
        true => "make the device smaller with a larger model.capacity_scale",
        false if has_server => "lower data.table_size",
        false => "lower file_total_size",
    };
    let needed = snapshots.saturating_add(rig_bytes);
    let free = room.disk_bytes;
    ensure!(
        needed <= free,
        "no space: the run needs about {} in {}, {} are free; free some, give another --location \
        or {smaller}",
        rounded(needed),
        location.display(),
        rounded(free)
    );
    Ok(())
}

/// The sum over all servers of a run.
fn rig_bytes(experiment: &Experiment, variant: &Variant) -> u64 {
    let of_one = match variant.rig.disk().map(|disk| &disk.base) {
        None if is_ours(variant) => data_bytes(experiment, variant),
        Some(DiskBase::Image { size, .. }) => size.0,
        Some(DiskBase::Drive(drive)) => match &drive.media {
            DriveMedia::File { capacity, .. } => capacity.0,
            DriveMedia::Image(pool) => pool_bytes(experiment, variant, pool),
            DriveMedia::Device(_) => 0,
        },
        Some(DiskBase::Pool(pool, _)) => pool_bytes(experiment, variant, pool),
        // The preconditioned media and their copy.
        Some(DiskBase::Model(model)) => model.device.media_bytes().saturating_mul(2),
        Some(DiskBase::Device(_)) | None => 0,
    };
    of_one.saturating_mul(u64::from(variant.servers))
}

/// The cluster itself, and the tables with all their copies or parts.
fn pool_bytes(experiment: &Experiment, variant: &Variant, pool: &PlannedPool) -> u64 {
    let Some(private) = pool.private() else { return 0 };
    let clusters = pool::private_clusters(experiment);
    let empty: u64 = clusters.iter().map(|one| assay_pool::empty_bytes(one.stores)).sum();
    let data = data_bytes(experiment, variant) as f64;
    empty.saturating_add((data * private.protection.overhead()) as u64)
}

/// A run has tables or files.
fn data_bytes(experiment: &Experiment, variant: &Variant) -> u64 {
    let tables = if experiment.needs_server() { snapshot_bytes(variant) } else { 0 };
    tables.max(largest_files(experiment).map_or(0, |(_, bytes)| bytes))
}

fn snapshot_bytes(variant: &Variant) -> u64 {
    tables_bytes(&variant.schema)
}

/// Uncompressed: how far compression goes is what a run is to find out.
fn tables_bytes(schema: &Schema) -> u64 {
    let rows = u64::from(schema.tables).saturating_mul(schema.table_size);
    rows.saturating_mul(schema.row_bytes()).saturating_add(BESIDE_TABLES_BYTES)
}

/// To whole MiB, or GiB with a tenth: a figure in a message need not be exact.
fn rounded(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 10_240.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

/// The largest files of an experiment, and the workload that has them.
fn largest_files(experiment: &Experiment) -> Option<(&str, u64)> {
    let workloads = experiment.workloads.iter();
    let files = workloads.filter_map(|(name, workload)| {
        Some((name.as_str(), workload.spec.files()?.file_total_size.0))
    });
    files.max_by_key(|(_, bytes)| *bytes)
}
