//! A plan against this machine: everything that can be refused before anything is made.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use assay_load::text::TextSource;
use assay_load::{Recipe, Schema, statements_per_event};
use assay_ports::lacks::{Lacks, Needs};
use assay_ports::{blockdev, cpu};

use super::space_check::{self, Room, ensure_all_fits};
use crate::rig::{existing, pool, server};
use assay_base::Size;
use assay_plan::{DiskBase, Experiment, PlannedDisk, PlannedEndpoint, PlannedRig, Variant};

/// The servers that a plan would run, each once.
pub type PlannedServers = Vec<PlannedServer>;

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
pub fn check(
    experiment: &Experiment,
    location: &Path,
    erase: &[PathBuf],
) -> Result<PlannedServers> {
    server::check_places(location)?;
    check_rights(experiment)?;
    check_cpus(experiment)?;
    check_load(experiment)?;
    let has_server = experiment.needs_server();
    let servers = if has_server { check_servers(experiment)? } else { PlannedServers::new() };
    for variant in &experiment.variants {
        check_variant(experiment, variant, erase).with_context(|| variant.key.to_string())?;
    }
    check_existing(experiment)?;
    space_check::fits(experiment, &Room::found(&existing(location)?)?, location)?;
    Ok(servers)
}

/// PlannedServers that somebody else runs, each once with the settings that are asked of it.
fn check_existing(experiment: &Experiment) -> Result<()> {
    let mut checked: Vec<(&PlannedEndpoint, &server::Settings)> = Vec::new();
    for variant in &experiment.variants {
        let Some(endpoint) = variant.rig.endpoint() else { continue };
        let asked = (endpoint, &variant.settings);
        if !checked.contains(&asked) {
            existing::check(endpoint, &variant.settings)
                .with_context(|| variant.key.to_string())?;
            checked.push(asked);
        }
    }
    Ok(())
}

fn check_variant(experiment: &Experiment, variant: &Variant, erase: &[PathBuf]) -> Result<()> {
    check_device(experiment, variant, erase)?;
    variant.rig.pool().map_or(Ok(()), pool::check)
}

fn check_cpus(experiment: &Experiment) -> Result<()> {
    let there = cpu::available().context("cannot determine the CPUs")?;
    let placement = &experiment.placement;
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

fn check_load(experiment: &Experiment) -> Result<()> {
    for (data_profile, schema) in &experiment.tables {
        check_tables(experiment, schema).with_context(|| match data_profile {
            Some(name) => format!("data profile `{name}`"),
            None => "data".into(),
        })?;
    }
    Ok(())
}

fn check_tables(experiment: &Experiment, schema: &Schema) -> Result<()> {
    schema.check()?;
    if let Some(book) = &schema.text {
        TextSource::from_file(book).context("text")?;
    }
    let workloads = experiment.workloads.iter();
    for (name, workload) in workloads.filter_map(|(name, one)| Some((name, one.spec.server()?))) {
        let what = || format!("workload `{name}`");
        workload.check().with_context(what)?;
        workload.check_tables(schema).with_context(what)?;
        ensure!(
            statements_per_event(workload, schema) > 0.0,
            "workload `{name}` has no statements; give at least one of its counts"
        );
        ensure!(
            workload.recipe != Recipe::OltpInsert || schema.auto_inc,
            "workload `{name}` inserts its own ids, which would collide with existing rows; set \
            auto_inc = true"
        );
    }
    Ok(())
}

/// Checks that servers that are named are there, and take their settings; of one that would have to
/// be downloaded or unpacked, only a run finds out.
fn check_servers(experiment: &Experiment) -> Result<PlannedServers> {
    let mut found: BTreeMap<Option<&PathBuf>, Option<server::Binary>> = BTreeMap::new();
    let mut asked: Vec<(Option<&PathBuf>, &server::Settings)> = Vec::new();
    let ours = experiment.variants.iter().filter(|variant| variant.rig.endpoint().is_none());
    for variant in ours {
        let of_config = || format!("configuration `{}`", variant.key.config);
        let path = variant.server.as_ref();
        let binary = match found.entry(path) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place
                .insert(server::find(&server::WantedServer::named(path)).with_context(of_config)?),
        };
        let question = (path, &variant.settings);
        if let Some(binary) = binary
            && !asked.contains(&question)
        {
            server::check_settings(binary, question.1).with_context(of_config)?;
            asked.push(question);
        }
    }
    Ok(found.into_iter().map(|(path, binary)| planned(path, binary)).collect())
}

fn planned(path: Option<&PathBuf>, binary: Option<server::Binary>) -> PlannedServer {
    match (binary, server::WantedServer::named(path)) {
        (Some(binary), _) => PlannedServer::Present(binary),
        (None, server::WantedServer::Path(archive)) => PlannedServer::Unpacked(archive),
        (None, _) => PlannedServer::Downloaded,
    }
}

/// Rights and devices that this process lacks for the rigs of an experiment; `None` if it lacks
/// nothing.
#[must_use]
pub fn lacks(experiment: &Experiment) -> Option<Lacks> {
    let needs = experiment.variants.iter().map(|variant| needs_of(&variant.rig));
    assay_ports::lacks::lacks(needs.fold(Needs::default(), Needs::and))
}

fn needs_of(rig: &PlannedRig) -> Needs {
    let Some(disk) = rig.disk() else { return Needs::default() };
    let is_image = matches!(disk.base, DiskBase::Image { .. });
    Needs { mount: true, fuse: disk.is_served(), loop_device: is_image || disk.is_served() }
}

fn check_rights(experiment: &Experiment) -> Result<()> {
    let Some(missing) = lacks(experiment) else { return Ok(()) };
    bail!(
        "its disks cannot be attached and mounted; {missing}; rig.kind = \"directory\" needs \
        none of it, as in `assay run doublewrite`"
    )
}

/// A device is overwritten only when plan and command line agree on it: plans are copied, command
/// lines are typed.
fn check_device(experiment: &Experiment, variant: &Variant, erase: &[PathBuf]) -> Result<()> {
    let Some(device) = variant.rig.device() else { return Ok(()) };
    let size = blockdev::check_unused(device)?;
    ensure!(
        erase.iter().any(|path| path == device),
        "it would overwrite {} ({}); allow it with --erase {0}",
        device.display(),
        Size(size)
    );
    // The plan may give a drive on the device another size.
    let disk = variant.rig.disk().and_then(PlannedDisk::size);
    ensure_all_fits(disk.unwrap_or(Size(size)), experiment, variant)
}

/// The directory that exists and that `location` will lie in, which may be relative to where we
/// are.
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
