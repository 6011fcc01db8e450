//! From the observations of a run to its outcome.
//!
//! Guarantees: everything that was recorded before a failure is in the outcome of the failed run;
//! the function has no effects and reads no clock.

use assay_load::{LoadOutcome as Ran, LoadPhases, Work, together};
use assay_plan::PhaseSpec;
use assay_study::metrics::{Layer, Window};
use assay_study::{OfServer, Outcome, Series, Warning};

use super::combined_series::{self, Disks};
use super::fill::Device;
use super::observation::{Observation, Observations};
use super::phase_events::RepeatedEvent;
use super::{disk_full, figures, interference, phase_events, servers, warnings};
use crate::run::loads::LoadResult;
use assay_base::text::on_one_line;
use assay_judge::CLOCK_BEGAN;

/// The parts of plan and machine that results depend on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions<'a> {
    pub(crate) phases: &'a [PhaseSpec],
    /// Paces of the phases.
    pub(crate) paces: Option<LoadPhases>,
    /// The modelled device under the data.
    pub(crate) device: Option<Device>,
    pub(crate) disks: Disks,
    /// CPUs that this process may use.
    pub(crate) cpus: usize,
}

/// Turns observations into the outcome of the run.
pub(crate) fn conclude(observations: &Observations, conditions: &Conditions<'_>) -> Outcome {
    let servers = observations.servers.as_slice();
    let recorded = recorded(observations, conditions.disks);
    let (outcome, error) = match loads(servers) {
        Ok(loads) => match LoadedRun::new(servers, &loads, conditions) {
            Some(run) => run.conclude(recorded),
            None => (recorded, Some("a run without a server".to_owned())),
        },
        Err(error) => (recorded, Some(error)),
    };
    let error = error.map(|error| explained(servers, error)).or_else(|| end_error(observations));
    match error {
        Some(error) => Outcome { reason: Some(on_one_line(&error)), ..outcome },
        None => taken_down(outcome, observations),
    }
}

/// The records that stand however the run ended.
fn recorded(observations: &Observations, disks: Disks) -> Outcome {
    let servers = &observations.servers;
    let mut outcome = Outcome::default();
    if let Some(first) = servers.first() {
        outcome.facts.extend(first.circumstances.facts.clone());
        outcome.variables.clone_from(&first.circumstances.variables);
    }
    let clock = observations.clock.iter();
    outcome.facts.extend(clock.map(|clock| (CLOCK_BEGAN.to_owned(), clock.began.clone())));
    let circumstances = servers.iter().flat_map(|server| &server.circumstances.warnings);
    let shortages = servers.iter().filter_map(|server| server.shortage.as_ref());
    outcome.warnings = without_repeats(&[], circumstances.chain(shortages));
    (outcome.series, outcome.second_latencies) = match (servers.as_slice(), &observations.together)
    {
        ([only], _) => {
            let series = [only.seconds.series.clone(), only.monitored_series()].concat();
            (series, only.seconds.latencies.clone())
        }
        (several, Some(together)) => {
            let monitored: Vec<Vec<Series>> =
                observations.own_load().map(Observation::monitored_series).collect();
            let monitored = combined_series::together(&monitored, disks);
            let series = [together.series.clone(), monitored, servers::series(several)].concat();
            (series, together.latencies.clone())
        }
        (_, None) => Default::default(),
    };
    if let Some(first) = servers.first() {
        outcome.facts.extend(first.monitored.facts.clone());
        outcome.warnings.extend(first.monitored.warnings.clone());
        if let Some(LoadResult { about, .. }) = &first.load {
            outcome.facts.extend(about.clocks.iter().map(|host| {
                let (offset_ms, uncertainty_ms) = (host.clock.offset_ms, host.clock.uncertainty_ms);
                let offset = format!("{offset_ms:+.2} ms (±{uncertainty_ms:.2} ms)");
                (format!("clock of {}", host.host), offset)
            }));
            outcome.warnings.extend(about.doubts.clone());
        }
    }
    outcome
}

/// Those of `more` that are neither in `known` nor repeated.
fn without_repeats<'a>(known: &[Warning], more: impl Iterator<Item = &'a Warning>) -> Vec<Warning> {
    more.fold(Vec::new(), |mut new, warning| {
        if !known.contains(warning) && !new.contains(warning) {
            new.push(warning.clone());
        }
        new
    })
}

/// The load of each server, if all loads were run as the plan asks.
fn loads(servers: &[Observation]) -> Result<Vec<&Ran>, String> {
    let mut loads = Vec::new();
    for server in servers {
        match (&server.failure, &server.load) {
            (None, Some(load)) => loads.push(&load.outcome),
            (Some(error), _) => return Err(format!("{error:#}")),
            (None, None) => return Err("the load was not run".to_owned()),
        }
    }
    let events = servers.first().map(|first| &first.phase_events);
    events.map_or(Ok(()), phase_events::check).map_err(|error| format!("{error:#}"))?;
    Ok(loads)
}

/// A run whose loads have all been run.
struct LoadedRun<'a> {
    servers: &'a [Observation],
    loads: &'a [&'a Ran],
    conditions: &'a Conditions<'a>,
    /// Loads of all servers but a neighbour's.
    total: Ran,
    window: Window,
}

impl<'a> LoadedRun<'a> {
    fn new(
        servers: &'a [Observation],
        loads: &'a [&'a Ran],
        conditions: &'a Conditions<'a>,
    ) -> Option<LoadedRun<'a>> {
        let own = servers.iter().zip(loads).filter(|(server, _)| server.neighbour.is_none());
        let own: Vec<Ran> = own.map(|(_, load)| (*load).clone()).collect();
        let total = if servers.len() == 1 { own.into_iter().next() } else { together(&own) }?;
        let window = Window { from_s: total.measure_start_s, to_s: total.measure_end_s };
        Some(LoadedRun { servers, loads, conditions, total, window })
    }

    /// Adds the figures of the run, or as many as there are before the error that is returned.
    fn conclude(&self, recorded: Outcome) -> (Outcome, Option<String>) {
        let mut outcome = self.figures(recorded);
        let gap =
            self.first().and_then(|first| warnings::stopped(&first.monitored.gaps, self.window));
        if let Some(error) = self.disk_full().or_else(|| self.nothing_measured(gap.is_some())) {
            return (outcome, Some(error));
        }
        outcome.warnings.extend(gap);
        let top_users = self.first().map_or(&[][..], |first| &first.top_users);
        let cpus = self.conditions.cpus;
        outcome.warnings.extend(interference::warning(&outcome.results, cpus, top_users));
        if self.servers.len() > 1 { (self.with_servers(outcome), None) } else { (outcome, None) }
    }

    fn first(&self) -> Option<&Observation> {
        self.servers.first()
    }

    fn figures(&self, recorded: Outcome) -> Outcome {
        let LoadedRun { conditions, total, window, .. } = self;
        let mut outcome = recorded;
        let results = figures::of(&outcome.series, total, *window);
        outcome.window = Some(*window);
        outcome.errors.clone_from(&total.errors);
        outcome.histograms = total.latency.iter().flat_map(figures::histograms).collect();
        outcome.warnings.extend(warnings::of(total, &results, conditions.cpus));
        outcome.facts.extend(figures::facts(total));
        outcome.results = results;
        if let Some(Observation { capacity, phase_events: events, .. }) = self.first() {
            outcome.results.extend(capacity.iter().flat_map(figures::capacity));
            outcome.capacity.clone_from(capacity);
            outcome.warnings.extend(phase_events::warnings(conditions.phases, &events.in_phases));
            outcome.facts.extend(events.repeated.as_ref().map(RepeatedEvent::fact));
            if let Some(paces) = &conditions.paces {
                let phases = conditions.phases;
                outcome.phases =
                    phase_events::phases(phases, paces, &events.in_phases, window.from_s);
            }
        }
        if let ([_], Some(device)) = (self.servers, conditions.device) {
            let fill = device.fill(&outcome.series, *window);
            outcome.results.extend(fill.results);
            outcome.warnings.extend(fill.warning);
        }
        outcome
    }

    /// The error of the first server whose file system was full.
    fn disk_full(&self) -> Option<String> {
        self.servers.iter().find_map(|server| {
            let file_system = server.after.file_system.as_ref()?;
            disk_full::error(&server.monitored_series(), self.window, file_system)
        })
    }

    fn nothing_measured(&self, was_stopped: bool) -> Option<String> {
        let event = match self.total.work {
            Work::Server { .. } => "transaction",
            Work::Files { .. } => "operation",
        };
        let why = match was_stopped {
            true => "Assay was stopped while it measured",
            false => "make seconds longer",
        };
        (self.total.events == 0).then(|| format!("no {event} ended in the measuring window; {why}"))
    }

    /// Adds the figures of each of several servers, and of the servers compared.
    fn with_servers(&self, outcome: Outcome) -> Outcome {
        let mut outcome = outcome;
        let monitored = self.servers.iter().skip(1).flat_map(|server| &server.monitored.warnings);
        let monitored = without_repeats(&outcome.warnings, monitored);
        outcome.warnings.extend(monitored);
        for (number, (server, load)) in (1..).zip(self.servers.iter().zip(self.loads)) {
            let (server, warning) = self.of_server(number, server, load);
            outcome.servers.push(server);
            outcome.warnings.extend(warning);
        }
        outcome.results.extend(servers::summary(&outcome.servers));
        outcome
    }

    fn of_server(
        &self,
        number: u32,
        server: &Observation,
        load: &Ran,
    ) -> (OfServer, Option<Warning>) {
        let is_shared =
            |series: &Series| series.layer == Layer::Disk && self.conditions.disks == Disks::Shared;
        let monitored = server.monitored_series().into_iter().filter(|series| !is_shared(series));
        let series = [server.seconds.series.clone(), monitored.collect()].concat();
        let device = self.conditions.device;
        let fill = device.map(|device| device.fill(&series, self.window)).unwrap_or_default();
        let mut results = fill.results;
        results.extend(figures::of(&series, load, self.window));
        (OfServer { server: number, neighbour: server.neighbour.clone(), results }, fill.warning)
    }
}

/// The error with its explanations: a server that ended and a rig that takes no more explain a
/// failed load better than the load can.
fn explained(servers: &[Observation], error: String) -> String {
    servers.iter().fold(error, |error, server| {
        let ended = server.after.ended.as_ref();
        let error =
            ended.map_or(error.clone(), |how| format!("the server ended with {how}: {error}"));
        match server.after.rig.explanation(&error) {
            Some(explanation) => format!("{explanation}: {error}"),
            None => error,
        }
    })
}

/// An error after the load: a load that went on without its drive has measured memory alone.
fn end_error(observations: &Observations) -> Option<String> {
    let stopped = observations.servers.iter().find_map(|server| server.after.rig.trouble.clone());
    let failure = observations.take_down.failure.as_ref();
    stopped.or_else(|| failure.map(|error| format!("{error:#}")))
}

fn taken_down(outcome: Outcome, observations: &Observations) -> Outcome {
    let mut outcome = outcome;
    outcome.facts.extend(observations.take_down.facts.clone());
    outcome.warnings.extend(observations.take_down.warnings.clone());
    outcome
}

#[cfg(test)]
#[path = "conclude_tests.rs"]
mod tests;
