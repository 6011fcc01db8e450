//! A run as the statistics see it: its figures, its seconds, and whether it may be judged at all.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::trial::figure::{
    Absent, OF_THREE_DIGITS, RunFigure, figures, searched_figure, statement_figures,
};
use crate::trial::metric::Metric;
use crate::trial::sound::is_sound;
use assay_study::{RunState, SecondLatencies, Store, Trial, TrialKey, Warning};

/// The fact of a run that says when its clock began, RFC 3339.
pub const CLOCK_BEGAN: &str = "clock began";

/// Whether a run may be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eligibility {
    /// It ended, and nothing forbids it.
    Usable,
    /// It was not run, or is not yet.
    Missing,
    /// It is flagged as not comparable, and the machine was the reason whatever the configuration
    /// did: the other repeats stand without it.
    Disturbed,
    /// It is flagged as not comparable for what its configuration may have caused: without such
    /// runs only its best moments would be left, so nothing is said that holds without them alone.
    Doubtful,
    /// The same, by flags that can only have made it slower: its side may be better than it looks,
    /// but not worse.
    Slowed,
    /// It failed: what a configuration cannot do is no matter of chance, so nothing is said without
    /// it.
    Failed,
}

/// A run with what was seen in its measuring window.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its coordinates.
    pub key: TrialKey,
    /// Whether it may be judged.
    pub eligibility: Eligibility,
    /// Transactions per second, of every second of the window.
    pub tps: Vec<f64>,
    /// Response times, second by second, of the window alone.
    pub latencies: SecondLatencies,
    /// Judged figures; a metric that cannot be told is absent.
    pub figures: BTreeMap<Metric, RunFigure>,
    /// Why figures are absent that one would expect.
    pub absent: BTreeMap<Metric, Absent>,
}

impl Measured {
    /// A run without measurements yet.
    pub(crate) fn nothing(trial: &Trial) -> Measured {
        Measured {
            key: trial.key.clone(),
            eligibility: eligibility(trial),
            tps: Vec::new(),
            latencies: SecondLatencies::default(),
            figures: BTreeMap::new(),
            absent: BTreeMap::new(),
        }
    }

    /// The figure of a metric, if the run has it.
    pub(crate) fn figure(&self, metric: Metric) -> Option<RunFigure> {
        self.figures.get(&metric).copied()
    }
}

/// The runs of a study that may be compared, with what is needed of their series.
///
/// # Errors
/// A store that cannot be read.
pub fn measured(store: &Store, trials: &[Trial]) -> Result<Vec<Measured>> {
    trials.iter().map(|trial| read(store, trial)).collect()
}

fn read(store: &Store, trial: &Trial) -> Result<Measured> {
    let mut measured = Measured::nothing(trial);
    let Some(window) = trial.window.filter(|_| trial.state == RunState::Done) else {
        return Ok(measured);
    };
    let points = store.points(trial.id, Metric::Throughput.name())?;
    let inside = points.into_iter().filter(|(second, _)| window.contains_second(*second));
    measured.tps = inside.map(|point| point.1).filter(|value| is_sound(*value)).collect();
    if let Some(all) = store.second_latencies(trial.id)? {
        let seconds = all.seconds();
        let inside = seconds.iter().filter(|one| window.contains_second(one.second));
        inside.for_each(|one| measured.latencies.push(one));
    }
    let histograms = store.histograms(trial.id)?;
    let whole = histograms.iter().find(|one| one.is_of_responses());
    let buckets = whole.map_or(&[][..], |one| &one.buckets);
    match &trial.capacity {
        Some(_) => searched_figure(&mut measured, &trial.results),
        None => figures(&mut measured, &trial.results, buckets, OF_THREE_DIGITS),
    }
    statement_figures(&mut measured, &histograms);
    Ok(measured)
}

impl Eligibility {
    /// Returns true if the run's figures count: those of a doubtful run do, and what is said of
    /// them has to hold without it too.
    pub(crate) fn counts(self) -> bool {
        matches!(self, Eligibility::Usable | Eligibility::Doubtful | Eligibility::Slowed)
    }
}

/// Whether figures of a run may be set against another's: it ended, and the machine did not spoil
/// it.
pub fn is_comparable(trial: &Trial) -> bool {
    eligibility(trial).counts()
}

/// Returns true if the run's figures can only be too slow: its side may be better than measured,
/// but not worse.
pub fn is_slowed(trial: &Trial) -> bool {
    eligibility(trial) == Eligibility::Slowed
}

/// Returns true if nothing casts doubt on the run's figures.
pub(crate) fn is_usable(trial: &Trial) -> bool {
    eligibility(trial) == Eligibility::Usable
}

fn eligibility(trial: &Trial) -> Eligibility {
    match trial.state {
        RunState::Pending | RunState::Running => Eligibility::Missing,
        RunState::Failed => Eligibility::Failed,
        RunState::Done => {
            let forbidding: Vec<&Warning> =
                trial.warnings.iter().filter(|one| one.forbids_comparing()).collect();
            let slows = |one: &&Warning| one.can_only_slow();
            match forbidding.iter().any(|one| one.is_of_machine()) {
                true => Eligibility::Disturbed,
                false if forbidding.is_empty() => Eligibility::Usable,
                false if forbidding.iter().all(slows) => Eligibility::Slowed,
                false => Eligibility::Doubtful,
            }
        }
    }
}
