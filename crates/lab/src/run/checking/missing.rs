//! The runs of a plan that a study lacks, found without changing anything: before a run makes its
//! first directory, and for a dry run.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, anyhow, bail};

use assay_plan::{Change, Partners, PlannedTrial, changes};
use assay_study::{RunState, Store, Study, Trial, TrialKey, Warning};

/// Finished runs to repeat.
#[derive(Debug, Clone, Copy, Default)]
pub struct Retry {
    pub failed: bool,
    /// Those that may not be compared.
    pub flagged: bool,
}

/// A study takes one plan: it may grow, but runs of two would make one report of what nobody
/// compared.
fn refuse_another_plan(directory: &Path, planned: &[PlannedTrial], trials: &[Trial]) -> Result<()> {
    let is_planned = |key: &TrialKey| planned.iter().any(|trial| trial.key == *key);
    let is_finished = |trial: &&Trial| matches!(trial.state, RunState::Done | RunState::Failed);
    let finished: Vec<&Trial> = trials.iter().filter(is_finished).collect();
    let strangers: Vec<&&Trial> = finished.iter().filter(|trial| !is_planned(&trial.key)).collect();
    let Some(first) = strangers.first() else { return Ok(()) };
    if strangers.len() == finished.len() {
        bail!(
            "{} is the study of another plan: none of its {} finished runs is in this one; give \
            another --out",
            directory.display(),
            finished.len()
        );
    }
    bail!(
        "{} has {} finished runs that this plan does not have, e.g. {}; put them back into the \
        plan, or give another --out",
        directory.display(),
        strangers.len(),
        first.key
    )
}

/// Returns true if a run is not comparable.
fn is_not_comparable(trial: &Trial) -> bool {
    trial.warnings.iter().any(Warning::forbids_comparing)
}

/// The most changes of a plan that are named.
const CHANGES_NAMED: usize = 4;

/// A study that was made under other conditions: what the plan said then, and says now.
fn explain(error: anyhow::Error, study: &Study, plan_text: &str) -> anyhow::Error {
    let changed = changes(&study.plan_toml, plan_text);
    if changed.is_empty() {
        // The plan is as it was, so what was given with the command is not.
        let place =
            study.facts.get("location").map_or_else(String::new, |place| format!(" ({place})"));
        return anyhow!(
            "the study was made with another --location{place}, --server or --quick: give the \
            same again, or another --out"
        );
    }
    let not = || "absent".to_owned();
    let told = changed.iter().take(CHANGES_NAMED).map(|Change { key, before, after }| {
        let (before, after) =
            (before.clone().unwrap_or_else(not), after.clone().unwrap_or_else(not));
        format!("{key} was {before} and is {after}")
    });
    let more = changed.len().saturating_sub(CHANGES_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    anyhow!("{error}; {}{more}", told.collect::<Vec<_>>().join("; "))
}

/// The runs of `planned` that the study in `directory` would run, in their order; with a flagged
/// run those that it is compared with, and with a missing one those that are made at once with it,
/// so that a difference stays one of runs side by side. A directory without a study lacks all.
/// `plan_text` is what the plan is written like, to say what has changed of it.
///
/// # Errors
/// A study that was made by another plan, or that cannot be read.
pub fn missing<'a>(
    directory: &Path,
    planned: &'a [PlannedTrial],
    partners: &Partners<'a>,
    plan_text: &str,
    retry: Retry,
) -> Result<Vec<&'a PlannedTrial>> {
    let Some(store) = Store::look(directory)? else { return Ok(planned.iter().collect()) };
    let study = store.study()?;
    let trials = &study.trials;
    refuse_another_plan(directory, planned, trials)?;
    let flagged = trials.iter().filter(|trial| is_not_comparable(trial));
    let flagged = partners.completed(flagged.map(|trial| trial.key.clone()));
    let mut missing: Vec<&PlannedTrial> = Vec::new();
    for trial in planned {
        let found = store.planned(&trial.key, &trial.fingerprint);
        let is_missing = match found.map_err(|error| explain(error, &study, plan_text))? {
            // A run marked as running while nobody holds the study was interrupted.
            None | Some(RunState::Pending | RunState::Running) => true,
            Some(RunState::Failed) => retry.failed,
            Some(RunState::Done) => retry.flagged && flagged.contains(&trial.key),
        };
        if is_missing {
            missing.push(trial);
        }
    }
    let starts: BTreeSet<u32> = missing.iter().map(|trial| trial.start).collect();
    Ok(planned.iter().filter(|trial| starts.contains(&trial.start)).collect())
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
        PlannedTrial {
            key,
            workload,
            variant,
            position: threads,
            start: threads,
            fingerprint: fingerprint.into(),
        }
    }

    /// Runs that nothing is compared with.
    fn alone(trials: &[PlannedTrial]) -> Partners<'_> {
        Partners::of_pairs(trials, Vec::new())
    }

    /// A study of five runs: one done, one failed, one interrupted, one only planned, one unknown
    /// to the store.
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
        let threads = |failed| {
            let retry = Retry { failed, flagged: false };
            let missing = missing(directory.path(), &trials, &alone(&trials), "", retry).unwrap();
            missing.iter().map(|trial| trial.key.threads).collect::<Vec<_>>()
        };
        assert_eq!(threads(false), [3, 4, 5]);
        assert_eq!(threads(true), [2, 3, 4, 5]);
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn a_study_takes_one_plan() {
        let (directory, trials) = study();
        let told = |planned: &[PlannedTrial]| {
            missing(directory.path(), planned, &alone(planned), "", Retry::default())
                .unwrap_err()
                .to_string()
        };
        let other = planned(99, "f");
        let all_other = told(std::slice::from_ref(&other));
        assert!(
            all_other.contains("is the study of another plan: none of its 2 finished"),
            "{all_other}"
        );
        let without_first = told(&trials[1..]);
        assert!(
            without_first.contains(
                "has 1 finished runs that this plan does not have, e.g. a / w / 1 thread / repeat 1"
            ),
            "{without_first}"
        );
        let grown: Vec<_> = trials[..2].iter().cloned().chain([other]).collect();
        assert_eq!(
            missing(directory.path(), &grown, &alone(&grown), "", Retry::default()).unwrap().len(),
            1
        );
    }

    #[test]
    fn a_changed_plan_is_refused_with_what_has_changed() {
        let error = || anyhow!("the plan differs");
        let of = |text: &str| Study { plan_toml: text.into(), ..Study::default() };
        let told =
            explain(error(), &of("seconds = 10"), "seconds = 6\nwarmup_seconds = 2").to_string();
        assert_eq!(
            told,
            "the plan differs; seconds was 10 and is 6; warmup_seconds was absent and is 2"
        );
        let mut same = of("a = 1");
        same.facts.insert("location".into(), "/mnt/disk".into());
        let told = explain(error(), &same, "a = 1").to_string();
        assert!(told.contains("another --location (/mnt/disk), --server or --quick"), "{told}");
    }

    #[test]
    fn a_study_of_another_plan_is_refused_and_none_lacks_all() {
        let (directory, _trials) = study();
        let changed = [planned(1, "g"), planned(2, "f")];
        let error = missing(directory.path(), &changed, &alone(&changed), "", Retry::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("made with another --location"), "{error}");
        let nowhere = directory.path().join("nowhere");
        let all = [planned(1, "g")];
        let missing = missing(&nowhere, &all, &alone(&all), "", Retry::default());
        assert_eq!(missing.unwrap().len(), 1);
        assert!(!nowhere.exists());
    }
}
