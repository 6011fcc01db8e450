//! Events in the phases of a run, as they came about.

use anyhow::{Result, bail, ensure};
use assay_plan::PhaseSpec;
use assay_study::metrics::Window;
use assay_study::{Happened, Happening, Phase, Warning};

/// All events of a run.
#[derive(Debug, Default)]
pub(crate) struct PhaseEvents {
    /// The event of each phase, if the phase had one and reached it.
    pub(crate) in_phases: Vec<Option<Happened>>,
    /// The event that was repeated during the whole load.
    pub(crate) repeated: Option<RepeatedEvent>,
}

/// An event that was repeated until the load ended.
#[derive(Debug)]
pub(crate) struct RepeatedEvent {
    pub(crate) happening: Happening,
    /// Number of times that it ended.
    pub(crate) rounds: u64,
    /// The reason why it failed.
    pub(crate) error: Option<String>,
}

impl RepeatedEvent {
    /// A circumstance of the run.
    pub(crate) fn fact(&self) -> (String, String) {
        (
            "during the search".into(),
            format!("{}, ended {} times", self.happening.word(), self.rounds),
        )
    }
}

/// The phases of a run whose window began at `begin_s`, with their events.
pub(crate) fn phases(
    phases: &[PhaseSpec],
    paces: &assay_load::LoadPhases,
    happened: &[Option<Happened>],
    begin_s: f64,
) -> Vec<Phase> {
    let mut from_s = begin_s;
    let of =
        |((phase, pace), happened): ((&PhaseSpec, &assay_load::LoadPhase), &Option<Happened>)| {
            let window = Window { from_s, to_s: from_s + phase.seconds };
            from_s = window.to_s;
            Phase {
                name: phase.name.clone(),
                window,
                pace: pace.pace,
                workload: phase.workload.clone(),
                happened: happened.clone(),
            }
        };
    phases.iter().zip(&paces.each).zip(happened).map(of).collect()
}

/// A warning for each event that failed, with its phase.
pub(crate) fn warnings(
    phases: &[PhaseSpec],
    happened: &[Option<Happened>],
) -> impl Iterator<Item = Warning> {
    phases.iter().zip(happened).filter_map(|(phase, happened)| {
        let Happened { happening, error, .. } = happened.as_ref()?;
        let happening = happening.word().to_owned();
        Some(Warning::HappeningFailed {
            phase: phase.name.clone(),
            happening,
            error: error.clone()?,
        })
    })
}

/// Fails the run of a server that did not come back, and a run without its repeated event: neither
/// was measured as the plan asks.
pub(crate) fn check(events: &PhaseEvents) -> Result<()> {
    if let Some(RepeatedEvent { happening, error: Some(error), .. }) = &events.repeated {
        bail!("the {} that was to go on all the time failed: {error}", happening.word());
    }
    check_stores(&events.in_phases)?;
    check_restarts(&events.in_phases)
}

fn check_stores(happened: &[Option<Happened>]) -> Result<()> {
    for event in happened.iter().flatten() {
        if let (Happening::KillStore(store), Some(error)) = (&event.happening, &event.error) {
            bail!("store {store} could not be killed: {error}");
        }
    }
    Ok(())
}

fn check_restarts(happened: &[Option<Happened>]) -> Result<()> {
    let is_restart = |event: &&Happened| event.happening == Happening::Restart;
    for event in happened.iter().flatten().filter(is_restart) {
        if let Some(error) = &event.error {
            bail!("the server did not come back when it was restarted: {error}");
        }
        ensure!(
            event.ended_s.is_some(),
            "the server had not come back when the run ended; make the phase of its restart longer"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_load::{LoadPhase, LoadPhases, PhasePace};

    fn phase(name: &str, seconds: f64) -> PhaseSpec {
        let spec = serde_json::json!({ "name": name, "seconds": seconds, "happening": "restart" });
        serde_json::from_value(spec).unwrap()
    }

    fn happened(ended_s: Option<f64>, error: Option<&str>) -> Option<Happened> {
        let error = error.map(str::to_owned);
        let happening = Happening::Restart;
        Some(Happened { happening, began_s: 7.0, ended_s, error, done: None })
    }

    #[test]
    fn phases_lie_one_behind_the_other_from_the_windows_beginning() {
        let specs = [phase("a", 5.0), phase("b", 2.0)];
        let pace = LoadPhase { seconds: 1, pace: PhasePace::Paused, workload: None };
        let paces = LoadPhases { arrivals: Default::default(), each: vec![pace.clone(), pace] };
        let found = phases(&specs, &paces, &[None, happened(Some(9.0), None)], 3.0);
        let windows: Vec<_> =
            found.iter().map(|phase| (phase.window.from_s, phase.window.to_s)).collect();
        assert_eq!(windows, [(3.0, 8.0), (8.0, 10.0)]);
        assert_eq!(found[1].happened.as_ref().unwrap().took_s(), Some(2.0));
    }

    #[test]
    fn a_server_that_does_not_come_back_fails_the_run_and_a_refusal_is_told() {
        assert!(check_restarts(&[None, happened(Some(9.0), None)]).is_ok());
        let refused = |event| check_restarts(&[event]).unwrap_err().to_string();
        assert!(refused(happened(None, None)).contains("make the phase of its restart longer"));
        assert!(refused(happened(Some(8.0), Some("no space"))).ends_with("restarted: no space"));
        let refused = [happened(Some(8.0), Some("no space")), happened(Some(9.0), None)];
        let found: Vec<Warning> = warnings(&[phase("a", 5.0), phase("b", 2.0)], &refused).collect();
        let (phase, happening, error) = ("a".into(), "restart".into(), "no space".into());
        assert_eq!(found, [Warning::HappeningFailed { phase, happening, error }]);
    }
}
