//! `assay pool`: manages private Ceph clusters, pools and images of any cluster, and attached
//! images.

mod attach;
mod make;
mod run;
mod show;
mod start;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_pool::{control, daemon, locate, programs, registry};
use assay_ports::rbd::Cluster;
use clap::{Args, Subcommand};

use crate::{messages, print};

/// Default name of a private cluster.
const NAME: &str = "pool";

/// Ceph pools: private clusters on this machine, and any cluster's pools and images
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool start                             a private cluster of 3 stores
  assay pool create rep --protect 2            a pool with 2 copies
  assay pool create ec --protect 2+1           an erasure-coded pool
  assay pool image rbd:rep/vol --size 10G
  assay pool attach rbd:rep/vol                print the device: /dev/loop0
  assay drive create rbd:rep/vol2 --capacity 10G   a software drive on an image
  assay pool status
  assay pool run rbd ls rep                    Ceph's own tools
  assay pool kill-store 1                      simulate a crash
  assay pool return-store 1
  assay pool detach rbd:rep/vol
  assay pool stop

A private cluster is for tests and small studies: its monitor, manager and stores run on this \
machine, and stopping it deletes all its data. Each store takes some 600 MiB of memory. An \
existing cluster is named by its configuration file: --ceph-conf /etc/ceph/ceph.conf.")]
pub(crate) struct PoolArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Download Ceph into the private cache; nothing is installed
    Fetch,
    /// Start a private cluster
    Start(start::StartArgs),
    /// Show a cluster's stores and pools, their usage and what is degraded
    Status(status::StatusArgs),
    /// Stop a private cluster and delete all its data
    Stop(start::StopArgs),
    /// Create a pool: replicated or erasure-coded, compressed or not
    Create(make::PoolArgs),
    /// Create an image in a pool
    Image(make::ImageArgs),
    /// Attach an image as a block device
    Attach(attach::AttachArgs),
    /// Detach an image's block device
    Detach(attach::DetachArgs),
    /// Kill a store of a private cluster, as a crash would
    KillStore(StoreArgs),
    /// Run one of Ceph's tools on a cluster, e.g. rbd, rados or ceph
    Run(run::RunArgs),
    /// Restart a store that is down, with the data that it had
    ReturnStore(StoreArgs),
    /// Run a private cluster; the job comes on standard input
    #[command(hide = true)]
    Serve {
        /// Directory of the cluster, shown in lists of processes
        directory: PathBuf,
    },
}

/// A store of a private cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool kill-store 1
  assay pool status                            what is degraded
  assay pool return-store 1")]
struct StoreArgs {
    /// The store's number, from 0
    store: u16,
    /// The private cluster
    #[arg(long, default_value = NAME)]
    name: String,
}

/// Options that name a cluster.
#[derive(Debug, Args)]
struct ClusterArgs {
    /// The cluster: its configuration file, or the name of a private one [default: the private one
    /// that runs, else
    /// /etc/ceph/ceph.conf]
    #[arg(long, value_name = "FILE|NAME")]
    ceph_conf: Option<PathBuf>,
    /// The Ceph user, without the prefix `client.`
    #[arg(long, value_name = "USER")]
    ceph_user: Option<String>,
}

/// Runs the subcommand. Exit code 1 if `status` finds something degraded.
pub(crate) fn run(args: &PoolArgs) -> Result<ExitCode> {
    match &args.action {
        Action::Fetch => fetch(),
        Action::Start(args) => start::run(args),
        Action::Status(args) => status::run(args),
        Action::Stop(args) => start::stop(args),
        Action::Create(args) => make::pool(args),
        Action::Image(args) => make::image(args),
        Action::Attach(args) => attach::run(args),
        Action::Detach(args) => attach::detach(args),
        Action::KillStore(args) => {
            ask(args, control::StoreRequest::KillStore(args.store), "killed")
        }
        Action::ReturnStore(args) => {
            ask(args, control::StoreRequest::ReturnStore(args.store), "started")
        }
        Action::Run(args) => run::run(args),
        Action::Serve { .. } => daemon::run(messages::become_log),
    }
}

fn fetch() -> Result<ExitCode> {
    let programs = programs::find_or_fetch(&|line| print::note(line))?;
    let origin = if programs.are_installed() { "is installed" } else { "is ready" };
    print::line(format_args!("{} {origin} below {}", programs.version, programs.root().display()));
    Ok(ExitCode::SUCCESS)
}

fn ask(args: &StoreArgs, request: control::StoreRequest, done: &str) -> Result<ExitCode> {
    control::ask(&running(&args.name)?.layout, request)?;
    print::line(format_args!("store {} is {done}", args.store));
    Ok(ExitCode::SUCCESS)
}

/// The running private cluster of that name.
fn running(name: &str) -> Result<registry::RegisteredCluster> {
    let found = registry::running()?.into_iter().find(|cluster| cluster.name == name);
    found.with_context(|| {
        format!("no private cluster {name} runs; start one with `assay pool start --name {name}`")
    })
}

impl ClusterArgs {
    fn connect(&self) -> Result<Arc<Cluster>> {
        let conf = locate::conf(self.ceph_conf.as_deref())?;
        let access = locate::access_to(conf, self.ceph_user.as_deref())?;
        Ok(Arc::new(Cluster::connect(&access)?))
    }
}
