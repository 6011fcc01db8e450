//! Registers object stores with the cluster, lays them out and starts them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_ports::rbd::{Cluster, CommandTarget};
use assay_system::tool;
use serde_json::json;

use super::config::uuid;
use super::layout::Layout;
use super::programs::Programs;

const LAYOUT_PATIENCE: Duration = Duration::from_secs(180);

/// A store that is registered with the cluster and has nothing on the disk yet.
#[derive(Debug)]
pub(crate) struct NewStore {
    number: u16,
    uuid: String,
}

/// The name of a store's process.
pub(crate) fn name(number: u16) -> String {
    format!("osd.{number}")
}

/// Registers the store and writes the key that it authenticates with.
pub(crate) fn register(
    cluster: &Cluster,
    layout: &Layout,
    programs: &Programs,
    number: u16,
) -> Result<NewStore> {
    let uuid = uuid()?;
    let mut generate = programs.command("ceph-authtool");
    generate.arg("--gen-print-key");
    let key = tool::run(generate, LAYOUT_PATIENCE)?.stdout.trim().to_owned();
    let command = json!({ "prefix": "osd new", "uuid": uuid, "id": number });
    let secret = json!({ "cephx_secret": key }).to_string();
    cluster.command(CommandTarget::Monitor, &command.to_string(), secret.as_bytes())?;
    let name = name(number);
    std::fs::create_dir(layout.data_of(&name))?;
    std::fs::write(layout.keyring_of(&name), format!("[{name}]\n\tkey = {key}\n"))?;
    Ok(NewStore { number, uuid })
}

impl NewStore {
    /// Creates its tables on the disk.
    pub(crate) fn lay_out(&self, layout: &Layout, programs: &Programs) -> Result<()> {
        let mut command = base(programs, layout, self.number);
        command.args(["--mkfs", "--osd-uuid", &self.uuid]);
        let done = tool::run(command, LAYOUT_PATIENCE);
        done.map(drop).with_context(|| format!("store {} cannot be laid out", self.number))
    }
}

/// A command that runs the store until it is killed.
pub(crate) fn command(programs: &Programs, layout: &Layout, number: u16) -> Command {
    let mut command = base(programs, layout, number);
    command.arg("-f");
    command
}

fn base(programs: &Programs, layout: &Layout, number: u16) -> Command {
    let conf: &Path = &layout.conf();
    let mut command = programs.command("ceph-osd");
    command.arg("-c").arg(conf).args(["-i", &number.to_string()]);
    command
}
