//! One run, on whatever it stands: to its end, whatever goes wrong.

use anyhow::{Context, Result};

use super::{existing_server, files_trial, own_server};
use crate::run::progress::Progress;
use crate::run::setup::Setup;
use crate::run::site::{Described, Site};
use assay_base::text::on_one_line;
use assay_plan::{PlannedTrial, RigKind, WorkloadSpec};
use assay_study::Outcome;

impl Site for Setup<'_> {
    fn described(&self) -> Result<Described> {
        Setup::described(self)
    }

    fn make_run(&mut self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome> {
        self.loads.make_ready()?;
        Ok(run(self, trial, progress))
    }

    fn take_down(self: Box<Self>) -> Result<()> {
        Setup::take_down(*self)
    }
}

/// Makes one run, to its end. Whatever goes wrong is in the outcome, beside what was seen until then.
pub(crate) fn run(setup: &mut Setup<'_>, trial: &PlannedTrial, progress: &dyn Progress) -> Outcome {
    let mut outcome = Outcome::default();
    progress.begin_trial(&trial.key);
    if let Err(error) = make(setup, trial, progress, &mut outcome) {
        outcome.reason = Some(on_one_line(&format!("{error:#}")));
    }
    outcome
}

fn make(
    setup: &mut Setup<'_>,
    trial: &PlannedTrial,
    progress: &dyn Progress,
    outcome: &mut Outcome,
) -> Result<()> {
    let files = setup.plan.workloads.get(&trial.workload).and_then(WorkloadSpec::files);
    if let Some(fileio) = files {
        return files_trial::run(setup, trial, fileio, progress, outcome);
    }
    let config = setup.configs.get(&trial.variant).context("a run of an unknown configuration")?;
    match config.rig.kind {
        RigKind::Endpoint => existing_server::run(setup, trial, progress, outcome),
        _ => own_server::run(setup, trial, progress, outcome),
    }
}
