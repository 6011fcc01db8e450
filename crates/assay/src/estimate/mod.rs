//! `assay estimate PATH…`: how far existing data would shrink, on the drive and elsewhere.
//!
//! The way of an estimate: `find` (which files) → `survey` (their sizes, holes and first bytes) → `sample` (which
//! clusters) → `measure` (reads them; `shrink` stores each under every configuration; `tally` adds up) → `view` →
//! `text`, `json`. Guarantees: nothing is changed, not even access times; a running server is not disturbed; what is not
//! read is in the stated error.

mod configs;
mod find;
mod json;
mod measure;
mod progress;
mod sample;
mod shrink;
mod source;
mod survey;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod vdo;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use assay_audit::stack::encrypting_below;
use clap::Args;

use crate::print;
use assay_base::Size;
use assay_system::interrupt::Interrupt;
use find::Findings;
use measure::{Outcome, Task};
use progress::Progress;
use source::CLUSTER_BYTES;
use survey::Surveyed;
use text::Drawn;

/// Files in the table unless all are asked for.
const SHOWN_FILES: usize = 20;

/// How much less important than a server we are for CPUs (nice(2)).
const NICENESS: i32 = 10;

/// Estimate how well existing data would compress, without changing them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay estimate /var/lib/mysql                    a sample, in about a minute
  assay estimate --full /var/lib/mysql/shop        every byte of one database
  assay estimate --sample 4G --json /dev/nvme1n1   of a device, for a program

The server may be running. Ratios are data bytes per stored byte; docs/estimate.md explains each column and its limits.

Exit codes: 0 success, 2 error, or more files skipped than read.")]
pub struct EstimateArgs {
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

/// Makes an estimate and prints it.
///
/// # Errors
/// A path that is not there; nothing that could be read; interrupted.
pub fn run(args: &EstimateArgs) -> Result<ExitCode> {
    let interrupt = Interrupt::listen()?;
    // A system that refuses this can do without.
    let _ = rustix::process::nice(NICENESS);
    let estimate = Estimate::make(args, &interrupt)?;
    match args.json {
        true => print::line(serde_json::to_string_pretty(&estimate.json())?),
        false => estimate.print(args.all),
    }
    Ok(if estimate.is_of_little() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// An estimate that has been made.
struct Estimate {
    findings: Findings,
    rows: Vec<view::Row>,
    total: view::Row,
    drawn: Drawn,
    /// Devices below the named paths that encrypt.
    encrypting: Vec<String>,
}

impl Estimate {
    fn make(args: &EstimateArgs, interrupt: &Interrupt) -> Result<Estimate> {
        let mut findings = find::find(&args.paths, args.follow)?;
        let files = survey(&mut findings, interrupt)?;
        if files.is_empty() {
            report(&findings);
            bail!("nothing could be read; name readable files, directories or block devices");
        }
        let clusters: Vec<u64> = files.iter().map(|file| file.clusters.count()).collect();
        let budget = if args.full { u64::MAX } else { budget(args.sample, &files)? };
        let strata = sample::strata(&clusters, budget);
        let drawn = Drawn { clusters: strata.iter().map(|one| one.draws).sum(), seed: args.seed };
        let threads = args.threads.unwrap_or_else(all_cpus);
        let task = Task { files: &files, strata: &strata, seed: args.seed, threads };
        let progress = Progress::new(drawn.clusters);
        let outcome = task.carry_out(interrupt, &|clusters| progress.done(clusters))?;
        drop(progress);
        note_failures(&files, &outcome, &mut findings);
        report(&findings);
        let (rows, total) = view::rows(&files, &outcome, &args.paths);
        if total.data_bytes > 0.0 && total.tally.read_bytes == 0.0 {
            bail!("none of the {} files could be read", files.len());
        }
        let mut encrypting: Vec<_> =
            args.paths.iter().filter_map(|path| encrypting_below(path)).collect();
        encrypting.sort();
        encrypting.dedup();
        Ok(Estimate { findings, rows, total, drawn, encrypting })
    }

    fn json(&self) -> serde_json::Value {
        let mut document = json::document(&self.rows, &self.total, &self.findings, self.drawn);
        document["encrypting_devices"] = self.encrypting.clone().into();
        document
    }

    fn print(&self, all: bool) {
        let most = if all { usize::MAX - 1 } else { SHOWN_FILES };
        print::line(text::table(&view::folded(self.rows.clone(), most), &self.total));
        for line in text::meaning(&self.total, self.drawn) {
            print::line(line);
        }
        for line in
            text::warnings(&self.rows).into_iter().chain(text::encrypted_below(&self.encrypting))
        {
            print::line(line);
        }
        if let Some(line) = text::skipped(self.findings.skipped.len(), self.total.files) {
            print::line(line);
        }
    }

    /// Whether more was skipped than read: then the ratios tell little of what was named.
    fn is_of_little(&self) -> bool {
        self.findings.skipped.len() > self.total.files
    }
}

/// Looks at every file; those that cannot be opened go to the skipped ones.
fn survey(findings: &mut Findings, interrupt: &Interrupt) -> Result<Vec<Surveyed>> {
    let mut files = Vec::with_capacity(findings.files.len());
    for path in &findings.files {
        interrupt.check()?;
        match Surveyed::look(path) {
            Ok(file) => files.push(file),
            // Files of a running server come and go.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => findings.skipped.push((path.clone(), error.to_string())),
        }
    }
    Ok(files)
}

/// How many clusters may be read. Those of small files hold less than a cluster, so that as many bytes are more of them.
fn budget(sample: Size, files: &[Surveyed]) -> Result<u64> {
    if sample.0 / CLUSTER_BYTES < 2 {
        bail!("a sample of {sample} is too small; use 256K or more, 512M for a data directory");
    }
    let clusters: u64 = files.iter().map(|file| file.clusters.count()).sum();
    let data = files.iter().map(|file| file.data_bytes.unwrap_or(file.allocated_bytes));
    let data_bytes = data.sum::<u64>().clamp(1, clusters.saturating_mul(CLUSTER_BYTES).max(1));
    let budget = u128::from(sample.0) * u128::from(clusters) / u128::from(data_bytes);
    Ok(u64::try_from(budget).unwrap_or(u64::MAX).max(2))
}

fn all_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn note_failures(files: &[Surveyed], outcome: &Outcome, findings: &mut Findings) {
    for (file, reason) in &outcome.failed {
        findings.skipped.push((files[*file].path.clone(), reason.clone()));
    }
}

/// What was left out, and what was followed.
fn report(findings: &Findings) {
    for (path, reason) in &findings.skipped {
        print::note(format_args!("assay: skipped {}: {reason}", path.display()));
    }
    for (link, target) in &findings.links {
        print::note(format_args!(
            "assay: {} leads to {}, which is included",
            link.display(),
            target.display()
        ));
    }
}
