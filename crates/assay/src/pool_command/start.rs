//! `assay pool start` and `stop`: starts a private cluster, and stops it and deletes its data.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use assay_pool::{Spec, programs, registry};
use assay_ports::rbd::ImageName;
use assay_serve::registry as attached;
use clap::Args;

use super::NAME;
use crate::print;
use assay_base::Size;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool start
  assay pool start --stores 4 --store-size 20G --directory /mnt/nvme
  assay pool start --name second --json | jq -r .ceph_conf

Where no Ceph is installed, the distribution's packages are downloaded into the cache and run from \
there. Stores are files that take space as they fill.")]
pub(super) struct StartArgs {
    /// Name of the cluster
    #[arg(long, default_value = NAME)]
    name: String,
    /// Number of object stores, 3 to 16
    #[arg(long, default_value_t = 3)]
    stores: u16,
    /// Largest amount of data in each store
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = Size::parse)]
    store_size: Size,
    /// Keep everything in a new directory inside this one [default: the state directory]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool stop
  assay pool stop --name second

Deletes all pools and images of the cluster. Refused while one of its images is attached.")]
pub(super) struct StopArgs {
    /// The private cluster
    #[arg(long, default_value = NAME)]
    name: String,
}

/// Starts the cluster and prints the path of its configuration file. If that fails, nothing is
/// left.
pub(super) fn run(args: &StartArgs) -> Result<ExitCode> {
    let spec = Spec {
        name: args.name.clone(),
        stores: args.stores,
        store_bytes: args.store_size.0 / BLOCK * BLOCK,
    };
    spec.check()?;
    programs::find_or_fetch(&|line| print::note(line))?;
    let step = |step: &str| print::note(format_args!("assay: {step}"));
    let started = assay_pool::start(&spec, args.directory.as_deref(), &step)?;
    if args.json {
        print::line(serde_json::to_string(&started)?);
        return Ok(ExitCode::SUCCESS);
    }
    print::note(format_args!(
        "assay: {} stores after {:.0} s, {}",
        args.stores, started.seconds, started.version
    ));
    print::line(started.ceph_conf.display());
    Ok(ExitCode::SUCCESS)
}

/// A store's size is rounded down to a multiple of this.
const BLOCK: u64 = 4096;

/// Stops the cluster.
///
/// # Errors
/// The cluster does not run, or one of its images is attached on this machine.
pub(super) fn stop(args: &StopArgs) -> Result<ExitCode> {
    let private = registry::find(&args.name)?
        .with_context(|| format!("no private cluster {} runs; nothing to do", args.name))?;
    let conf = private.conf();
    let is_ours = |attached: &attached::RegisteredDrive| {
        let image = ImageName::parse(&attached.media);
        attached.owner.is_some() && image.is_some_and(|image| image.conf.as_ref() == Some(&conf))
    };
    let held = attached::all()?.into_iter().find(is_ours);
    ensure!(
        held.is_none(),
        "{} is attached; detach it first with `assay pool detach {0}`",
        held.and_then(|attached| ImageName::parse(&attached.media))
            .map(|image| image.short())
            .unwrap_or_default()
    );
    private.stop()?;
    print::line(format_args!(
        "the cluster {} is stopped, and all that it kept is deleted",
        args.name
    ));
    Ok(ExitCode::SUCCESS)
}
