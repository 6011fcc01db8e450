//! The monitor: every layer's counters, once a second, on one clock.
//!
//! Sample *n* is taken *n* seconds after the run's origin, so samples of the monitor and of the
//! load coincide. A second that is missed is skipped, never made up for. One thread reads the
//! kernel's counters; another reads the server, the directory and the drive, which may make a
//! reader wait, so that a stuck server costs only its own samples. Both stop at once when asked,
//! and have ended when the monitor is dropped.
//!
//! Relies on `/proc`, `/sys` and, if there is a server, one connection to it. Missing layers are
//! noted and left out.

mod clock;
mod cost;
mod cpu;
mod device_of_path;
mod disk;
mod drive;
mod family;
mod followed;
mod glimpse;
mod innodb;
mod interference;
mod model;
mod pool;
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
mod kernel_texts;
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
pub(crate) use declarable::declarable;
pub(crate) use followed::Followed;
pub use glimpse::Glimpse;
pub(crate) use process_snapshot::{ProcessSnapshot, TopUser};
pub(crate) use series::{Gap, Monitored, Sample};
pub(crate) use space::ROOM;
pub(crate) use throttle::{quota_cpus, throttled_s};

use clock::Meter;
use family::{Family, FamilyProbe};
use interference::Own;
use probe::{Notes, Probe};
use series::SeriesId;

use crate::rig::pool::PoolTarget;
use assay_mysql::Endpoint;
use assay_study::metrics::metric;
use assay_study::{Role, Unmonitored, Warning};

/// The things to monitor.
#[derive(Clone)]
pub(crate) struct Targets {
    /// `None` if it cannot be seen; the disk is the block device under it.
    pub(crate) data_dir: Option<PathBuf>,
    /// `None` if the server runs on another machine.
    pub(crate) server_pid: Option<Followed>,
    pub(crate) load_pid: u32,
    /// Needs PROCESS and, for bytes by kind of file, SELECT on performance_schema.
    pub(crate) server: Option<Endpoint>,
    /// True if metrics may be switched on in the server.
    pub(crate) is_server_ours: bool,
    pub(crate) drive: Option<DriveTarget>,
    pub(crate) pool: Option<PoolTarget>,
    /// Includes the CPUs, the load and the pool, which one of several servers monitors for all.
    pub(crate) with_machine: bool,
    /// Processes of other servers of the same run.
    pub(crate) neighbours: Vec<u32>,
    /// CPUs of the monitor itself; empty: all.
    pub(crate) cpus: Vec<usize>,
}

impl Targets {
    /// Monitors the machine and the load alone, which is this process.
    pub(crate) fn of_load(cpus: &[usize]) -> Targets {
        Targets {
            data_dir: None,
            server_pid: None,
            load_pid: std::process::id(),
            server: None,
            is_server_ours: false,
            drive: None,
            pool: None,
            with_machine: true,
            neighbours: Vec::new(),
            cpus: cpus.to_vec(),
        }
    }

    /// Own processes without the pool's, which have children.
    fn own_singles(&self) -> Vec<u32> {
        let neighbours = self.neighbours.iter().copied();
        self.server_pids().into_iter().chain([self.load_pid]).chain(neighbours).collect()
    }

    /// Processes of the server and of its drive.
    pub(crate) fn server_pids(&self) -> Vec<u32> {
        let drive = self.drive.as_ref().map(|drive| drive.pid);
        let server = self.server_pid.as_ref().and_then(Followed::pid);
        [server, drive].into_iter().flatten().collect()
    }

    /// All processes that belong to the run.
    pub(crate) fn own_pids(&self) -> Vec<u32> {
        let pool = self.pool.as_ref().and_then(|pool| pool.own_pid);
        let pool = pool.into_iter().flat_map(|pid| Family::new(pid).members());
        self.own_singles().into_iter().chain(pool).collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DriveTarget {
    /// The serving process.
    pub(crate) pid: u32,
    /// Renewed by that process whenever it is read.
    pub(crate) status_file: PathBuf,
    /// `None` if it is on another machine.
    pub(crate) media: Option<PathBuf>,
    pub(crate) kind: DriveKind,
}

/// The kind of disk that a process serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriveKind {
    Drive,
    Model,
    /// A plain image of a pool.
    Image,
}

#[derive(Debug)]
pub struct Monitor {
    origin: Instant,
    monitored: Arc<Mutex<Monitored>>,
    /// Each ends when its sender is dropped.
    threads: Vec<(Sender<()>, JoinHandle<()>)>,
}

impl Monitor {
    /// Opens every layer that exists and starts to sample; sample *n* is taken at `origin` + *n* s.
    ///
    /// # Errors
    /// The data directory or `/proc/stat` cannot be read, or no thread can be started.
    pub(crate) fn start(targets: Targets, origin: Instant) -> anyhow::Result<Monitor> {
        if let Some(directory) = &targets.data_dir {
            std::fs::metadata(directory)
                .with_context(|| format!("cannot monitor {}", directory.display()))?;
        }
        let mut notes = Notes::default();
        let groups = [
            kernel_probes(&targets, &mut notes)?,
            slow_probes(&targets, &mut notes),
            pool_probes(&targets, &mut notes),
        ];
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
        let threads =
            [("monitor-kernel", true), ("monitor-server", false), ("monitor-pool", false)];
        for (probes, (name, never_waits)) in groups.into_iter().zip(threads) {
            if probes.is_empty() {
                continue;
            }
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

    /// Follows these series while the monitor runs; series that are not monitored stay absent.
    pub fn glimpse<const N: usize>(&self, names: [&str; N]) -> Glimpse<N> {
        Glimpse::of(&self.monitored, names)
    }

    /// Stops the monitor and returns everything recorded.
    pub(crate) fn finish(mut self) -> Monitored {
        self.stop();
        std::mem::take(&mut self.monitored.lock())
    }

    fn stop(&mut self) {
        let (senders, handles): (Vec<_>, Vec<_>) = self.threads.drain(..).unzip();
        // A thread whose sender is dropped ends.
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
    let mut probes = match targets.with_machine {
        true => machine_probes(targets, notes)?,
        false => Vec::new(),
    };
    let media = targets.drive.as_ref().and_then(|drive| drive.media.as_deref());
    if let Some(directory) = &targets.data_dir {
        for disk in disk::probes_under(directory, media, notes) {
            probes.push(Box::new(disk));
        }
    }
    let processes = [
        (Role::Server, targets.server_pid.clone()),
        (Role::Daemon, targets.drive.as_ref().map(|drive| Followed::new(drive.pid))),
        (Role::Load, targets.with_machine.then(|| Followed::new(targets.load_pid))),
    ];
    for (role, followed) in processes {
        let Some((followed, pid)) =
            followed.and_then(|process| Some((process.clone(), process.pid()?)))
        else {
            continue;
        };
        match process::ProcessProbe::open(role, followed, pid, notes) {
            Ok(process) => probes.push(Box::new(process)),
            Err(error) => {
                notes.unmonitored(Unmonitored::Process { role, pid, error: error.to_string() });
            }
        }
    }
    if targets.with_machine {
        probes.push(Box::new(cost::CostProbe::new(metric!("monitor_kernel_cpu_percent"))));
    }
    Ok(probes)
}

/// The CPUs, and the processes of a private cluster.
fn machine_probes(targets: &Targets, notes: &mut Notes) -> anyhow::Result<Vec<Box<dyn Probe>>> {
    let family = targets.pool.as_ref().and_then(|pool| pool.own_pid).map(Family::new);
    let own = Own {
        pids: targets.own_singles(),
        followed: targets.server_pid.clone(),
        family: family.clone(),
    };
    let cpu = cpu::CpuProbe::open(own, notes)?;
    let family = family.map(|family| Box::new(FamilyProbe::new(family)) as Box<dyn Probe>);
    Ok([Box::new(cpu) as Box<dyn Probe>].into_iter().chain(family).collect())
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
        let is_shrunk = targets.drive.as_ref().is_some_and(|drive| drive.kind != DriveKind::Image);
        probes.push(Box::new(space::SpaceProbe::new(directory.clone(), is_shrunk)));
    }
    if let Some(drive) = &targets.drive {
        if drive.kind != DriveKind::Image {
            probes.push(Box::new(drive::DriveProbe::new(drive.status_file.clone())));
        }
        if drive.kind == DriveKind::Model {
            probes.push(Box::new(model::ModelProbe::new(drive.status_file.clone())));
        }
    }
    if targets.with_machine {
        probes.push(Box::new(cost::CostProbe::new(metric!("monitor_server_cpu_percent"))));
    }
    probes
}

/// Probes of the cluster, which may make their reader wait while stores come and go.
fn pool_probes(targets: &Targets, notes: &mut Notes) -> Vec<Box<dyn Probe>> {
    let target = targets.pool.as_ref().filter(|_| targets.with_machine);
    let Some(target) = target else { return Vec::new() };
    match pool::PoolProbe::open(target) {
        Ok(probe) => vec![Box::new(probe)],
        Err(error) => {
            notes.unmonitored(Unmonitored::Pool { error: format!("{error:#}") });
            Vec::new()
        }
    }
}
