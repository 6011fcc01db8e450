//! The monitor: every layer's counters, once a second, on one clock.
//!
//! Sample *n* is taken *n* seconds after the origin that the run hands in, so samples of the monitor and of the load fall
//! together. A second that cannot be kept is skipped, never made up for. Kernel counters are read by one thread; the
//! server, the directory and the drive, which may make a reader wait, by another, so that a stuck server costs its own
//! samples and no others. Both stop at once when asked, and are gone when the monitor is dropped.
//!
//! Relies on `/proc`, `/sys` and, if there is a server, one connection to it. Layers that are not there are noted
//! and left out.

mod clock;
mod cost;
mod cpu;
mod device;
mod disk;
mod drive;
mod followed;
mod glimpse;
mod innodb;
mod model;
mod others;
mod probe;
mod process;
mod process_snapshot;
mod procfile;
mod series;
mod sheet;
mod space;
#[cfg(test)]
mod testing;
mod throttle;

#[cfg(test)]
mod declarable;
#[cfg(test)]
mod live_tests;

use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::Context;

pub(crate) use cpu::{CpuSeconds, cpu_seconds};
#[cfg(test)]
pub use declarable::declarable;
pub use followed::Followed;
pub use glimpse::Glimpse;
pub use process_snapshot::{ProcessSnapshot, TopUser};
pub use series::{Gap, Monitored};
pub use space::ROOM;
pub(crate) use throttle::{quota_cpus, throttled_s};

use clock::Meter;
use probe::{Notes, Probe};
use series::SeriesId;

use assay_mysql::Endpoint;
use assay_study::metrics::metric;
use assay_study::{Role, Unmonitored, Warning};

/// What to monitor.
#[derive(Clone)]
pub struct Targets {
    /// The server's data directory, where it can be seen; the disk is the block device under it.
    pub data_dir: Option<PathBuf>,
    /// The server's process, if it runs on this machine.
    pub server_pid: Option<Followed>,
    /// The load generator's process, commonly our own.
    pub load_pid: u32,
    /// How to reach the server, if there is one; needs PROCESS and, for bytes by kind of file, SELECT on
    /// performance_schema.
    pub server: Option<Endpoint>,
    /// Whether the server is ours to change: to have it count what it does not count by itself.
    pub is_server_ours: bool,
    /// The software drive under the data, if there is one.
    pub drive: Option<DriveTarget>,
    /// Where the monitor may run; empty: anywhere.
    pub cpus: Vec<usize>,
}

impl Targets {
    /// The processes that have a part in what is measured.
    pub fn own_pids(&self) -> Vec<u32> {
        let drive = self.drive.as_ref().map(|drive| drive.pid);
        let server = self.server_pid.as_ref().and_then(Followed::pid);
        [server, drive, Some(self.load_pid)].into_iter().flatten().collect()
    }
}

/// A drive to monitor.
#[derive(Debug, Clone)]
pub struct DriveTarget {
    /// The process that serves it.
    pub pid: u32,
    /// Where that process tells how the drive is.
    pub status_file: PathBuf,
    /// The file or device that it lies on.
    pub media: PathBuf,
    /// Whether it is a device's model.
    pub is_model: bool,
}

/// A running monitor.
#[derive(Debug)]
pub struct Monitor {
    origin: Instant,
    monitored: Arc<Mutex<Monitored>>,
    /// Each ends when its sender is gone.
    threads: Vec<(Sender<()>, JoinHandle<()>)>,
}

impl Monitor {
    /// Opens every layer that is there and begins to sample; sample *n* is taken at `origin` + *n* s.
    ///
    /// # Errors
    /// When the data directory or `/proc/stat` cannot be read, or no thread can be started.
    pub fn start(targets: Targets, origin: Instant) -> anyhow::Result<Monitor> {
        if let Some(directory) = &targets.data_dir {
            std::fs::metadata(directory)
                .with_context(|| format!("cannot monitor {}", directory.display()))?;
        }
        let mut notes = Notes::default();
        let groups = [kernel_probes(&targets, &mut notes)?, slow_probes(&targets, &mut notes)];
        let series = groups.iter().flatten().flat_map(|probe| probe.sheet().infos().cloned());
        let monitored = Monitored {
            series: series.collect(),
            facts: notes.take_facts(),
            warnings: notes.take_new(),
            ..Monitored::default()
        };
        let monitored = Arc::new(Mutex::new(monitored));
        let mut monitor = Monitor { origin, monitored, threads: Vec::new() };
        let mut first: SeriesId = 0;
        let threads = [("monitor-kernel", true), ("monitor-server", false)];
        for (probes, (name, never_waits)) in groups.into_iter().zip(threads) {
            let meters = Meter::line_up(probes, &mut first)?;
            monitor.spawn(name, meters, targets.cpus.clone(), never_waits)?;
        }
        Ok(monitor)
    }

    fn spawn(
        &mut self,
        name: &str,
        meters: Vec<Meter>,
        cpus: Vec<usize>,
        never_waits: bool,
    ) -> anyhow::Result<()> {
        let (sender, stop) = channel();
        let clock = clock::Clock {
            origin: self.origin,
            monitored: Arc::clone(&self.monitored),
            meters,
            notes: Notes::default(),
            tells_gaps: never_waits,
        };
        let handle = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || clock.run(&stop, &cpus))
            .context("cannot start a monitor thread; raise the limit on processes (ulimit -u)")?;
        self.threads.push((sender, handle));
        Ok(())
    }

    /// A look at these series while it goes on; names that are not monitored stay absent.
    pub fn glimpse<const N: usize>(&self, names: [&str; N]) -> Glimpse<N> {
        Glimpse::of(&self.monitored, names)
    }

    /// Stops and hands over everything seen.
    pub fn finish(mut self) -> Monitored {
        self.stop();
        std::mem::take(&mut self.monitored.lock())
    }

    fn stop(&mut self) {
        let (senders, handles): (Vec<_>, Vec<_>) = self.threads.drain(..).unzip();
        // Without its sender a thread wakes up and ends.
        drop(senders);
        for handle in handles {
            if handle.join().is_err() {
                let warning = Warning::Unmonitored(Unmonitored::ThreadEnded);
                self.monitored.lock().warnings.push(warning);
            }
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Probes that never wait: reading them costs microseconds.
fn kernel_probes(targets: &Targets, notes: &mut Notes) -> anyhow::Result<Vec<Box<dyn Probe>>> {
    let cpu = cpu::CpuProbe::open(&targets.own_pids(), targets.server_pid.clone(), notes)?;
    let mut probes: Vec<Box<dyn Probe>> = vec![Box::new(cpu)];
    let media = targets.drive.as_ref().map(|drive| drive.media.as_path());
    if let Some(directory) = &targets.data_dir {
        for disk in disk::probes_under(directory, media, notes) {
            probes.push(Box::new(disk));
        }
    }
    let processes = [
        (Role::Server, targets.server_pid.clone()),
        (Role::Daemon, targets.drive.as_ref().map(|drive| Followed::new(drive.pid))),
        (Role::Load, Some(Followed::new(targets.load_pid))),
    ];
    for (role, followed) in processes {
        let Some((followed, pid)) = followed.and_then(|one| Some((one.clone(), one.pid()?))) else {
            continue;
        };
        match process::ProcessProbe::open(role, followed, pid, notes) {
            Ok(process) => probes.push(Box::new(process)),
            Err(error) => {
                notes.unmonitored(Unmonitored::Process { role, pid, error: error.to_string() });
            }
        }
    }
    probes.push(Box::new(cost::CostProbe::new(metric!("monitor_kernel_cpu_percent"))));
    Ok(probes)
}

/// Probes that may make their reader wait.
fn slow_probes(targets: &Targets, notes: &mut Notes) -> Vec<Box<dyn Probe>> {
    let mut probes: Vec<Box<dyn Probe>> = Vec::new();
    if let Some(endpoint) = &targets.server {
        let process = targets.server_pid.clone();
        match innodb::InnodbProbe::open(endpoint, process, targets.is_server_ours, notes) {
            Ok(innodb) => probes.push(Box::new(innodb)),
            Err(error) => notes.unmonitored(Unmonitored::Server { error: error.to_string() }),
        }
    }
    if let Some(directory) = &targets.data_dir {
        let is_shrunk = targets.drive.is_some();
        probes.push(Box::new(space::SpaceProbe::new(directory.clone(), is_shrunk)));
    }
    if let Some(drive) = &targets.drive {
        probes.push(Box::new(drive::DriveProbe::new(drive.status_file.clone())));
        if drive.is_model {
            probes.push(Box::new(model::ModelProbe::new(drive.status_file.clone())));
        }
    }
    probes.push(Box::new(cost::CostProbe::new(metric!("monitor_server_cpu_percent"))));
    probes
}
