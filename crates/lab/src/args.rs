//! What was typed.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::clean::CleanArgs;
use crate::drive::DriveArgs;
use crate::estimate::EstimateArgs;
use crate::models::ModelsArgs;
use crate::report_command::ReportArgs;
use crate::run::{DemoArgs, RunArgs};
use crate::server_command::ServerArgs;

/// Find out what a storage device is really worth under MySQL
#[derive(Debug, Parser)]
#[command(name = "assay", version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  assay demo                              a first report from this machine's disk, in a few minutes
  assay run plans/demo.toml --out study   runs what is missing of a plan
  assay report study                      writes report.html again
  assay estimate /var/lib/mysql           how far its tables would shrink, server running or not
  assay load oltp_read_write --mysql-socket=/run/mysqld/mysqld.sock --time=60 run

Exit codes: 0 done, 1 a negative verdict, 2 could not.")]
pub struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a small study of this machine's disk and write its report
    Demo(DemoArgs),
    /// Run what is missing of a plan
    Run(RunArgs),
    /// Write report.html, results.json and the tables of a study again
    Report(ReportArgs),
    /// Estimate how far existing data would shrink, without changing them
    Estimate(EstimateArgs),
    /// Load any MySQL endpoint as sysbench does
    #[command(disable_help_flag = true)]
    Load {
        /// A sysbench command line
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// List the server programs that can be used, or bring one
    Server(ServerArgs),
    /// The software drive by itself, as a block device
    Drive(DriveArgs),
    /// List devices as data, and show models of them that keep time
    Models(ModelsArgs),
    /// Remove what interrupted runs left behind
    Clean(CleanArgs),
}
