//! The watch: every layer's counters, once a second, on one clock.
//!
//! Sample *n* is taken *n* seconds after the origin that the run hands in, so samples of the watch and of the load
//! fall together. A second that cannot be kept is skipped, never made up for. Kernel counters are read by one
//! thread; the server and the folder, which may make a reader wait, by another, so that a stuck server costs its
//! own samples and no others. Both stop at once when asked, and are gone when the watch is dropped.
//!
//! Relies on `/proc`, `/sys` and, if there is a server, one connection to it. Layers that are not there are noted
//! and left out.

mod clock;
mod cost;
mod cpu;
mod device;
mod disk;
mod innodb;
mod probe;
mod process;
mod procfile;
mod series;
mod sheet;
mod space;

#[cfg(test)]
mod live_tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;

pub(crate) use device::Device;
pub(crate) use series::{Layer, Mark, Sample, SeriesId, SeriesInfo, Watched, totals_between};

use clock::{Command, Meter};
use probe::{Notes, Probe};

/// How long a mark waits for the slower thread, so that what follows it is surely behind it.
const MARK_PATIENCE: Duration = Duration::from_secs(1);

/// What to watch.
#[derive(Clone)]
pub(crate) struct Targets {
    /// The server's data directory; the disk is the block device under it.
    pub(crate) data_dir: PathBuf,
    /// The server's process, if it runs on this machine.
    pub(crate) server_pid: Option<u32>,
    /// The load generator's process, commonly our own.
    pub(crate) load_pid: u32,
    /// How to reach the server, if there is one; needs PROCESS and, for bytes by kind of file, SELECT on
    /// performance_schema.
    pub(crate) mysql: Option<mysql::Opts>,
    /// Where the watch may run; empty: anywhere.
    pub(crate) cpus: Vec<usize>,
}

/// A running watch.
#[derive(Debug)]
pub(crate) struct Watch {
    origin: Instant,
    shared: Arc<Mutex<Shared>>,
    threads: Vec<(Sender<Command>, JoinHandle<()>)>,
}

/// What the threads have seen so far.
#[derive(Debug, Default)]
struct Shared {
    watched: Watched,
    /// The last second that each thread has dealt with.
    done: Vec<u32>,
}

/// A thread that fell behind by more than this no longer holds samples back.
const BEHIND_MAX_SECONDS: u32 = 6;

impl Watch {
    /// Opens every layer that is there and begins to sample; sample *n* is taken at `origin` + *n* s.
    ///
    /// # Errors
    /// When the data directory or `/proc/stat` cannot be read, or no thread can be started.
    pub(crate) fn start(targets: Targets, origin: Instant) -> anyhow::Result<Watch> {
        std::fs::metadata(&targets.data_dir)
            .with_context(|| format!("cannot watch {}", targets.data_dir.display()))?;
        let mut notes = Notes::default();
        let groups = [kernel_probes(&targets, &mut notes)?, slow_probes(&targets, &mut notes)];
        let series = groups.iter().flatten().flat_map(|probe| probe.sheet().infos().cloned());
        let watched =
            Watched { series: series.collect(), notes: notes.take_new(), ..Watched::default() };
        let shared = Shared { watched, done: vec![0; groups.len()] };
        let mut watch = Watch { origin, shared: Arc::new(Mutex::new(shared)), threads: Vec::new() };
        let mut first: SeriesId = 0;
        for (number, probes) in groups.into_iter().enumerate() {
            let meters = Meter::line_up(probes, &mut first)?;
            watch.spawn(number, meters, targets.cpus.clone())?;
        }
        Ok(watch)
    }

    fn spawn(&mut self, number: usize, meters: Vec<Meter>, cpus: Vec<usize>) -> anyhow::Result<()> {
        let (sender, commands) = channel();
        let clock = clock::Clock {
            number,
            origin: self.origin,
            shared: Arc::clone(&self.shared),
            meters,
            notes: Notes::default(),
        };
        let handle = std::thread::Builder::new()
            .name(format!("watch-{number}"))
            .spawn(move || clock.run(&commands, &cpus))
            .context(
                "cannot start a thread for the watch; raise the limit on processes (ulimit -u)",
            )?;
        self.threads.push((sender, handle));
        Ok(())
    }

    /// What the samples' positions mean; fixed from the start.
    pub(crate) fn series(&self) -> Vec<SeriesInfo> {
        lock(&self.shared).watched.series.clone()
    }

    /// The newest complete sample, for a live view.
    pub(crate) fn latest(&self) -> Option<Sample> {
        lock(&self.shared).complete_after(0).last().cloned()
    }

    /// Complete samples of the seconds after `second`, to be stored as soon as they exist.
    pub(crate) fn since(&self, second: u32) -> Vec<Sample> {
        lock(&self.shared).complete_after(second).to_vec()
    }

    /// Notes so far.
    pub(crate) fn notes(&self) -> Vec<String> {
        lock(&self.shared).watched.notes.clone()
    }

    /// Reads every cumulative counter now and keeps it under `name`, which should not be used twice. Returns when
    /// all layers have been read, at the latest after a second.
    pub(crate) fn mark(&self, name: &str) {
        let at_seconds = self.origin.elapsed().as_secs_f64();
        let mark = Mark { name: name.to_owned(), at_seconds, ..Mark::default() };
        let place = {
            let marks = &mut lock(&self.shared).watched.marks;
            marks.push(mark);
            marks.len() - 1
        };
        let (done, answers) = channel();
        for (commands, _) in &self.threads {
            // A thread that has ended has nothing to add.
            let _ = commands.send(Command::Mark(place, done.clone()));
        }
        drop(done);
        let deadline = Instant::now() + MARK_PATIENCE;
        // Ends when every thread has dropped its sender, or time is up.
        let left = || deadline.saturating_duration_since(Instant::now());
        while answers.recv_timeout(left()).is_ok() {}
    }

    /// What every counter grew by between two marks, e.g. over the measuring window.
    pub(crate) fn totals(&self, from: &str, to: &str) -> Option<BTreeMap<String, f64>> {
        lock(&self.shared).watched.totals(from, to)
    }

    /// Stops and hands over everything seen.
    pub(crate) fn finish(mut self) -> Watched {
        self.stop();
        std::mem::take(&mut lock(&self.shared).watched)
    }

    fn stop(&mut self) {
        let (senders, handles): (Vec<_>, Vec<_>) = self.threads.drain(..).unzip();
        // Without its sender a thread wakes up and ends.
        drop(senders);
        for handle in handles {
            if handle.join().is_err() {
                let note = "a thread of the watch ended early; later samples lack its layers";
                lock(&self.shared).watched.notes.push(note.into());
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Puts values into the sample of `second`; both threads do, in either order.
    fn add(&mut self, number: usize, second: u32, values: &[(SeriesId, f64)]) {
        let samples = &mut self.watched.samples;
        match samples.binary_search_by_key(&second, |sample| sample.second) {
            Ok(place) => samples[place].values.extend_from_slice(values),
            Err(place) => samples.insert(place, Sample { second, values: values.to_vec() }),
        }
        self.done[number] = second;
    }

    fn complete_after(&self, second: u32) -> &[Sample] {
        let newest = self.done.iter().copied().max().unwrap_or(0);
        let oldest = self.done.iter().copied().min().unwrap_or(0);
        let complete = oldest.max(newest.saturating_sub(BEHIND_MAX_SECONDS));
        let samples = &self.watched.samples;
        let begin = samples.partition_point(|sample| sample.second <= second);
        let end = samples.partition_point(|sample| sample.second <= complete);
        samples.get(begin..end).unwrap_or_default()
    }
}

/// Probes that never wait: reading them costs microseconds.
fn kernel_probes(targets: &Targets, notes: &mut Notes) -> anyhow::Result<Vec<Box<dyn Probe>>> {
    let mut probes: Vec<Box<dyn Probe>> = vec![Box::new(cpu::CpuProbe::open()?)];
    for disk in disk::probes_under(&targets.data_dir, notes) {
        probes.push(Box::new(disk));
    }
    let processes = [(Layer::Server, targets.server_pid), (Layer::Load, Some(targets.load_pid))];
    for (layer, pid) in processes {
        let Some(pid) = pid else { continue };
        match process::ProcessProbe::open(layer, pid, notes) {
            Ok(process) => probes.push(Box::new(process)),
            Err(error) => {
                let name = layer.name();
                notes.once(format!("the {name} process {pid} is not watched: {error}"));
            }
        }
    }
    probes.push(Box::new(cost::CostProbe::new("kernel")));
    Ok(probes)
}

/// Probes that may make their reader wait.
fn slow_probes(targets: &Targets, notes: &mut Notes) -> Vec<Box<dyn Probe>> {
    let mut probes: Vec<Box<dyn Probe>> = Vec::new();
    if let Some(opts) = &targets.mysql {
        match innodb::InnodbProbe::open(opts, notes) {
            Ok(innodb) => probes.push(Box::new(innodb)),
            Err(error) => notes.once(format!("the server is not watched from inside: {error}")),
        }
    }
    probes.push(Box::new(space::SpaceProbe::new(targets.data_dir.clone())));
    probes.push(Box::new(cost::CostProbe::new("server")));
    probes
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked left whole samples: each is added in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
