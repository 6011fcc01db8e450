//! A plan against this machine: everything that can be refused before anything is made.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_load::text::TextSource;
use assay_load::{Recipe, Schema, statements_per_event};
use assay_ports::lacks::{Lacks, Needs};
use assay_ports::{blockdev, cpu};

use super::room::{self, Room, ensure_all_fits};
use crate::rig::{existing, pool, server};
use assay_base::Size;
use assay_plan::{Config, EndpointSpec, Plan, RigKind, Variant};

/// The servers that a plan would run, each once.
pub type Servers = Vec<PlannedServer>;

/// A server that runs would use.
#[derive(Debug)]
pub enum PlannedServer {
    /// It is on this machine.
    Present(server::Binary),
    /// The runs download it first.
    Downloaded,
    /// The runs unpack it from this archive first.
    Unpacked(PathBuf),
}

/// Checks places, CPUs, servers, rights, devices, memory and space, and gives the servers.
///
/// # Errors
/// One line: what is missing and what to change.
pub fn check(plan: &Plan, location: &Path, erase: &[PathBuf]) -> Result<Servers> {
    server::check_places(location)?;
    check_rights(plan)?;
    check_cpus(plan)?;
    check_load(plan)?;
    let servers = if plan.needs_server() { check_servers(plan)? } else { Servers::new() };
    for variant in plan.variants() {
        check_variant(plan, &variant, erase).with_context(|| variant.key.to_string())?;
    }
    check_existing(plan)?;
    room::fits(plan, &Room::found(&existing(location)?)?, location)?;
    Ok(servers)
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
    variant.rig.pool.as_ref().map_or(Ok(()), pool::check)
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

/// Checks that servers that are named are there, and take their settings; of one that would have to
/// be downloaded or unpacked, only a run finds out.
fn check_servers(plan: &Plan) -> Result<Servers> {
    let mut found: BTreeMap<Option<&PathBuf>, Option<server::Binary>> = BTreeMap::new();
    let mut asked: Vec<(Option<&PathBuf>, server::Settings)> = Vec::new();
    let is_ours = |config: &Config| plan.rig_of(config).kind != RigKind::Endpoint;
    for (name, config) in plan.configs.iter().filter(|(_, config)| is_ours(config)) {
        let of_config = || format!("configuration `{name}`");
        let path = config.server.as_ref().or(plan.server.as_ref());
        let binary = match found.entry(path) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(server::find(&server::Wanted::named(path)).with_context(of_config)?)
            }
        };
        let question = (path, plan.settings_of(config));
        if let Some(binary) = binary
            && !asked.contains(&question)
        {
            server::check_settings(binary, &question.1).with_context(of_config)?;
            asked.push(question);
        }
    }
    Ok(found.into_iter().map(|(path, binary)| planned(path, binary)).collect())
}

fn planned(path: Option<&PathBuf>, binary: Option<server::Binary>) -> PlannedServer {
    match (binary, server::Wanted::named(path)) {
        (Some(binary), _) => PlannedServer::Present(binary),
        (None, server::Wanted::Path(archive)) => PlannedServer::Unpacked(archive),
        (None, _) => PlannedServer::Downloaded,
    }
}

/// Rights and devices that this process lacks for the rigs of a plan; `None` if it lacks nothing.
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

/// The directory that exists and that `location` will lie in, which may be relative to where we are.
fn existing(location: &Path) -> Result<PathBuf> {
    let location = std::path::absolute(location)?;
    let there = location.ancestors().find(|directory| directory.is_dir());
    Ok(there.unwrap_or(Path::new("/")).to_owned())
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
