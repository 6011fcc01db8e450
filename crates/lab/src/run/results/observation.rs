//! Everything recorded of a run, up to its end or its failure: the input of [`super::conclude`].

use std::collections::BTreeMap;
use std::time::Instant;

use assay_load::capacity::Capacity;
use assay_study::metrics::Window;
use assay_study::{SecondLatencies, Series, Warning};

use super::disk_full::FileSystem;
use super::phase_events::PhaseEvents;
use crate::monitor::{Monitored, TopUser};
use crate::rig::RigCondition;
use crate::run::loads::LoadResult;

/// Observations of a run: one for each server, which share the run's clock.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    /// A run on files has one.
    pub(crate) servers: Vec<Observation>,
    /// Seconds of several loads taken together, without a neighbour's.
    pub(crate) together: Option<LoadSeconds>,
    /// `None` if no load was started.
    pub(crate) clock: Option<RunClock>,
    /// The removal of rigs and traces, which a failed run does without.
    pub(crate) take_down: TakeDown,
}

/// The clock that all observations of a run share.
#[derive(Debug)]
pub(crate) struct RunClock {
    pub(crate) origin: Instant,
    /// The same instant in UTC, to the millisecond.
    pub(crate) began: String,
}

/// Observations of one server.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    pub(crate) circumstances: Circumstances,
    /// A lack of connections that the load can tolerate.
    pub(crate) shortage: Option<Warning>,
    /// The workload of a noisy neighbour, whose figures are kept apart from the run's.
    pub(crate) neighbour: Option<String>,
    pub(crate) seconds: LoadSeconds,
    /// `None` if the load failed.
    pub(crate) load: Option<LoadResult>,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) phase_events: PhaseEvents,
    pub(crate) monitored: Monitored,
    /// Other programs that used CPU time.
    pub(crate) top_users: Vec<TopUser>,
    /// State after the load.
    pub(crate) after: ServerState,
    /// The error that ended the observation early; everything else was recorded before it.
    pub(crate) failure: Option<anyhow::Error>,
}

/// Known facts of a server before it is loaded.
#[derive(Debug, Default)]
pub(crate) struct Circumstances {
    pub(crate) facts: BTreeMap<String, String>,
    /// Variables of the server, without secrets.
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) warnings: Vec<Warning>,
}

/// Seconds of a load, as series and as response times.
#[derive(Debug, Default)]
pub(crate) struct LoadSeconds {
    pub(crate) series: Vec<Series>,
    pub(crate) latencies: SecondLatencies,
}

/// State of a server and its rig after the load; empty for the server of somebody else.
#[derive(Debug, Default)]
pub(crate) struct ServerState {
    /// The way in which the server ended by itself.
    pub(crate) ended: Option<String>,
    pub(crate) rig: RigCondition,
    /// The file system of the data directory.
    pub(crate) file_system: Option<FileSystem>,
}

/// Facts and warnings of the run's end on its rigs.
#[derive(Debug, Default)]
pub(crate) struct TakeDown {
    pub(crate) facts: BTreeMap<String, String>,
    pub(crate) warnings: Vec<Warning>,
    /// The server could not be ended.
    pub(crate) failure: Option<anyhow::Error>,
}

impl Observations {
    /// A run that failed before its servers were there.
    pub(crate) fn failed(error: anyhow::Error) -> Observations {
        let observation = Observation { failure: Some(error), ..Observation::default() };
        Observations { servers: vec![observation], ..Observations::default() }
    }

    /// Whether a load failed, or a drive stopped below it.
    pub(crate) fn have_failed(&self) -> bool {
        self.servers
            .iter()
            .any(|server| server.failure.is_some() || server.after.rig.trouble.is_some())
    }

    /// Observations under the run's own load.
    pub(crate) fn own_load(&self) -> impl Iterator<Item = &Observation> {
        self.servers.iter().filter(|server| server.neighbour.is_none())
    }

    /// The measuring window of all loads; `None` if one of them failed.
    pub(crate) fn window(&self) -> Option<Window> {
        let windows = self.own_load().map(|server| {
            let ran = &server.load.as_ref()?.outcome;
            Some(Window { from_s: ran.measure_start_s, to_s: ran.measure_end_s })
        });
        windows.reduce(|a, b| {
            let (a, b) = (a?, b?);
            Some(Window { from_s: a.from_s.min(b.from_s), to_s: a.to_s.max(b.to_s) })
        })?
    }
}

impl Observation {
    /// The monitor's samples, as series.
    pub(crate) fn monitored_series(&self) -> Vec<Series> {
        let Monitored { series, samples, .. } = &self.monitored;
        let empty = series.iter().map(|info| Series {
            name: info.name.clone(),
            label: info.label.clone(),
            points: Vec::with_capacity(samples.len()),
            ..Series::of(info.metric)
        });
        let mut series: Vec<Series> = empty.collect();
        for sample in samples {
            for &(place, value) in &sample.values {
                if let Some(series) = series.get_mut(usize::from(place)) {
                    series.points.push((sample.second, value));
                }
            }
        }
        series.retain(|series| !series.points.is_empty());
        series
    }
}
