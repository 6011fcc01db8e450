//! The simulated site, and the stage on which a test's script plays a run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use assay_lab::hosts::HostContext;
use assay_lab::run::{Described, Progress, RunContext, Site, StudyLock};
use assay_load::{LatencyStats, PrepareProgress, PrepareStage, Queries, Second, SecondPhase};
use assay_plan::{Experiment, PlannedTrial};
use assay_study::metrics::Window;
use assay_study::{Calibration, Config, Outcome, RigRecord, TrialKey};
use assay_system::interrupt::Interrupt;
use assay_system::new_name;

use super::{LOOK_EVERY, PATIENCE};
use crate::run_command::machines::Machines;

/// File in the command's directory that lists the attempts at runs, one position a line.
const ATTEMPTS: &str = "attempts";

/// Machines whose runs are played by a script.
pub(crate) struct Simulated<F> {
    script: F,
}

impl<F: Fn(&Stage<'_>) -> Outcome> Simulated<F> {
    /// Machines on which `script` plays each run.
    pub fn playing(script: F) -> Simulated<F> {
        Simulated { script }
    }
}

impl<F: Fn(&Stage<'_>) -> Outcome> Machines for Simulated<F> {
    fn check(&self, _: &RunContext<'_>, _: &HostContext<'_>) -> Result<()> {
        Ok(())
    }

    fn on_site<T>(
        &self,
        context: RunContext<'_>,
        _: HostContext<'_>,
        work: impl FnOnce(&mut dyn Site) -> Result<T>,
    ) -> Result<T> {
        let _held = StudyLock::take(context.study, None)?;
        // A killed command leaves this directory, as a real one leaves its rig.
        let made = context.ledger.make_directory(&context.study.join(new_name("work")))?;
        let (experiment, interrupt) = (context.experiment, context.interrupt);
        let mut site = SimulatedSite { experiment, interrupt, script: &self.script };
        let done = work(&mut site)?;
        made.remove()?;
        Ok(done)
    }
}

struct SimulatedSite<'a, F> {
    experiment: &'a Experiment,
    interrupt: &'a Interrupt,
    script: &'a F,
}

impl<F: Fn(&Stage<'_>) -> Outcome> Site for SimulatedSite<'_, F> {
    fn described(&self) -> Described {
        let config = |name: &String| Config {
            name: name.clone(),
            rig: RigRecord { server: "MySQL 8.4".into(), ..RigRecord::default() },
            settings: BTreeMap::new(),
        };
        let calibration =
            Calibration { cpus: 2, cpu_granted_percent: 100.0, ..Calibration::default() };
        Described {
            facts: [("host".to_owned(), "simulated".to_owned())].into(),
            calibration,
            configs: self.experiment.config_names().map(config).collect(),
            differing: BTreeMap::new(),
            is_on_studys_disk: false,
        }
    }

    fn make_run(&mut self, trial: &PlannedTrial, progress: &dyn Progress) -> Result<Outcome> {
        progress.begin_trial(&trial.key);
        let mut noted = OpenOptions::new().create(true).append(true).open(ATTEMPTS)?;
        writeln!(noted, "{}", trial.position)?;
        let attempts = attempts(Path::new("")).into_iter();
        let attempt = attempts.filter(|position| *position == trial.position).count();
        let (key, position) = (&trial.key, trial.position);
        let (interrupt, measured) = (self.interrupt, RefCell::new(0));
        Ok((self.script)(&Stage { key, position, attempt, progress, interrupt, measured }))
    }

    fn take_down(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Returns the positions of the runs attempted by commands in `directory`, oldest first.
pub(crate) fn attempts(directory: &Path) -> Vec<u32> {
    let noted = std::fs::read_to_string(directory.join(ATTEMPTS)).unwrap_or_default();
    noted.lines().map(|line| line.parse().unwrap()).collect()
}

/// The current run.
pub(crate) struct Stage<'a> {
    /// The run.
    pub key: &'a TrialKey,
    /// Place of the run in the plan's order, from 1.
    pub position: u32,
    /// Number of this attempt at the run, from 1, those of earlier commands included.
    pub attempt: usize,
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
    /// Seconds measured so far.
    measured: RefCell<u32>,
}

impl Stage<'_> {
    /// Reports what is being done.
    pub fn step(&self, what: &str) {
        self.progress.step(self.key, what);
    }

    /// Reports that the base snapshot is being loaded.
    pub fn loading(&self) {
        self.progress.loading(&PrepareProgress {
            stage: PrepareStage::Rows,
            done: 1000,
            total: 2000,
            per_second: 500.0,
            seconds_left: Some(2.0),
        });
    }

    /// Reports another measured second.
    pub fn second(&self) {
        let mut measured = self.measured.borrow_mut();
        *measured += 1;
        self.progress.second(
            self.key,
            &Second {
                end_s: f64::from(*measured),
                length_s: 1.0,
                phase: SecondPhase::Measure,
                threads: self.key.threads,
                events: 90,
                tps: 90.0,
                qps: 540.0,
                queries: Queries::default(),
                latency: LatencyStats { latency_ms_p99: 3.0, ..LatencyStats::default() },
                errors: 0,
                reconnects: 0,
                queue_length: 0,
                concurrency: 0,
            },
        );
    }

    /// Waits until the test opens the gate or the command is interrupted.
    pub fn wait_for(&self, gate: &str) {
        self.wait(|| self.interrupt.is_set() || Path::new(gate).exists());
    }

    /// Waits until the test opens the gate, also when the command is interrupted, as a load does
    /// whose server does not answer.
    pub fn hang_until(&self, gate: &str) {
        self.wait(|| Path::new(gate).exists());
    }

    fn wait(&self, is_over: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_over() {
            assert!(Instant::now() < deadline, "{} waits for nobody", self.key);
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// A run that was measured.
pub(crate) fn done(tps: f64) -> Outcome {
    let figures = [("tps", tps), ("latency_ms_p99", 3.0)];
    Outcome {
        window: Some(Window { from_s: 0.0, to_s: 2.0 }),
        results: figures.map(|(name, figure)| (name.to_owned(), figure)).into(),
        ..Outcome::default()
    }
}

/// A run that failed.
pub(crate) fn failed(reason: &str) -> Outcome {
    Outcome { reason: Some(reason.into()), ..Outcome::default() }
}
