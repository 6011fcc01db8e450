//! A plan against this machine: everything that can be refused before anything is made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_drive::Codec;
use assay_load::text::TextSource;
use assay_load::{Recipe, Schema, statements_per_event};
use assay_ports::lacks::{Lacks, Needs};
use assay_ports::{blockdev, cpu};

use super::{files, machine};
use crate::rig::{existing, pool, server};
use assay_base::Size;
use assay_plan::{Config, EndpointSpec, Plan, RigKind, Variant};

/// What a data directory takes beside its tables: system and undo tablespaces, redo, doublewrite and the server's own
/// tables, measured 190 MB freshly made by MySQL 9.7, and room for undo and redo under load.
const BESIDE_TABLES_BYTES: u64 = 320 << 20;

/// Checks places, CPUs, servers, rights, devices, memory and space.
///
/// # Errors
/// One line: what is missing and what to change.
pub fn check(plan: &Plan, location: &Path, erase: &[PathBuf]) -> Result<()> {
    server::check_places(location)?;
    check_rights(plan)?;
    check_cpus(plan)?;
    check_load(plan)?;
    if plan.needs_server() {
        check_servers(plan)?;
    }
    for variant in plan.variants() {
        check_variant(plan, &variant, erase).with_context(|| variant.key.to_string())?;
    }
    check_existing(plan)?;
    check_space(plan, location)
}

/// Servers that somebody else runs, each once with the settings that are asked of it.
fn check_existing(plan: &Plan) -> Result<()> {
    let mut asked: Vec<(EndpointSpec, server::Settings)> = Vec::new();
    for variant in plan.variants() {
        let config = plan.configs.get(&variant.key.config);
        let Some((spec, config)) = variant.rig.endpoint.clone().zip(config) else { continue };
        let question = (spec, plan.settings_of(config));
        if !asked.contains(&question) {
            existing::check(&question.0, &question.1).with_context(|| variant.key.to_string())?;
            asked.push(question);
        }
    }
    Ok(())
}

fn check_variant(plan: &Plan, variant: &Variant, erase: &[PathBuf]) -> Result<()> {
    check_device(plan, variant, erase)?;
    check_drive(plan, variant)?;
    check_pool(plan, variant)?;
    check_asynchronous_io(plan, variant)?;
    if plan.needs_server() && is_ours(variant) {
        check_memory(plan, variant)?;
    }
    check_image(plan, variant)
}

/// Whether everything from its server down is on this machine and ours.
fn is_ours(variant: &Variant) -> bool {
    variant.rig.kind != RigKind::Endpoint
}

fn check_cpus(plan: &Plan) -> Result<()> {
    let there = cpu::available().context("cannot determine the CPUs")?;
    let placement = &plan.placement;
    for (key, list) in [
        ("server_cpus", &placement.server_cpus),
        ("load_cpus", &placement.load_cpus),
        ("drive_cpus", &placement.drive_cpus),
    ] {
        if let Some(missing) = list.0.iter().find(|cpu| !there.contains(cpu)) {
            bail!("placement.{key} contains CPU {missing}; this machine has {there:?}");
        }
    }
    Ok(())
}

fn check_load(plan: &Plan) -> Result<()> {
    if plan.data_profiles.is_empty() {
        return check_tables(plan, &plan.data).context("data");
    }
    for (name, set) in &plan.data_profiles {
        check_tables(plan, &set.schema(&plan.data))
            .with_context(|| format!("data profile `{name}`"))?;
    }
    Ok(())
}

fn check_tables(plan: &Plan, schema: &Schema) -> Result<()> {
    schema.check()?;
    if let Some(book) = &schema.text {
        TextSource::from_file(book).context("text")?;
    }
    let workloads = plan.workloads.iter();
    for (name, workload) in workloads.filter_map(|(name, one)| Some((name, one.server()?))) {
        let what = || format!("workload `{name}`");
        workload.check().with_context(what)?;
        workload.check_tables(schema).with_context(what)?;
        ensure!(
            statements_per_event(workload, schema) > 0.0,
            "workload `{name}` has no statements; give at least one of its counts"
        );
        ensure!(
            workload.recipe != Recipe::OltpInsert || schema.auto_inc,
            "workload `{name}` inserts its own ids, which would collide with existing rows; set auto_inc = true"
        );
    }
    Ok(())
}

/// Servers that are named are there, and take their settings; of one that would have to be downloaded, only a run finds out.
fn check_servers(plan: &Plan) -> Result<()> {
    let mut asked: Vec<(Option<&PathBuf>, server::Settings)> = Vec::new();
    let is_ours = |config: &Config| plan.rig_of(config).kind != RigKind::Endpoint;
    for (name, config) in plan.configs.iter().filter(|(_, config)| is_ours(config)) {
        let path = config.server.as_ref().or(plan.server.as_ref());
        let question = (path, plan.settings_of(config));
        if !asked.contains(&question) {
            let (path, settings) = &question;
            check_server(*path, settings).with_context(|| format!("configuration `{name}`"))?;
            asked.push(question);
        }
    }
    Ok(())
}

/// The servers that a plan would run, each once; nothing stands for one that would have to be downloaded.
///
/// # Errors
/// A path that holds no usable server.
pub fn servers(plan: &Plan) -> Result<Vec<Option<server::Binary>>> {
    let ours = plan.configs.values().filter(|one| plan.rig_of(one).kind != RigKind::Endpoint);
    let paths: BTreeSet<Option<&PathBuf>> =
        ours.map(|config| config.server.as_ref().or(plan.server.as_ref())).collect();
    let found = |path| server::find(&server::Wanted::named(path));
    paths.into_iter().filter(|_| plan.needs_server()).map(found).collect()
}

fn check_server(path: Option<&PathBuf>, settings: &server::Settings) -> Result<()> {
    let wanted = server::Wanted::named(path);
    let found = server::find(&wanted)?;
    found.map_or(Ok(()), |binary| server::check_settings(&binary, settings))
}

/// What this process lacks of rights and devices for the rigs of a plan; `None` if it lacks nothing.
#[must_use]
pub fn lacks(plan: &Plan) -> Option<Lacks> {
    let variants = plan.variants();
    let needs = variants.iter().map(|variant| needs_of(variant.rig.kind));
    assay_ports::lacks::lacks(needs.fold(Needs::default(), Needs::and))
}

fn needs_of(kind: RigKind) -> Needs {
    let (mount, fuse, loop_device) = match kind {
        RigKind::Directory | RigKind::Endpoint => (false, false, false),
        RigKind::Device => (true, false, false),
        RigKind::Image => (true, false, true),
        RigKind::Drive | RigKind::Model | RigKind::Pool => (true, true, true),
    };
    Needs { mount, fuse, loop_device }
}

fn check_rights(plan: &Plan) -> Result<()> {
    let Some(missing) = lacks(plan) else { return Ok(()) };
    bail!(
        "its disks cannot be attached and mounted; {missing}; rig.kind = \"directory\" needs none of it, as in `assay run doublewrite`"
    )
}

/// A device is overwritten only when plan and command line agree on it: plans are copied, command lines are typed.
fn check_device(plan: &Plan, variant: &Variant, erase: &[PathBuf]) -> Result<()> {
    let Some(device) = &variant.rig.device else { return Ok(()) };
    let size = blockdev::check_unused(device)?;
    ensure!(
        erase.contains(device),
        "it would overwrite {} ({}); allow it with --erase {0}",
        device.display(),
        Size(size)
    );
    // How large a drive on it is to be, the plan may say.
    let disk = variant.rig.logical.unwrap_or(Size(size));
    ensure_all_fits(disk, plan, variant)
}

/// What a drive needs beside a disk's root. How far data shrink is what a run is to find out; with no codec they do
/// not.
fn check_drive(plan: &Plan, variant: &Variant) -> Result<()> {
    let spec = &variant.rig;
    if !matches!(spec.kind, RigKind::Drive | RigKind::Model | RigKind::Pool) {
        return Ok(());
    }
    if let Some(model) = &spec.model {
        return ensure_all_fits(Size(model.filled_bytes(&model.device()?.1)), plan, variant);
    }
    match (spec.drive_codec(), spec.capacity) {
        (Codec::None, Some(capacity)) => ensure_all_fits(capacity, plan, variant),
        _ => Ok(()),
    }
}

/// An existing cluster answers; a private one has the memory that it takes.
fn check_pool(plan: &Plan, variant: &Variant) -> Result<()> {
    let Some(spec) = &variant.rig.pool else { return Ok(()) };
    pool::check(spec)?;
    let stores = pool::private_clusters(plan).iter().map(|cluster| u64::from(cluster.stores)).sum();
    let needed = assay_pool::memory_needed_bytes(stores);
    let there = available_memory_bytes()?;
    ensure!(
        !spec.is_private() || needed <= there,
        "private clusters with {stores} stores need about {} of memory, {} are available; lower pool.stores, or name an existing cluster",
        rounded(needed),
        rounded(there)
    );
    Ok(())
}

/// Servers that run at once share what the kernel gives of asynchronous I/O: each I/O thread of InnoDB asks for 256 requests
/// (`OS_AIO_N_PENDING_IOS_PER_THREAD` in MySQL's `os0file.h`), and is told to come again where there are none left.
fn check_asynchronous_io(plan: &Plan, variant: &Variant) -> Result<()> {
    const REQUESTS_OF_THREAD: u64 = 256;
    let servers = u64::from(plan.servers_of(&variant.key.config));
    let number = |file: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/fs/{file}")).ok()?.trim().parse().ok()
    };
    let (Some(most), Some(used)) = (number("aio-max-nr"), number("aio-nr")) else { return Ok(()) };
    let Some(config) = plan.configs.get(&variant.key.config) else { return Ok(()) };
    let settings = plan.settings_of(config);
    let threads = |name: &str| settings.get(name).and_then(|count| count.parse().ok()).unwrap_or(4);
    // One more for the log, and one for what is read while starting.
    let of_server: u64 = threads("innodb_read_io_threads") + threads("innodb_write_io_threads") + 2;
    let needed = servers * of_server * REQUESTS_OF_THREAD;
    let left = most.saturating_sub(used);
    ensure!(
        servers == 1 || needed <= left,
        "{servers} servers at once need about {needed} requests of asynchronous I/O, and the kernel has {left} left; raise its limit with `sysctl -w fs.aio-max-nr={}`, or lower innodb_read_io_threads and innodb_write_io_threads",
        (used + needed * 2).next_power_of_two()
    );
    Ok(())
}

fn check_image(plan: &Plan, variant: &Variant) -> Result<()> {
    let disk = variant.rig.disk_size();
    disk.map_or(Ok(()), |size| ensure_all_fits(size, plan, variant))
}

/// A run has tables or files on its disk, never both.
fn ensure_all_fits(disk: Size, plan: &Plan, variant: &Variant) -> Result<()> {
    if let Some((name, bytes)) = files::largest(plan) {
        ensure!(
            bytes < disk.0,
            "the files of workload `{name}`, {}, do not fit on a disk of {disk}; lower file_total_size or take a larger disk",
            Size(bytes)
        );
    }
    if plan.needs_server() { ensure_fits(disk, snapshot_bytes(variant)) } else { Ok(()) }
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

fn check_memory(plan: &Plan, variant: &Variant) -> Result<()> {
    let Some(config) = plan.configs.get(&variant.key.config) else { return Ok(()) };
    let set = variant.key.data_profile.as_ref().and_then(|name| plan.data_profiles.get(name));
    let threads = plan.threads_of(config, set).into_iter().max().unwrap_or(1);
    let servers = u64::from(config.servers.unwrap_or(1));
    ensure_memory_for(&plan.settings_of(config), threads, servers)
}

/// Checks that a server with these settings under so many connections fits into what memory is left.
///
/// # Errors
/// One line with both figures and what to lower.
pub fn ensure_memory(settings: &server::Settings, connections: u32) -> Result<()> {
    ensure_memory_for(settings, connections, 1)
}

fn ensure_memory_for(settings: &server::Settings, connections: u32, servers: u64) -> Result<()> {
    let of_one = server::memory_needed_bytes(settings, u64::from(connections));
    let needed = of_one.saturating_mul(servers);
    let there = available_memory_bytes()?;
    let (who, or_fewer) = match servers {
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

/// What the kernel estimates can be had without swapping (`proc(5)`, `MemAvailable`).
fn available_memory_bytes() -> Result<u64> {
    let told = machine::field("/proc/meminfo", "MemAvailable:");
    // The kernel writes "kB" and means 1024 bytes.
    let kib: u64 = told
        .and_then(|told| told.trim_end_matches(" kB").parse().ok())
        .context("/proc/meminfo has no MemAvailable; mount proc at /proc")?;
    Ok(kib * 1024)
}

/// All base snapshots of the run lie in the location, and one rig's copy or image beside them.
fn check_space(plan: &Plan, location: &Path) -> Result<()> {
    let existing = existing(location)?;
    let variants = plan.variants();
    let mut distinct: Vec<&Schema> = Vec::new();
    for variant in variants.iter().filter(|variant| is_ours(variant)) {
        if !distinct.contains(&&variant.schema) {
            distinct.push(&variant.schema);
        }
    }
    let snapshots = distinct.into_iter().map(tables_bytes).fold(0, u64::saturating_add);
    let snapshots = if plan.needs_server() { snapshots } else { 0 };
    let largest = variants.iter().max_by_key(|variant| rig_bytes(plan, variant));
    let rig_bytes = largest.map_or(0, |largest| rig_bytes(plan, largest));
    let is_model = largest.is_some_and(|variant| variant.rig.kind == RigKind::Model);
    let smaller = match is_model && rig_bytes > snapshots {
        true => "make the device smaller with a larger model.capacity_scale",
        false if plan.needs_server() => "lower data.table_size",
        false => "lower file_total_size",
    };
    let needed = snapshots.saturating_add(rig_bytes);
    let free = assay_system::free_bytes(&existing)?;
    ensure!(
        needed <= free,
        "no space: the run needs about {} in {}, {} are free; free some, give another --location or {smaller}",
        rounded(needed),
        location.display(),
        rounded(free)
    );
    Ok(())
}

/// The directory that is there and that `location` will lie in, which may be relative to where we are.
fn existing(location: &Path) -> Result<PathBuf> {
    let location = std::path::absolute(location)?;
    let there = location.ancestors().find(|directory| directory.is_dir());
    Ok(there.unwrap_or(Path::new("/")).to_owned())
}

/// Of all servers of a run together.
fn rig_bytes(plan: &Plan, variant: &Variant) -> u64 {
    let servers = u64::from(plan.servers_of(&variant.key.config));
    let spec = &variant.rig;
    let of_one = match spec.kind {
        RigKind::Directory => {
            let tables = if plan.needs_server() { snapshot_bytes(variant) } else { 0 };
            tables.max(files::largest(plan).map_or(0, |(_, bytes)| bytes))
        }
        RigKind::Pool | RigKind::Drive if spec.pool.is_some() => pool_bytes(plan, variant),
        RigKind::Image | RigKind::Drive => spec.image_size().map_or(0, |size| size.0),
        RigKind::Device | RigKind::Endpoint | RigKind::Pool => 0,
        // The preconditioned media and their copy.
        RigKind::Model => {
            let device = spec.model.as_ref().and_then(|model| model.device().ok());
            device.map_or(0, |(_, device)| device.media_bytes().saturating_mul(2))
        }
    };
    of_one.saturating_mul(servers)
}

/// The cluster itself, and the tables with all their copies or parts.
fn pool_bytes(plan: &Plan, variant: &Variant) -> u64 {
    let Some(spec) = variant.rig.pool.as_ref().filter(|pool| pool.is_private()) else { return 0 };
    let clusters = pool::private_clusters(plan);
    let empty: u64 = clusters.iter().map(|one| assay_pool::empty_bytes(one.stores)).sum();
    let tables = if plan.needs_server() { snapshot_bytes(variant) } else { 0 };
    let data = tables.max(files::largest(plan).map_or(0, |(_, bytes)| bytes));
    empty.saturating_add((data as f64 * spec.protection().overhead()) as u64)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_looked_for_where_a_relative_location_will_lie() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(existing(Path::new("study/that/is/not/there")).unwrap(), here);
        assert_eq!(existing(Path::new("src/not there")).unwrap(), here.join("src"));
        assert_eq!(existing(Path::new("/not there")).unwrap(), Path::new("/"));
    }
}
