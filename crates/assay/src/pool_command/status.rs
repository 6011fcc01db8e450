//! `assay pool status`: prints a cluster's state, stores and pools.

use std::process::ExitCode;

use anyhow::Result;
use assay_pool::figures;
use clap::Args;

use super::{ClusterArgs, show};
use crate::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool status
  assay pool status --json | jq '.pools[] | {pool, stored_bytes, used_bytes}'
  assay pool status --ceph-conf /etc/ceph/ceph.conf

Figures are Ceph's own, a few seconds old. docs/how-to/pool.md explains every JSON key.

Exit codes: 0 every object has all its copies, 1 some are degraded or a store is down, 2 unknown.")]
pub(super) struct StatusArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the figures. Exit code 1 if something is degraded.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode> {
    let cluster = args.cluster.connect()?;
    let figures = figures::ask(&cluster)?;
    match args.json {
        true => print::line(serde_json::to_string(&figures)?),
        false => print::line(show::whole(&cluster.access().conf, &figures)),
    }
    let is_well = figures.clean && figures.stores.iter().all(|store| store.up);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
