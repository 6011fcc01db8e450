//! What a study still lacks of a plan, asked without changing anything: before a run makes its first folder, and all that a
//! dry run tells.

use std::path::Path;

use anyhow::Result;

use assay_plan::PlannedCell;
use assay_study::{State, Store};

/// The cells of `planned` that the study in `folder` would run, in their order. A folder without a study lacks all.
///
/// # Errors
/// A study that was made by another plan, or that cannot be read.
pub fn missing<'a>(
    folder: &Path,
    planned: &'a [PlannedCell],
    retry_failed: bool,
) -> Result<Vec<&'a PlannedCell>> {
    let Some(store) = Store::look(folder)? else { return Ok(planned.iter().collect()) };
    let mut missing = Vec::new();
    for cell in planned {
        let is_missing = match store.planned(&cell.key, &cell.fingerprint)? {
            // What runs while nobody holds the study was interrupted.
            None | Some(State::Pending | State::Running) => true,
            Some(State::Failed) => retry_failed,
            Some(State::Done) => false,
        };
        if is_missing {
            missing.push(cell);
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::FootingKey;
    use assay_study::{CellKey, Outcome};

    fn planned(threads: u32, fingerprint: &str) -> PlannedCell {
        let key = CellKey { arm: "a".into(), workload: "w".into(), threads, repeat: 1 };
        let footing = FootingKey { arm: "a".into(), data_set: None };
        let workload = "w".to_owned();
        PlannedCell { key, workload, footing, position: threads, fingerprint: fingerprint.into() }
    }

    /// Of five cells: one done, one failed, one interrupted, one only planned, one that the store does not know.
    fn study() -> (tempfile::TempDir, Vec<PlannedCell>) {
        let folder = tempfile::tempdir().unwrap();
        let cells: Vec<_> = (1..=5).map(|threads| planned(threads, "f")).collect();
        let mut store = Store::open_or_create(folder.path()).unwrap();
        for cell in &cells[..4] {
            store.plan_cell(&cell.key, cell.position, &cell.fingerprint).unwrap();
        }
        for (cell, reason) in [(&cells[0], None), (&cells[1], Some("it broke".to_owned()))] {
            store.begin_cell(&cell.key).unwrap();
            store.end_cell(&cell.key, &Outcome { reason, ..Outcome::default() }).unwrap();
        }
        store.begin_cell(&cells[2].key).unwrap();
        (folder, cells)
    }

    #[test]
    fn what_is_done_is_not_missing_and_looking_changes_nothing() {
        let (folder, cells) = study();
        let path = folder.path().join(assay_study::FILE_NAME);
        let before = std::fs::read(&path).unwrap();
        let threads = |retry_failed| {
            let missing = missing(folder.path(), &cells, retry_failed).unwrap();
            missing.iter().map(|cell| cell.key.threads).collect::<Vec<_>>()
        };
        assert_eq!(threads(false), [3, 4, 5]);
        assert_eq!(threads(true), [2, 3, 4, 5]);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_study_of_another_plan_is_refused_and_none_lacks_all() {
        let (folder, _cells) = study();
        let error = missing(folder.path(), &[planned(1, "g")], false).unwrap_err().to_string();
        assert!(error.contains("the plan differs from the one that"), "{error}");
        let nowhere = folder.path().join("nowhere");
        assert_eq!(missing(&nowhere, &[planned(1, "g")], false).unwrap().len(), 1);
        assert!(!nowhere.exists());
    }
}
