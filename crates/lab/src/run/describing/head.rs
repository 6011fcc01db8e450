//! The head of a study: what is known of it beside its runs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use assay_plan::{Experiment, PlannedTrial, ReadPlan};
use assay_study::{Note, Store, StudyHead};

use super::configs;
use crate::run::checking::sessions;
use crate::run::site::Described;

/// Opens the study in that directory, writes its head and plans its runs.
///
/// # Errors
/// A store that cannot be written, or that was made by another plan.
pub fn open_store(
    study: &Path,
    (experiment, read): (&Experiment, &ReadPlan),
    planned: &[PlannedTrial],
    described: &Described,
) -> Result<Store> {
    let mut store = Store::open_or_create(study)?;
    for trial in planned {
        store.plan_trial(&trial.key, trial.position, &trial.fingerprint)?;
    }
    // After its runs: a session that nobody planned would look like a damaged study.
    sessions::keep(&store, experiment.sessions())?;
    write(&mut store, experiment, read, Some(described))?;
    store.reset_interrupted()?;
    store.forget_unplanned(|key| planned.iter().any(|trial| trial.key == *key))?;
    if described.is_on_studys_disk {
        store.note(Note::OnMeasuredDisk)?;
    }
    Ok(store)
}

/// The machines of a study, if there are several.
fn hosts(experiment: &Experiment) -> BTreeMap<String, String> {
    let loads: Vec<&str> = experiment.load_hosts.iter().map(|host| host.ssh.as_str()).collect();
    let server =
        experiment.server_host.as_ref().map(|host| ("server_host".to_owned(), host.ssh.clone()));
    let loads = (!loads.is_empty()).then(|| ("load_hosts".to_owned(), loads.join(", ")));
    server.into_iter().chain(loads).collect()
}

/// Brings the head of a study in which nothing is missing up to its plan, as far as that can change
/// no result. Facts and configurations stay as they were when its runs ran.
///
/// # Errors
/// A store that cannot be written.
pub fn retell(store: &mut Store, experiment: &Experiment, read: &ReadPlan) -> Result<()> {
    write(store, experiment, read, None)
}

/// Writes it; of a site that nobody looked at, what was known of it stays.
fn write(
    store: &mut Store,
    experiment: &Experiment,
    read: &ReadPlan,
    described: Option<&Described>,
) -> Result<()> {
    let mut facts = BTreeMap::new();
    if let Some(described) = described {
        facts.extend(described.facts.clone());
        facts.extend(hosts(experiment));
        let server = experiment.server.iter().map(|path| path.display().to_string());
        facts.extend(server.map(|path| ("server_asked".to_owned(), path)));
    }
    store.write_head(&StudyHead {
        title: &experiment.title,
        question: experiment.question.as_deref(),
        plan_toml: &read.text,
        form: read.form.as_deref(),
        paper: experiment.paper.as_ref(),
        facts: &facts,
        calibration: described.map(|one| &one.calibration),
        configs: described.map_or(&[], |one| &one.configs),
        workloads: &configs::workloads(experiment),
        judging: &experiment.judging,
        prices: experiment.prices.as_ref(),
    })
}
