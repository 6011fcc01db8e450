//! Starts a private cluster's processes in order: monitor, manager, stores.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use assay_ports::rbd::{Cluster, CommandTarget};
use assay_system::ledger::Ledger;
use assay_system::tool;
use serde_json::{Value, json};

use super::config::{self, Identity};
use super::layout::Layout;
use super::locate;
use super::processes::Processes;
use super::programs::Programs;
use super::spec::Spec;
use super::store;

/// Names of the monitor and the manager.
const MONITOR: &str = "mon.a";
const MANAGER: &str = "mgr.x";

/// Time limit for a program that ends by itself.
const TOOL_PATIENCE: Duration = Duration::from_secs(60);

/// Time limit for the whole cluster to answer.
const PATIENCE: Duration = Duration::from_secs(180);

/// Polling interval.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Starts the cluster in the existing, empty directory of `layout`; returns its processes once all
/// stores are in.
pub(crate) fn bring_up(
    spec: &Spec,
    layout: &Layout,
    programs: &Programs,
    ledger: &Arc<Ledger>,
    tell: &dyn Fn(&str),
) -> Result<Processes> {
    let identity = Identity::draw()?;
    for directory in layout.directories() {
        fs::DirBuilder::new().mode(0o700).create(&directory)?;
    }
    fs::write(layout.conf(), config::text(layout, &identity, spec, programs)?)?;
    let mut processes = Processes::new(ledger);
    tell("starting the monitor");
    make_keyrings(layout, programs)?;
    start_monitor(layout, programs, &identity, &mut processes)?;
    let cluster = connect(layout, &mut processes)?;
    tell("starting the manager");
    start_manager(&cluster, layout, programs, &mut processes)?;
    tell(&format!("making {} stores", spec.stores));
    start_stores(&cluster, spec, layout, programs, &mut processes)?;
    wait_until_all_are_in(&cluster, spec, layout, &mut processes)?;
    Ok(processes)
}

fn make_keyrings(layout: &Layout, programs: &Programs) -> Result<()> {
    let authtool = |words: &[&str], file: std::path::PathBuf| {
        let mut command = programs.command("ceph-authtool");
        command.arg(file).args(words);
        tool::run(command, TOOL_PATIENCE).map(drop)
    };
    authtool(
        &["--create-keyring", "--gen-key", "-n", "mon.", "--cap", "mon", "allow *"],
        layout.monitor_keyring(),
    )?;
    let caps = ["mon", "osd", "mds", "mgr"].map(|who| ["--cap", who, "allow *"]);
    let words = [&["--create-keyring", "--gen-key", "-n", "client.admin"][..], &caps.concat()];
    authtool(&words.concat(), layout.admin_keyring())?;
    let admin = layout.admin_keyring();
    let import = ["--import-keyring", admin.to_str().context("the directory is not UTF-8")?];
    authtool(&import, layout.monitor_keyring())
}

fn start_monitor(
    layout: &Layout,
    programs: &Programs,
    identity: &Identity,
    processes: &mut Processes,
) -> Result<()> {
    let mut map = programs.command("monmaptool");
    map.args(["--create", "--fsid", &identity.fsid, "--addv", "a", &identity.monitor]);
    map.arg(layout.monitor_map());
    tool::run(map, TOOL_PATIENCE)?;
    let monitor = || {
        let mut command = programs.command("ceph-mon");
        command.arg("-c").arg(layout.conf()).args(["-i", "a"]);
        command
    };
    let mut make = monitor();
    make.arg("--mkfs").arg("--monmap").arg(layout.monitor_map());
    make.arg("--keyring").arg(layout.monitor_keyring());
    tool::run(make, TOOL_PATIENCE).context("the monitor cannot be laid out")?;
    start(MONITOR, monitor(), layout, processes)
}

/// In the foreground, so that the process stays a child.
fn start(
    name: &str,
    mut command: Command,
    layout: &Layout,
    processes: &mut Processes,
) -> Result<()> {
    command.arg("-f");
    processes.start(name, command, &layout.log_of(name))
}

/// A monitor that has just started needs time to answer.
fn connect(layout: &Layout, processes: &mut Processes) -> Result<Cluster> {
    let access = locate::access_to(layout.conf(), None)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Cluster::connect(&access) {
            Ok(cluster) => return Ok(cluster),
            Err(error) if Instant::now() >= deadline => return Err(error.into()),
            Err(error) => log::debug!("{error}"),
        }
        ensure_all_run(layout, processes)?;
    }
}

fn start_manager(
    cluster: &Cluster,
    layout: &Layout,
    programs: &Programs,
    processes: &mut Processes,
) -> Result<()> {
    let command = json!({
        "prefix": "auth get-or-create",
        "entity": MANAGER,
        "caps": ["mon", "allow profile mgr", "osd", "allow *", "mds", "allow *"],
    });
    let keyring = cluster.command(CommandTarget::Monitor, &command.to_string(), &[])?;
    fs::create_dir(layout.data_of(MANAGER))?;
    fs::write(layout.keyring_of(MANAGER), keyring)?;
    let mut command = programs.manager_command();
    command.arg("-c").arg(layout.conf()).args(["-i", "x"]);
    start(MANAGER, command, layout, processes)
}

/// Lays the stores out concurrently, then starts them.
fn start_stores(
    cluster: &Cluster,
    spec: &Spec,
    layout: &Layout,
    programs: &Programs,
    processes: &mut Processes,
) -> Result<()> {
    let register = |number| store::register(cluster, layout, programs, number);
    let new: Vec<store::NewStore> = (0..spec.stores).map(register).collect::<Result<_>>()?;
    std::thread::scope(|scope| {
        let lay_out =
            |store| scope.spawn(move || store::NewStore::lay_out(store, layout, programs));
        let threads: Vec<_> = new.iter().map(lay_out).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            thread.join().unwrap_or_else(|_| bail!("a thread ended"))
        };
        threads.into_iter().try_for_each(ended)
    })?;
    (0..spec.stores).try_for_each(|number| start_store(number, layout, programs, processes))
}

/// Starts a store that is laid out.
pub(crate) fn start_store(
    number: u16,
    layout: &Layout,
    programs: &Programs,
    processes: &mut Processes,
) -> Result<()> {
    let name = store::name(number);
    processes.start(&name, store::command(programs, layout, number), &layout.log_of(&name))
}

fn wait_until_all_are_in(
    cluster: &Cluster,
    spec: &Spec,
    layout: &Layout,
    processes: &mut Processes,
) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let asked = |prefix: &str| -> Result<Value> {
        let command = json!({ "prefix": prefix, "format": "json" }).to_string();
        Ok(serde_json::from_slice(&cluster.command(CommandTarget::Monitor, &command, &[])?)?)
    };
    loop {
        let (stores, manager) = (asked("osd stat")?, asked("mgr stat")?);
        let are_up = stores["num_up_osds"].as_u64() == Some(spec.stores.into());
        if are_up && manager["available"] == true {
            return Ok(());
        }
        if Instant::now() >= deadline {
            bail!(
                "the cluster is not complete after {} s ({} of {} stores are up); this machine may \
                 be too busy or short of memory",
                PATIENCE.as_secs(),
                stores["num_up_osds"],
                spec.stores
            );
        }
        ensure_all_run(layout, processes)?;
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A process that ended at once has written the reason to its log.
fn ensure_all_run(layout: &Layout, processes: &mut Processes) -> Result<()> {
    match processes.dismiss_ended().first() {
        None => Ok(()),
        Some((name, ending)) => {
            let log = fs::read_to_string(layout.log_of(name)).unwrap_or_default();
            let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
            bail!("{name} ended at its start with {ending}; the last that it said: {}", last.trim())
        }
    }
}
