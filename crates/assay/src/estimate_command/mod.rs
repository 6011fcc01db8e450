//! `assay estimate PATH…`: prints how far existing data would shrink.

mod json;
mod progress;
#[cfg(test)]
mod tests;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::print;
use assay_base::Size;
use assay_estimate::{Amount, Estimate, EstimateRequest, folded};
use assay_system::interrupt::Interrupt;
use progress::ProgressLine;

/// Number of files in the table without `--all`.
const SHOWN_FILES: usize = 20;

/// Niceness of the command, so that a running server keeps its CPUs (nice(2)).
const NICENESS: i32 = 10;

/// Estimate how well existing data would compress, without changing them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay estimate /var/lib/mysql                    a sample, in about a minute
  assay estimate --full /var/lib/mysql/shop        every byte of one database
  assay estimate --sample 4G --json /dev/nvme1n1   of a device, for a program

The server may be running. Ratios are data bytes per stored byte; docs/estimate.md explains each \
column and its limits.

Exit codes: 0 success, 2 error, or more files skipped than read.")]
pub(crate) struct EstimateArgs {
    /// Data directories, files or block devices
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read everything
    #[arg(long, conflicts_with = "sample")]
    full: bool,
    /// Size of the random sample
    #[arg(long, value_name = "BYTES", default_value = "512M", value_parser = Size::parse)]
    sample: Size,
    /// Follow symbolic links that lead outside the named paths
    #[arg(long)]
    follow: bool,
    /// Seed of the sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads [default: one per CPU]
    #[arg(long)]
    threads: Option<usize>,
    /// Show every file, not only the largest
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl EstimateArgs {
    fn request(&self) -> EstimateRequest {
        EstimateRequest {
            paths: self.paths.clone(),
            follows_links: self.follow,
            amount: if self.full { Amount::Everything } else { Amount::Sample(self.sample) },
            seed: self.seed,
            threads: self.threads.unwrap_or_else(all_cpus),
        }
    }
}

/// Makes an estimate and prints it.
pub(crate) fn run(args: &EstimateArgs) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    // Without the right to be nicer, the estimate runs at the present niceness.
    let _ = rustix::process::nice(NICENESS);
    let estimate = Estimate::make(&args.request(), &interrupt, &ProgressLine::new())?;
    match args.json {
        true => print::line(serde_json::to_string_pretty(&json::document(&estimate))?),
        false => print_table(&estimate, args.all),
    }
    Ok(if estimate.is_mostly_skipped() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn print_table(estimate: &Estimate, all: bool) {
    let most = if all { usize::MAX - 1 } else { SHOWN_FILES };
    print::line(text::table(&folded(estimate.rows.clone(), most), &estimate.total));
    let lines = text::meaning(&estimate.total, estimate.sample)
        .into_iter()
        .chain(text::warnings(&estimate.rows))
        .chain(text::encrypted_below(&estimate.encrypting))
        .chain(text::skipped(estimate.findings.skipped.len(), estimate.total.files));
    lines.for_each(print::line);
}

fn all_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
