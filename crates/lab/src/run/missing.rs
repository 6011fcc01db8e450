//! What a study still lacks of a plan, asked without changing anything: before a run makes its first directory, and all
//! that a dry run tells.

use std::path::Path;

use anyhow::Result;

use assay_plan::PlannedTrial;
use assay_study::{State, Store};

/// The runs of `planned` that the study in `directory` would run, in their order. A directory without a study lacks all.
///
/// # Errors
/// A study that was made by another plan, or that cannot be read.
pub fn missing<'a>(
    directory: &Path,
    planned: &'a [PlannedTrial],
    retry_failed: bool,
) -> Result<Vec<&'a PlannedTrial>> {
    let Some(store) = Store::look(directory)? else { return Ok(planned.iter().collect()) };
    let mut missing = Vec::new();
    for trial in planned {
        let is_missing = match store.planned(&trial.key, &trial.fingerprint)? {
            // What runs while nobody holds the study was interrupted.
            None | Some(State::Pending | State::Running) => true,
            Some(State::Failed) => retry_failed,
            Some(State::Done) => false,
        };
        if is_missing {
            missing.push(trial);
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::VariantKey;
    use assay_study::{Outcome, TrialKey};

    fn planned(threads: u32, fingerprint: &str) -> PlannedTrial {
        let key = TrialKey { config: "a".into(), workload: "w".into(), threads, repeat: 1 };
        let variant = VariantKey { config: "a".into(), data_profile: None };
        let workload = "w".to_owned();
        PlannedTrial { key, workload, variant, position: threads, fingerprint: fingerprint.into() }
    }

    /// Of five runs: one done, one failed, one interrupted, one only planned, one that the store does not know.
    fn study() -> (tempfile::TempDir, Vec<PlannedTrial>) {
        let directory = tempfile::tempdir().unwrap();
        let trials: Vec<_> = (1..=5).map(|threads| planned(threads, "f")).collect();
        let mut store = Store::open_or_create(directory.path()).unwrap();
        for trial in &trials[..4] {
            store.plan_trial(&trial.key, trial.position, &trial.fingerprint).unwrap();
        }
        for (trial, reason) in [(&trials[0], None), (&trials[1], Some("it broke".to_owned()))] {
            store.begin_trial(&trial.key).unwrap();
            store.end_trial(&trial.key, &Outcome { reason, ..Outcome::default() }).unwrap();
        }
        store.begin_trial(&trials[2].key).unwrap();
        (directory, trials)
    }

    #[test]
    fn what_is_done_is_not_missing_and_looking_changes_nothing() {
        let (directory, trials) = study();
        let path = directory.path().join(assay_study::FILE_NAME);
        let before = std::fs::read(&path).unwrap();
        let threads = |retry_failed| {
            let missing = missing(directory.path(), &trials, retry_failed).unwrap();
            missing.iter().map(|trial| trial.key.threads).collect::<Vec<_>>()
        };
        assert_eq!(threads(false), [3, 4, 5]);
        assert_eq!(threads(true), [2, 3, 4, 5]);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_study_of_another_plan_is_refused_and_none_lacks_all() {
        let (directory, _trials) = study();
        let error = missing(directory.path(), &[planned(1, "g")], false).unwrap_err().to_string();
        assert!(error.contains("the plan differs from the one that"), "{error}");
        let nowhere = directory.path().join("nowhere");
        assert_eq!(missing(&nowhere, &[planned(1, "g")], false).unwrap().len(), 1);
        assert!(!nowhere.exists());
    }
}
