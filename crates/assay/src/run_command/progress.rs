//! Shows the progress of a study: a line for each run, and on a terminal the live view or a line
//! that is overwritten.
//!
//! Everything goes to standard error; standard output is for programs.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;

use assay_load::capacity::{Objective, SearchStep};
use assay_load::{PrepareProgress, PrepareStage, Second};

use super::count::{Count, Lengths, planned_seconds};
use super::live::{DISK_SERIES, PhaseNames, Seen, View};
use crate::load_command::capacity::told;
use crate::print::{self, Living};
use assay_base::text::{counted, time};
use assay_lab::monitor::Monitor;
use assay_lab::rig::snapshot::LoadProgress;
use assay_lab::run::Progress;
use assay_lab::run::check::{PlannedServer, PlannedServers};
use assay_plan::{DiskBase, Experiment, PlannedRig, PlannedTrial};
use assay_ports::filesystem;
use assay_report::words::warning::cause;
use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Design, Outcome, TrialKey, Warning};
use assay_system::interrupt::Interrupt;

/// Suffix of a run that is not comparable.
fn not_comparable(warnings: &[Warning]) -> String {
    match warnings.iter().any(Warning::forbids_comparing) {
        false => String::new(),
        true => format!(
            ", not comparable: {}",
            cause(warnings).unwrap_or_else(|| "see the report".into())
        ),
    }
}

/// Describes a search's result.
fn searched(results: &BTreeMap<String, f64>) -> String {
    let figure = |metric: &MetricEntry| results.get(metric.name).copied();
    let low = figure(metric!("capacity_low_per_s"));
    let ends = low.zip(figure(metric!("capacity_high_per_s")));
    match figure(metric!("capacity_per_s")).zip(ends) {
        Some((rate, (low, high))) => {
            format!(
                "95 % of windows meet the objective at {rate:.1} tps (90 % interval {low:.1} to \
                 {high:.1})"
            )
        }
        None => "the search found no rate; see the report".into(),
    }
}

/// Name of its events per second.
fn events_per_s(outcome: &Outcome) -> &'static str {
    let is_of_files = outcome.results.contains_key(metric!("file_reads_per_s").name);
    if is_of_files { "operations/s" } else { "tps" }
}

/// Progress of a study, shown to the user.
#[derive(Debug)]
pub(crate) struct ProgressView {
    shown: Shown,
    count: Mutex<Count>,
}

/// Form in which progress is shown.
#[derive(Debug)]
enum Shown {
    Lines(Living),
    View(View),
}

impl ProgressView {
    /// Progress of `trials` runs; with a live view if `is_live` and there is a terminal for it.
    #[must_use]
    pub fn new(
        experiment: &Experiment,
        trials: usize,
        is_live: bool,
        interrupt: &Interrupt,
    ) -> ProgressView {
        let count = Count::new(Lengths::of(experiment), trials);
        let seen = || Seen::new(&experiment.title, PhaseNames::of(experiment), count);
        let cpus = &experiment.placement.load_cpus.0;
        let view = is_live.then(|| View::open(seen(), interrupt, cpus)).flatten();
        let shown = view.map_or_else(|| Shown::Lines(Living::new()), Shown::View);
        ProgressView { shown, count: Mutex::new(count) }
    }

    fn counter(&self) -> String {
        let count = self.count();
        format!("[{}/{}]", count.done.max(1), count.trials)
    }

    fn count(&self) -> Count {
        *self.count.lock()
    }
}

impl Progress for ProgressView {
    fn is_end_wanted(&self) -> bool {
        matches!(&self.shown, Shown::View(view) if view.is_end_wanted())
    }

    fn begin_trial(&self, key: &TrialKey) {
        if let Shown::View(view) = &self.shown {
            view.change(|seen| seen.begin_trial(key));
        }
    }

    fn step(&self, key: &TrialKey, what: &str) {
        match &self.shown {
            Shown::Lines(line) => line.live(format_args!("  {key}: {what}")),
            Shown::View(view) => view.change(|seen| seen.step = what.into()),
        }
    }

    fn monitoring(&self, monitor: &Monitor) {
        if let Shown::View(view) = &self.shown {
            view.change(|seen| seen.monitor = Some(monitor.glimpse(DISK_SERIES)));
        }
    }

    fn second(&self, key: &TrialKey, second: &Second) {
        match &self.shown {
            Shown::Lines(line) => line.live(format_args!(
                "  {} {key}: second {:.0}, {:.0} tps, p99 {:.2} ms, {} left",
                self.counter(),
                second.end_s,
                second.tps,
                second.latency.latency_ms_p99,
                time(self.count().seconds_left()),
            )),
            Shown::View(view) => view.change(|seen| seen.second(second)),
        }
    }

    fn tried(&self, key: &TrialKey, objective: Objective, step: &SearchStep) {
        self.count.lock().searched(step);
        let count = self.count();
        let text = told(step, objective.percentile);
        match &self.shown {
            Shown::Lines(line) => line.say(format_args!("  {key}: {text}")),
            Shown::View(view) => view.change(|seen| {
                (seen.count, seen.step) = (count, text);
            }),
        }
    }

    fn trial_discarded(
        &self,
        key: &TrialKey,
        outcome: &Outcome,
        partners: usize,
        extra_left: usize,
    ) {
        {
            let mut count = self.count.lock();
            count.ended();
            count.trials += 1 + partners;
        }
        let count = self.count();
        if let Shown::View(view) = &self.shown {
            view.change(|seen| seen.end_trial(count));
        }
        let cause = cause(&outcome.warnings).unwrap_or_else(|| "the machine was busy".into());
        let with = match partners {
            0 => String::new(),
            1 => " with the run that it is compared with".into(),
            several => format!(" with {several} runs that it is compared with"),
        };
        let runs = if extra_left == 1 { "run" } else { "runs" };
        self.say(&format!(
            "{} {key}: repeated later{with}, {cause} ({} left, {extra_left} more {runs} may be \
             repeated)",
            self.counter(),
            time(count.seconds_left()),
        ));
    }

    fn ended_at_look(&self, repeats: u32, runs: usize) {
        self.say(&format!(
            "decided after {} ({} not needed)",
            counted(u64::from(repeats), "repeat"),
            counted(runs as u64, "run")
        ));
    }

    fn trial_ended(&self, key: &TrialKey, outcome: &Outcome) {
        self.count.lock().ended();
        let count = self.count();
        if let Shown::View(view) = &self.shown {
            view.change(|seen| seen.end_trial(count));
        }
        let figure =
            |metric: &MetricEntry| outcome.results.get(metric.name).copied().unwrap_or(f64::NAN);
        let what = match &outcome.reason {
            Some(reason) => format!("FAILED: {reason}"),
            None if outcome.capacity.is_some() => {
                format!("{}{}", searched(&outcome.results), not_comparable(&outcome.warnings))
            }
            None => format!(
                "{:.1} {}, p99 {:.2} ms{}",
                figure(metric!("tps")),
                events_per_s(outcome),
                figure(metric!("latency_ms_p99")),
                not_comparable(&outcome.warnings)
            ),
        };
        let left = match count.done < count.trials {
            true => format!(" ({} left)", time(count.seconds_left())),
            false => String::new(),
        };
        self.say(&format!("{} {key}: {what}{left}", self.counter()));
    }
}

impl LoadProgress for ProgressView {
    fn say(&self, text: &str) {
        match &self.shown {
            Shown::Lines(line) => line.say(text),
            Shown::View(_) => print::note(text),
        }
    }

    fn loading(&self, loading: &PrepareProgress) {
        let left =
            loading.seconds_left.map_or_else(String::new, |left| format!(", {} left", time(left)));
        let PrepareProgress { done, total, per_second, .. } = loading;
        let text = match loading.stage {
            PrepareStage::Rows => {
                format!("loading: {done} of {total} rows, {per_second:.0} rows/s{left}")
            }
            PrepareStage::Index => format!("loading: {done} of {total} indexes{left}"),
        };
        match &self.shown {
            Shown::Lines(line) => line.live(format_args!("  {text}")),
            Shown::View(view) => view.change(|seen| seen.step = text),
        }
    }
}

/// Prints the runs that a command would make of a plan with `planned` runs.
pub(crate) fn dry_run(experiment: &Experiment, planned: usize, missing: &[&PlannedTrial]) {
    if missing.is_empty() {
        print::line(format_args!("nothing to do: none of the {planned} runs is missing"));
        return;
    }
    for trial in missing {
        print::line(format_args!("{:4}. {}", trial.position, trial.key));
    }
    let of = if missing.len() < planned { format!(" of {planned}") } else { String::new() };
    let seconds = planned_seconds(experiment, missing.len());
    print::line(format_args!(
        "{}{of} runs, {} {}, plus the time to load the data",
        missing.len(),
        if experiment.events.is_some() { "at most" } else { "about" },
        time(seconds)
    ));
    if experiment.judging.design == Design::Switchback {
        print::line(
            "runs of one load and repeat are made at once: their servers are all up, and their \
             loads take turns",
        );
    }
}

/// Prints the servers that the runs would use.
pub(crate) fn tell_servers(servers: &PlannedServers) {
    for server in servers {
        match server {
            PlannedServer::Present(server) => {
                print::line(format_args!("server: {server} ({})", server.program.display()));
            }
            PlannedServer::Downloaded => {
                print::line("server: MySQL, which the run downloads first");
            }
            PlannedServer::Unpacked(archive) => print::line(format_args!(
                "server: the one in {}, which the run unpacks first",
                archive.display()
            )),
        }
    }
}

/// Prints the disk on which the files of the runs will be.
pub(crate) fn tell_location(location: &Path) {
    // The run may create the directory itself.
    let whole = std::path::absolute(location).unwrap_or_else(|_| location.into());
    let existing = whole.ancestors().find(|path| path.exists());
    let mount = existing.and_then(|path| filesystem::mount_of(path).ok().flatten());
    let on = mount.map_or_else(String::new, |it| format!(", {} on {}", it.file_system, it.source));
    print::line(format_args!("files lie in {}{on}", location.display()));
}

/// File systems that keep files in memory (`tmpfs(5)`).
const OF_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Warns if the disk to measure is memory.
pub(crate) fn warn_of_memory(experiment: &Experiment, study: &Path) {
    let is_in_files = |rig: &PlannedRig| match rig {
        PlannedRig::Directory => true,
        PlannedRig::Disk(disk) => !matches!(disk.base, DiskBase::Device(_)),
        PlannedRig::Endpoint(_) => false,
    };
    let mut rigs = experiment.variants.iter().map(|variant| &variant.rig);
    if experiment.server_host.is_some() || !rigs.any(is_in_files) {
        return;
    }
    let location = experiment.location.clone().unwrap_or_else(|| study.to_owned());
    let whole = std::path::absolute(&location).unwrap_or(location);
    let existing = whole.ancestors().find(|path| path.exists());
    let mount = existing.and_then(|path| filesystem::mount_of(path).ok().flatten());
    if let Some(mount) = mount.filter(|mount| OF_MEMORY.contains(&mount.file_system.as_str())) {
        log::warn!(
            "{} is memory ({}): what is measured is no disk; give a directory on one with \
             --location",
            whole.display(),
            mount.file_system
        );
    }
}
