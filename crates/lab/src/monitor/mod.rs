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
mod device_of_path;
mod disk;
mod drive;
mod family;
mod followed;
mod glimpse;
mod innodb;
mod model;
mod others;
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
pub use declarable::declarable;
pub use followed::Followed;
pub use glimpse::Glimpse;
pub use process_snapshot::{ProcessSnapshot, TopUser};
pub use series::{Gap, Monitored};
pub use space::ROOM;
pub(crate) use throttle::{quota_cpus, throttled_s};

use clock::Meter;
use family::{Family, FamilyProbe};
use others::Own;
use probe::{Notes, Probe};
use series::SeriesId;

use crate::rig::pool::PoolTarget;
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
    /// The pool under the data, if there is one.
    pub pool: Option<PoolTarget>,
    /// Whether the machine is monitored too: its CPUs, the load, the pool. Of several servers at once with one of them.
    pub with_machine: bool,
    /// Further processes that have a part in what is measured: those of other servers.
    pub beside: Vec<u32>,
    /// Where the monitor may run; empty: anywhere.
    pub cpus: Vec<usize>,
}

impl Targets {
    /// The machine and the load alone, which is this process.
    pub fn of_load(cpus: &[usize]) -> Targets {
        Targets {
            data_dir: None,
            server_pid: None,
            load_pid: std::process::id(),
            server: None,
            is_server_ours: false,
            drive: None,
            pool: None,
            with_machine: true,
            beside: Vec::new(),
            cpus: cpus.to_vec(),
        }
    }

    /// Of the processes that have a part in what is measured those that have no children.
    fn own_singles(&self) -> Vec<u32> {
        let beside = self.beside.iter().copied();
        self.server_pids().into_iter().chain([self.load_pid]).chain(beside).collect()
    }

    /// The processes of its server and of what serves its disk.
    pub fn server_pids(&self) -> Vec<u32> {
        let drive = self.drive.as_ref().map(|drive| drive.pid);
        let server = self.server_pid.as_ref().and_then(Followed::pid);
        [server, drive].into_iter().flatten().collect()
    }

    /// The processes that have a part in what is measured.
    pub fn own_pids(&self) -> Vec<u32> {
        let pool = self.pool.as_ref().and_then(|pool| pool.own_pid);
        let pool = pool.into_iter().flat_map(|pid| Family::new(pid).members());
        self.own_singles().into_iter().chain(pool).collect()
    }
}

/// A drive to monitor.
#[derive(Debug, Clone)]
pub struct DriveTarget {
    /// The process that serves it.
    pub pid: u32,
    /// Where that process tells how the drive is.
    pub status_file: PathBuf,
    /// The file or device that it lies on, where it is on this machine.
    pub media: Option<PathBuf>,
    /// What is served.
    pub kind: DriveKind,
}

/// What a process serves as a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveKind {
    /// The software drive.
    Drive,
    /// A device's model.
    Model,
    /// An image of a pool, as it is.
    Image,
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

/// What a cluster tells, which may make its reader wait while its stores come and go.
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
