//! Checks of phases, and that they go together with the rest of the plan.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use assay_study::Happening;

use super::rates::is_rate;
use super::{ensure_there, is_plain_name};
use crate::document::{PhaseSpec, Plan};

/// No phase lasts longer: a week.
const SECONDS_MOST: f64 = 604_800.0;

/// Checks every phase, and that they go together with the rest of the plan.
///
/// # Errors
/// One line: the phase, the key, and what to do.
pub(crate) fn check(plan: &Plan) -> Result<()> {
    let mut names = BTreeSet::new();
    for phase in &plan.phases {
        ensure!(
            is_plain_name(&phase.name),
            "a phase is called `{}`, which is not a valid name; use up to 64 characters, no \
            slash, no control characters, no blanks at the ends",
            phase.name
        );
        ensure!(names.insert(&phase.name), "two phases are called `{}`; rename one", phase.name);
        check_phase(phase)
            .and_then(|()| check_workload(plan, phase))
            .with_context(|| format!("phase `{}`", phase.name))?;
    }
    if plan.phases.is_empty() {
        return Ok(());
    }
    check_beside(plan)
}

fn check_workload(plan: &Plan, phase: &PhaseSpec) -> Result<()> {
    let Some(name) = &phase.workload else { return Ok(()) };
    ensure_there("workload", name, plan.workloads.keys())?;
    let Some(mix) = plan.server_workload(name) else { return Ok(()) };
    for other in plan.workloads.keys().filter(|other| !plan.is_mix(other)) {
        let Some(own) = plan.server_workload(other) else { continue };
        ensure!(
            mix.mode == own.mode,
            "workload `{name}` has another mode than `{other}`, beside which it is run; give \
            both the same"
        );
    }
    Ok(())
}

/// Refuses workloads on files together with a key that only loads of a server have.
///
/// # Errors
/// One line: the key, the workload, and what to do.
pub(super) fn refuse_files(plan: &Plan, key: &str) -> Result<()> {
    match plan.workloads.iter().find(|(_, workload)| workload.files().is_some()) {
        Some((name, _)) => bail!(
            "workload `{name}` loads files, which {key} does not support; put it into a plan of \
            its own"
        ),
        None => Ok(()),
    }
}

/// Checks the plan's other keys in the presence of phases.
fn check_beside(plan: &Plan) -> Result<()> {
    refuse_files(plan, "phases")?;
    ensure!(
        plan.events.is_none(),
        "events cannot be combined with phases, which end by the clock; omit events"
    );
    ensure!(
        !plan.warmup_until_steady,
        "warmup_until_steady cannot be combined with phases, which begin by the clock; give only \
        warmup_seconds"
    );
    ensure!(
        plan.workloads.keys().any(|name| !plan.is_mix(name)),
        "every workload is named by a phase, so none is run by itself; leave `workload` out of \
        the phases that are to have the run's own"
    );
    if let Some(name) = plan.workload_rates.keys().find(|name| plan.is_mix(name)) {
        bail!(
            "workload_rates names `{name}`, which is run in phases alone; give these phases the \
            rate"
        );
    }
    Ok(())
}

fn check_phase(phase: &PhaseSpec) -> Result<()> {
    ensure!(
        (1.0..=SECONDS_MOST).contains(&phase.seconds) && phase.seconds.fract() == 0.0,
        "seconds is {}; give whole seconds, at least 1",
        phase.seconds
    );
    for (key, rate) in [("rate", phase.rate), ("rate_to", phase.rate_to)] {
        let Some(rate) = rate else { continue };
        ensure!(
            is_rate(rate),
            "{key} is {rate}; give more than 0 events per second, or pause = true for none"
        );
    }
    ensure!(
        phase.rate_to.is_none() || phase.rate.is_some(),
        "rate_to needs rate, at which the ramp begins; give it too"
    );
    ensure!(
        !(phase.pause && (phase.rate.is_some() || phase.workload.is_some())),
        "pause cannot be combined with rate or workload, because nothing is due in a pause; keep \
        one of them"
    );
    if let Some(Happening::Sql(statement)) = &phase.happening {
        ensure!(!statement.trim().is_empty(), "happening.sql is empty; give a statement");
    }
    Ok(())
}
