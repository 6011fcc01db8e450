//! `assay pool run`: runs one of Ceph's tools on a cluster, installed or downloaded.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use assay_pool::{locate, programs};
use clap::Args;

use super::ClusterArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool run ceph -s
  assay pool run rbd ls rep
  assay pool run rbd bench --io-type write --io-size 16K rep/vol
  assay pool run --ceph-conf second rados df

The tool gets the cluster's configuration file with -c, and its exit code is this command's.")]
pub(super) struct RunArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The tool and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "TOOL"
    )]
    words: Vec<OsString>,
}

/// Replaces this process by the tool.
///
/// # Errors
/// There is no such cluster or tool.
pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let conf = locate::conf(args.cluster.ceph_conf.as_deref())?;
    let programs = programs::find()?
        .context("Ceph's tools are not here; install ceph-common, or run `assay pool fetch`")?;
    programs.hold()?;
    let (tool, words) = args.words.split_first().context("name a tool")?;
    let tool = tool.to_str().context("name a tool")?;
    let mut command = programs.tool_command(tool, &conf)?;
    if let Some(user) = &args.cluster.ceph_user {
        command.args(["--id", user]);
    }
    let error = command.args(words).exec();
    Err(anyhow!("{tool} cannot be started: {error}"))
}
