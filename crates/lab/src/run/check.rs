//! A plan against this machine: everything that can be refused before anything is made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_drive::Codec;
use assay_load::text::TextSource;
use assay_load::{Recipe, queries_per_event};
use assay_ports::{blockdev, cpu, fuse};

use super::machine;
use crate::plan::{Arm, Plan, RigKind, Size};
use crate::rig::{self, server};

/// What a data folder takes beside its tables: system and undo tablespaces, redo, doublewrite and the server's own
/// tables, measured 190 MB freshly made by MySQL 9.7, and room for undo and redo under load.
const BESIDE_TABLES_BYTES: u64 = 320 << 20;

/// Checks processors, rights, devices, memory and space.
///
/// # Errors
/// One line: what is missing and what to change.
pub fn check(plan: &Plan, location: &Path, erase: &[PathBuf]) -> Result<()> {
    check_processors(plan)?;
    check_load(plan)?;
    for (name, arm) in &plan.arms {
        check_rights(plan, name, arm)?;
        check_device(plan, name, arm, erase)?;
        check_drive(plan, name, arm)?;
        check_memory(plan, name, arm)?;
        check_image(plan, name, arm)?;
    }
    check_space(plan, location)
}

fn check_processors(plan: &Plan) -> Result<()> {
    let there = cpu::available().context("cannot ask for the processors")?;
    let placement = &plan.placement;
    for (key, list) in [
        ("server_cpus", &placement.server_cpus),
        ("load_cpus", &placement.load_cpus),
        ("drive_cpus", &placement.drive_cpus),
    ] {
        if let Some(missing) = list.0.iter().find(|cpu| !there.contains(cpu)) {
            bail!("placement.{key} names processor {missing}; this machine has {there:?}");
        }
    }
    Ok(())
}

fn check_load(plan: &Plan) -> Result<()> {
    plan.data.check().context("data")?;
    if let Some(book) = &plan.data.text {
        TextSource::from_file(book).context("data.text")?;
    }
    for (name, workload) in &plan.workloads {
        let what = || format!("workload `{name}`");
        workload.check().with_context(what)?;
        workload.check_tables(&plan.data).with_context(what)?;
        ensure!(
            queries_per_event(workload, &plan.data).total() > 0,
            "workload `{name}` has no statements; give at least one of its counts"
        );
        ensure!(
            workload.recipe != Recipe::OltpInsert || plan.data.auto_inc,
            "workload `{name}` inserts its own ids, which would meet those that are there; set data.auto_inc = true"
        );
    }
    Ok(())
}

fn check_rights(plan: &Plan, name: &str, arm: &Arm) -> Result<()> {
    let needs_root = plan.rig_of(arm).kind != RigKind::Folder;
    if needs_root && !rustix::process::geteuid().is_root() {
        bail!(
            "arm `{name}` needs root to attach and mount its disk; run as root or set rig.kind = \"folder\""
        );
    }
    Ok(())
}

/// A device is overwritten only when plan and command line agree on it: plans are copied, command lines are typed.
fn check_device(plan: &Plan, name: &str, arm: &Arm, erase: &[PathBuf]) -> Result<()> {
    let Some(device) = &plan.rig_of(arm).device else { return Ok(()) };
    let size = blockdev::check_unused(device).with_context(|| format!("arm `{name}`"))?;
    ensure!(
        erase.contains(device),
        "arm `{name}` would overwrite {} ({}); allow it with --erase {0}",
        device.display(),
        Size(size)
    );
    // How large a drive on it is to be, the plan may say.
    let disk = plan.rig_of(arm).logical.unwrap_or(Size(size));
    ensure_fits(name, disk, dataset_bytes(plan, arm))
}

/// What a drive needs beside a disk's root. How far data shrink is what a run is to find out; with no codec they do
/// not.
fn check_drive(plan: &Plan, name: &str, arm: &Arm) -> Result<()> {
    let spec = plan.rig_of(arm);
    if !matches!(spec.kind, RigKind::Drive | RigKind::Model) {
        return Ok(());
    }
    fuse::check_there().with_context(|| format!("arm `{name}`"))?;
    if let Some(model) = &spec.model {
        return ensure_fits(
            name,
            Size(model.filled_bytes(&model.device()?.1)),
            dataset_bytes(plan, arm),
        );
    }
    match (spec.drive_codec(), spec.capacity) {
        (Codec::None, Some(capacity)) => ensure_fits(name, capacity, dataset_bytes(plan, arm)),
        _ => Ok(()),
    }
}

fn check_image(plan: &Plan, name: &str, arm: &Arm) -> Result<()> {
    let disk = plan.rig_of(arm).disk_size();
    disk.map_or(Ok(()), |size| ensure_fits(name, size, dataset_bytes(plan, arm)))
}

fn ensure_fits(arm: &str, disk: Size, data_bytes: u64) -> Result<()> {
    ensure!(
        data_bytes <= disk.0,
        "arm `{arm}`: about {} of data do not fit on a disk of {disk}; lower data.table_size or take a larger disk",
        rounded(data_bytes)
    );
    Ok(())
}

fn check_memory(plan: &Plan, name: &str, arm: &Arm) -> Result<()> {
    let threads = plan.threads.iter().copied().max().unwrap_or(1);
    ensure_memory(&plan.settings_of(arm), threads).with_context(|| format!("arm `{name}`"))
}

/// Checks that a server with these settings under so many connections fits into what memory is left.
///
/// # Errors
/// One line with both figures and what to lower.
pub fn ensure_memory(settings: &server::Settings, connections: u32) -> Result<()> {
    let needed = server::memory_needed_bytes(settings, u64::from(connections));
    let there = available_memory_bytes()?;
    ensure!(
        needed <= there,
        "the server needs about {} of memory, {} are available; lower innodb_buffer_pool_size or the threads",
        rounded(needed),
        rounded(there)
    );
    Ok(())
}

/// What the kernel reckons can be had without swapping (`proc(5)`, `MemAvailable`).
fn available_memory_bytes() -> Result<u64> {
    let told = machine::field("/proc/meminfo", "MemAvailable:");
    // The kernel writes "kB" and means 1024 bytes.
    let kib: u64 = told
        .and_then(|told| told.trim_end_matches(" kB").parse().ok())
        .context("/proc/meminfo does not tell MemAvailable; mount proc at /proc")?;
    Ok(kib * 1024)
}

/// All datasets of the run lie in the location, and one rig's copy or image beside them.
fn check_space(plan: &Plan, location: &Path) -> Result<()> {
    let existing = location.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let distinct: BTreeSet<String> =
        plan.arms.values().map(|arm| plan.schema_of(arm).create_table_options).collect();
    let largest = plan.arms.values().map(|arm| dataset_bytes(plan, arm)).max().unwrap_or(0);
    let rig_bytes = plan.arms.values().map(|arm| rig_bytes(plan, arm)).max().unwrap_or(0);
    let needed = largest.saturating_mul(distinct.len() as u64).saturating_add(rig_bytes);
    let free = rig::free_bytes(existing)?;
    ensure!(
        needed <= free,
        "no space: the run needs about {} in {}, {} are free; free some, give another --location or lower data.table_size",
        rounded(needed),
        location.display(),
        rounded(free)
    );
    Ok(())
}

fn rig_bytes(plan: &Plan, arm: &Arm) -> u64 {
    let spec = plan.rig_of(arm);
    match spec.kind {
        RigKind::Folder => dataset_bytes(plan, arm),
        RigKind::Image | RigKind::Drive => spec.image_size().map_or(0, |size| size.0),
        RigKind::Device => 0,
        // The worn media and their copy.
        RigKind::Model => {
            let device = spec.model.as_ref().and_then(|model| model.device().ok());
            device.map_or(0, |(_, device)| device.media_bytes().saturating_mul(2))
        }
    }
}

/// Uncompressed: how far compression goes is what a run is to find out.
fn dataset_bytes(plan: &Plan, arm: &Arm) -> u64 {
    let schema = plan.schema_of(arm);
    let rows = u64::from(schema.tables).saturating_mul(schema.table_size);
    rows.saturating_mul(schema.row_bytes()).saturating_add(BESIDE_TABLES_BYTES)
}

/// To whole MiB, or GiB with a tenth: a figure in a message need not be exact.
fn rounded(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 10_240.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}
