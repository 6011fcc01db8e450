//! The sessions of the study that a plan is run into, found without changing anything.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use assay_plan::Plan;
use assay_study::{RunState, Sessions, Store, Study};

/// Bits of a seed that is drawn: programs that read numbers as floating point keep 53.
const SEED_BITS: u32 = 48;

/// The sessions that the study in `directory` has, and one more if `wants_another`. A study that is
/// not there yet gets an order of its runs by chance, unless the plan names a seed.
///
/// # Errors
/// One line: there is no study, or it is not finished, or its plan cannot have another session.
pub fn sessions(directory: &Path, plan: &Plan, wants_another: bool) -> Result<Sessions> {
    let found = Store::look(directory)?.map(|store| store.study()).transpose()?;
    let study = match found {
        Some(study) if !study.trials.is_empty() => study,
        _ => {
            ensure!(
                !wants_another,
                "{} has no session yet: run the plan without --another-session first",
                directory.display()
            );
            let order_seed = plan.is_order_drawn().then(drawn_seed);
            return Ok(Sessions { repeats: Vec::new(), order_seed });
        }
    };
    let mut sessions = study.sessions.clone();
    let each = plan.session_repeats();
    let last = study.trials.iter().map(|trial| trial.key.repeat).max().unwrap_or(0);
    ensure!(
        sessions.bounds().last().is_none_or(|bounds| *bounds.end() == last),
        "{} is damaged: its runs are not those of its sessions",
        directory.display()
    );
    if wants_another && !is_later_one_open(&study) {
        may_have_another(plan, &study)?;
        if sessions.repeats.is_empty() {
            sessions.repeats.push(last);
        }
        sessions.repeats.push(each);
    }
    let unlike = sessions.repeats.iter().find(|repeats| **repeats != each);
    match unlike {
        Some(repeats) => anyhow::bail!(
            "the sessions of {} have {repeats} repeats and the plan has {each}: put repeats = \
             {repeats} back",
            directory.display()
        ),
        None => Ok(sessions),
    }
}

/// Returns true if the study has several sessions and the last was interrupted: it goes on.
fn is_later_one_open(study: &Study) -> bool {
    study.sessions.repeats.len() > 1 && open(study) > 0
}

fn may_have_another(plan: &Plan, study: &Study) -> Result<()> {
    ensure!(
        plan.repeats.looks.is_empty(),
        "a plan with looks decides in one session: give repeats as a number for several"
    );
    let open = open(study);
    ensure!(
        open == 0,
        "the first session has {open} runs to go: run the plan without --another-session"
    );
    Ok(())
}

/// Runs that are not finished.
fn open(study: &Study) -> usize {
    let is_open = |state| matches!(state, RunState::Pending | RunState::Running);
    study.trials.iter().filter(|trial| is_open(trial.state)).count()
}

fn drawn_seed() -> u64 {
    assay_system::random_bits() >> (u64::BITS - SEED_BITS)
}

/// Keeps them in the store, if there is anything to keep.
///
/// # Errors
/// The store cannot be written.
pub(crate) fn keep(store: &Store, sessions: &Sessions) -> Result<()> {
    if sessions.is_default() {
        return Ok(());
    }
    store.write_sessions(sessions).context("cannot keep the sessions of the study")
}
