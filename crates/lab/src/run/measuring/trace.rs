//! The trace of a run: the commands of its model, stored in the study with the measuring window.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use assay_models::{Trace, window_record};

use assay_plan::{PlannedRig, PlannedTrial};
use assay_serve::{TraceHead, monotonic_s};
use assay_study::metrics::Window;

const DIRECTORY: &str = "traces";

/// The file of the run's trace, if its rig records one; that of an earlier try is removed.
///
/// # Errors
/// The directory cannot be made, or the former trace not removed.
pub fn place(study: &Path, rig: &PlannedRig, trial: &PlannedTrial) -> Result<Option<PathBuf>> {
    if !rig.model().is_some_and(|model| model.trace) {
        return Ok(None);
    }
    let directory = study.join(DIRECTORY);
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let path = directory.canonicalize()?.join(file_name(trial));
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(Some(path)),
    }
}

/// Contains the run's position: names may differ only in characters that a file's name cannot have.
fn file_name(trial: &PlannedTrial) -> String {
    let key = &trial.key;
    let words = format!("{} {} {} {}", key.config, key.workload, key.threads, key.repeat);
    let words = words.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("{:03}-{}.trace", trial.position, words.join("-").to_lowercase())
}

/// Appends the measuring window to a finished trace, in seconds of the clock that started at
/// `origin`.
///
/// # Errors
/// The trace cannot be read or written.
pub fn mark_window(path: &Path, origin: Instant, window: Window) -> Result<()> {
    let origin_s = monotonic_s() - origin.elapsed().as_secs_f64();
    let mark = || -> Result<()> {
        let head = TraceHead::parse(&Trace::read_text(File::open(path)?)?)?;
        let at = |seconds| head.on_clock(origin_s + seconds);
        let record = window_record(at(window.from_s), at(window.to_s));
        Ok(OpenOptions::new().append(true).open(path)?.write_all(&record)?)
    };
    mark().with_context(|| format!("cannot tell {} its measuring window", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::VariantKey;
    use assay_study::TrialKey;

    #[test]
    fn trials_have_names_that_any_file_system_takes() {
        let key = TrialKey {
            config: "CSD, doublewrite off/../x".into(),
            workload: "read_write".into(),
            threads: 8,
            repeat: 2,
        };
        let variant = VariantKey { config: key.config.clone(), data_profile: None };
        let workload = key.workload.clone();
        let trial = PlannedTrial {
            key,
            workload,
            variant,
            position: 7,
            start: 7,
            fingerprint: String::new(),
        };
        assert_eq!(file_name(&trial), "007-csd-doublewrite-off-x-read_write-8-2.trace");
    }
}
