//! How far existing data shrinks, on the software drive and elsewhere.
//!
//! An estimate passes through the modules in this order: [`find`] lists the files, [`survey`]
//! reads their sizes, holes and first bytes, [`sample`] draws clusters, [`measure`] reads them,
//! [`shrink`] stores each under every scheme, [`tally`] adds up, [`rows`] makes the table's rows.
//!
//! Guarantees: nothing is changed, access times included; a running server is not disturbed; the
//! stated error covers everything that was not read.

mod find;
mod measure;
mod rows;
mod sample;
mod schemes;
mod shrink;
mod source;
mod survey;
mod tally;
mod vdo;

use std::path::PathBuf;

use anyhow::{Result, bail};

use assay_audit::stack::encrypting_below;
use assay_base::Size;
use assay_system::interrupt::Interrupt;
pub use find::Findings;
use measure::{MeasureTask, Measurements};
pub use rows::{EstimateRow, FileNote, folded};
pub use schemes::{SCHEME_COUNT, SCHEMES, Scheme, place};
pub use shrink::MeasuredBytes;
pub use source::CLUSTER_BYTES;
use survey::SurveyedFile;
pub use tally::{Shrinkage, Tally};

/// How much of the data is read.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Everything,
    /// A random sample of about this size.
    Sample(Size),
}

/// Input of an estimate.
#[derive(Debug)]
pub struct EstimateRequest {
    /// Data directories, files or block devices.
    pub paths: Vec<PathBuf>,
    /// Follow symbolic links that lead outside `paths`.
    pub follows_links: bool,
    pub amount: Amount,
    /// Seed of the sample.
    pub seed: u64,
    pub threads: usize,
}

/// Receives the progress of an estimate. Its methods are called on the caller's thread.
pub trait EstimateProgress {
    /// `done` of `all` clusters of [`CLUSTER_BYTES`] are measured.
    fn measured(&self, done: u64, all: u64);

    /// Every file is found and read as far as it could be; called before an estimate fails too.
    fn found(&self, findings: &Findings);
}

/// The sample that an estimate rests on.
#[derive(Debug, Clone, Copy)]
pub struct SampleSize {
    /// Number of clusters of [`CLUSTER_BYTES`] that were read.
    pub clusters: u64,
    pub seed: u64,
}

/// A finished estimate.
#[derive(Debug)]
pub struct Estimate {
    pub findings: Findings,
    /// One row for each file, the largest first.
    pub rows: Vec<EstimateRow>,
    pub total: EstimateRow,
    pub sample: SampleSize,
    /// Devices below the named paths that encrypt, sorted.
    pub encrypting: Vec<String>,
}

impl Estimate {
    /// Reads and measures the requested data.
    ///
    /// Fails if a path does not exist, nothing can be read, the sample is smaller than two clusters
    /// or `interrupt` is set.
    pub fn make(
        request: &EstimateRequest,
        interrupt: &Interrupt,
        progress: &dyn EstimateProgress,
    ) -> Result<Estimate> {
        let mut findings = find::find(&request.paths, request.follows_links)?;
        let files = survey(&mut findings, interrupt)?;
        if files.is_empty() {
            progress.found(&findings);
            bail!("nothing could be read; name readable files, directories or block devices");
        }
        let clusters: Vec<u64> = files.iter().map(|file| file.clusters.count()).collect();
        let strata = sample::strata(&clusters, budget(request.amount, &files)?);
        let all = strata.iter().map(|stratum| stratum.draws).sum();
        let sample = SampleSize { clusters: all, seed: request.seed };
        let threads = request.threads;
        let task = MeasureTask { files: &files, strata: &strata, seed: request.seed, threads };
        let measured = task.carry_out(interrupt, &|done| progress.measured(done, all))?;
        note_failures(&files, &measured, &mut findings);
        progress.found(&findings);
        let (rows, total) = rows::rows(&files, &measured, &request.paths);
        if total.data_bytes > 0.0 && total.tally.read_bytes == 0.0 {
            bail!("none of the {} files could be read", files.len());
        }
        Ok(Estimate { findings, rows, total, sample, encrypting: encrypting(&request.paths) })
    }

    /// Returns true if more files were skipped than read: the ratios then say little about the
    /// named data.
    #[must_use]
    pub fn is_mostly_skipped(&self) -> bool {
        self.findings.skipped.len() > self.total.files
    }
}

fn encrypting(paths: &[PathBuf]) -> Vec<String> {
    let mut devices: Vec<_> = paths.iter().filter_map(|path| encrypting_below(path)).collect();
    devices.sort();
    devices.dedup();
    devices
}

/// Surveys every file. Files that cannot be opened become skipped ones.
fn survey(findings: &mut Findings, interrupt: &Interrupt) -> Result<Vec<SurveyedFile>> {
    let mut files = Vec::with_capacity(findings.files.len());
    for path in &findings.files {
        interrupt.check()?;
        match SurveyedFile::look(path) {
            Ok(file) => files.push(file),
            // Files of a running server come and go.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => findings.skipped.push((path.clone(), error.to_string())),
        }
    }
    Ok(files)
}

/// Number of clusters that may be read. Clusters of small files are not full, so the same number of
/// bytes takes more of them.
fn budget(amount: Amount, files: &[SurveyedFile]) -> Result<u64> {
    let Amount::Sample(sample) = amount else { return Ok(u64::MAX) };
    if sample.0 / CLUSTER_BYTES < 2 {
        bail!("a sample of {sample} is too small; use 256K or more, 512M for a data directory");
    }
    let clusters: u64 = files.iter().map(|file| file.clusters.count()).sum();
    let data = files.iter().map(|file| file.data_bytes.unwrap_or(file.allocated_bytes));
    let data_bytes = data.sum::<u64>().clamp(1, clusters.saturating_mul(CLUSTER_BYTES).max(1));
    let budget = u128::from(sample.0) * u128::from(clusters) / u128::from(data_bytes);
    Ok(u64::try_from(budget).unwrap_or(u64::MAX).max(2))
}

fn note_failures(files: &[SurveyedFile], measured: &Measurements, findings: &mut Findings) {
    for (file, reason) in &measured.failed {
        findings.skipped.push((files[*file].path.clone(), reason.clone()));
    }
}
