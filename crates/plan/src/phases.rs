//! Phases: what the measuring window of every run is made of, where that is more than one thing.
//!
//! A workload that a phase names is the mix of that phase, and is not run by itself. The window is as long as all phases
//! together.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use assay_load::{LoadPhase, Pace, PhasePace, Phases, RidesOut, Workload};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::check::is_plain_name;
use super::paper::ensure_there;
use super::rates::is_rate;
use super::{MISSING_SECONDS, Plan};
use assay_study::Happening;

/// No phase lasts longer: a week.
const SECONDS_MOST: f64 = 604_800.0;

/// A phase of every run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseSpec {
    /// What it is called in tables and charts.
    pub name: String,
    /// How long it lasts, in whole seconds.
    pub seconds: f64,
    /// Events per second over all threads; absent: as the plan has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The rate at its end, to which it runs in a straight line from `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_to: Option<f64>,
    /// That no event is due in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pause: bool,
    /// The workload whose mix it has; absent: the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What happens in it, from its beginning on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happening: Option<Happening>,
}

impl PhaseSpec {
    /// How its events are started, in a run that has this pace else.
    fn pace(&self, own: Pace) -> PhasePace {
        let steady = |rate: f64| PhasePace::Rate { from_per_s: rate, to_per_s: rate };
        match (self.pause, self.rate, own) {
            (true, ..) => PhasePace::Paused,
            (false, Some(rate), _) => {
                PhasePace::Rate { from_per_s: rate, to_per_s: self.rate_to.unwrap_or(rate) }
            }
            (false, None, Pace::Rate { per_second, .. }) => steady(per_second),
            (false, None, Pace::Closed | Pace::Throttled { .. }) => PhasePace::Closed,
        }
    }

    fn has_own_pace(&self) -> bool {
        self.pause || self.rate.is_some()
    }

    fn check(&self) -> Result<()> {
        ensure!(
            (1.0..=SECONDS_MOST).contains(&self.seconds) && self.seconds.fract() == 0.0,
            "seconds is {}; give whole seconds, at least 1",
            self.seconds
        );
        for (key, rate) in [("rate", self.rate), ("rate_to", self.rate_to)] {
            let Some(rate) = rate else { continue };
            ensure!(
                is_rate(rate),
                "{key} is {rate}; give more than 0 events per second, or pause = true for none"
            );
        }
        ensure!(
            self.rate_to.is_none() || self.rate.is_some(),
            "rate_to needs rate, at which the ramp begins; give it too"
        );
        ensure!(
            !(self.pause && (self.rate.is_some() || self.workload.is_some())),
            "pause cannot be combined with rate or workload, because nothing is due in a pause; keep one of them"
        );
        if let Some(Happening::Sql(statement)) = &self.happening {
            ensure!(!statement.trim().is_empty(), "happening.sql is empty; give a statement");
        }
        Ok(())
    }
}

impl Plan {
    /// The phases of runs of `workload`, as the load takes them; nothing where the plan has none.
    #[must_use]
    pub fn phases_of(&self, workload: &str) -> Option<Phases> {
        let own = self.pace_of(workload);
        let phase = |phase: &PhaseSpec| LoadPhase {
            seconds: phase.seconds as u32,
            pace: phase.pace(own),
            workload: phase.workload.as_ref().and_then(|name| self.server_workload(name)).cloned(),
        };
        let each: Vec<LoadPhase> = self.phases.iter().map(phase).collect();
        (!each.is_empty()).then_some(Phases { arrivals: self.arrivals, each })
    }

    /// Whether the plan's own rate changes anything that is measured.
    pub(super) fn leaves_rates_a_say(&self) -> bool {
        self.phases.is_empty() || self.phases.iter().any(|phase| !phase.has_own_pace())
    }

    /// A workload on the server, by its name.
    pub(crate) fn server_workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.get(name)?.server()
    }

    /// Whether anything happens to the server while it is loaded.
    #[must_use]
    pub fn has_happenings(&self) -> bool {
        let during = self.objective.as_ref().is_some_and(|objective| objective.during.is_some());
        during || self.phases.iter().any(|phase| phase.happening.is_some())
    }

    /// What happens to the load by the plan's own will, and does not end it.
    #[must_use]
    pub fn rides_out(&self) -> RidesOut {
        let happens = |is_it: fn(&Happening) -> bool| {
            let in_phases = self.phases.iter().filter_map(|phase| phase.happening.as_ref());
            let during = self.objective.as_ref().and_then(|objective| objective.during.as_ref());
            in_phases.chain(during).any(is_it)
        };
        RidesOut {
            restarts: happens(|one| *one == Happening::Restart),
            changed_tables: happens(|one| matches!(one, Happening::Sql(_))),
        }
    }
}

/// Reads `seconds`. Inside, not a number means that the plan does not give it.
pub(super) fn given<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(from)?;
    match seconds.is_nan() {
        true => {
            Err(D::Error::custom("seconds is nan; give how long a run is measured, such as 60"))
        }
        false => Ok(seconds),
    }
}

/// Puts in the seconds that follow from phases, where the plan leaves them out.
///
/// # Errors
/// One line: neither is there, or both are and do not agree.
pub(super) fn complete(plan: &mut Plan) -> Result<()> {
    let together: f64 = plan.phases.iter().map(|phase| phase.seconds).sum();
    match (plan.phases.is_empty(), plan.seconds.is_nan()) {
        (true, true) => bail!(MISSING_SECONDS),
        (true, false) => return Ok(()),
        (false, true) => plan.seconds = together,
        (false, false) => check_length(plan, together)?,
    }
    Ok(())
}

fn check_length(plan: &Plan, together: f64) -> Result<()> {
    let seconds = plan.seconds;
    if let Some(long) = plan.phases.iter().find(|phase| phase.seconds > seconds) {
        bail!(
            "phase `{}` takes {} s and the run only {seconds}; raise seconds to {together}, or omit it: the window is as long as all phases",
            long.name,
            long.seconds
        );
    }
    ensure!(
        (together - seconds).abs() < 1e-9,
        "the phases take {together} s together, but seconds is {seconds}; omit it: the window is as long as all phases"
    );
    Ok(())
}

/// Checks every phase, and that they go together with the rest of the plan.
///
/// # Errors
/// One line: the phase, the key, and what to do.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let mut names = BTreeSet::new();
    for phase in &plan.phases {
        ensure!(
            is_plain_name(&phase.name),
            "a phase is called `{}`, which is not a valid name; use up to 64 characters, no slash, no control characters, no blanks at the ends",
            phase.name
        );
        ensure!(names.insert(&phase.name), "two phases are called `{}`; rename one", phase.name);
        phase
            .check()
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
            "workload `{name}` has another mode than `{other}`, beside which it is run; give both the same"
        );
    }
    Ok(())
}

/// Refuses workloads on files beside what only loads of a server have.
///
/// # Errors
/// One line: the key, the workload, and what to do.
pub(super) fn refuse_files(plan: &Plan, key: &str) -> Result<()> {
    match plan.workloads.iter().find(|(_, workload)| workload.files().is_some()) {
        Some((name, _)) => bail!(
            "workload `{name}` loads files, which {key} does not support; put it into a plan of its own"
        ),
        None => Ok(()),
    }
}

/// What else the plan says.
fn check_beside(plan: &Plan) -> Result<()> {
    refuse_files(plan, "phases")?;
    ensure!(
        plan.events.is_none(),
        "events cannot be combined with phases, which end by the clock; omit events"
    );
    ensure!(
        !plan.warmup_until_steady,
        "warmup_until_steady cannot be combined with phases, which begin by the clock; give only warmup_seconds"
    );
    ensure!(
        plan.workloads.keys().any(|name| !plan.is_mix(name)),
        "every workload is named by a phase, so none is run by itself; leave `workload` out of the phases that are to have the run's own"
    );
    if let Some(name) = plan.workload_rates.keys().find(|name| plan.is_mix(name)) {
        bail!(
            "workload_rates names `{name}`, which is run in phases alone; give these phases the rate"
        );
    }
    Ok(())
}
