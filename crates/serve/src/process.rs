//! The serving process: opens a drive, shows it, does its background work, and closes it when it is
//! unmounted.
//!
//! It ends with its mount, whatever removes that: `detach`, a signal, `umount`. The process that
//! started it receives one answer, over standard output.

use std::fs::{DirBuilder, File};
use std::io::BufRead;
use std::os::unix::fs::DirBuilderExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use assay_drive::Disk;
use assay_ports::fuse::{FuseMount, FuseOptions};
use assay_ports::loopdev;
use assay_ports::rank::{self, Rank};
use assay_ports::survival;

use super::answer::ServerAnswer;
use super::background::Background;
use super::changes::Changes;
use super::job::ServerJob;
use super::opened::Opened;
use super::powered::Powered;
use super::source::{HealthSource, MemoryProtection};
use super::{asked, first_answer, health_text, log as lasting, port, writer};
use assay_base::text::on_one_line;
use assay_system::daemon::answer;
use assay_system::interrupt;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::resource::ensure_unused_now;

/// Interval between checks for users of the device.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Serves the job on standard input until it is unmounted. `become_log` turns standard error into a
/// log, with a copy for the journal if there is one. If the drive cannot be closed, its directory
/// with the log stays for `assay clean`.
pub fn run(become_log: fn(Option<File>)) -> Result<ExitCode> {
    // It was started through `/proc/self/exe`; lists of processes show this name instead (proc(5),
    // comm).
    rustix::thread::set_name(c"assay")?;
    let survival = survive();
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text).context("no job was given")?;
    let job: ServerJob = serde_json::from_str(&text)
        .context("this command is internal; use `assay drive attach`")?;
    let served = match Served::bring_up(&job, survival, become_log) {
        Ok(served) => served,
        Err(error) => {
            let words = on_one_line(&format!("{error:#}"));
            if job.is_independent {
                log::error!("not attached: {words}");
            }
            answer(&ServerAnswer::Failed(words))?;
            return Ok(ExitCode::from(2));
        }
    };
    let health = served.shown.source.health();
    health_text::attached(&health).iter().for_each(|line| log::info!("{line}"));
    if answer(&ServerAnswer::Serving(Box::new(health))).is_err() {
        log::warn!("the process that attached the drive has ended; detaching it");
        served.shown.take_away_or_say();
    }
    match &served.shown.source.opened {
        Opened::Powered(powered) => cut_when_told(Arc::clone(powered))?,
        _ if job.export.keeps_time_when_told() => served.shown.keep_time_when_told()?,
        _ => say_no_more()?,
    }
    let code = served.until_it_is_taken_away()?;
    writer::forget(&job.media);
    Ok(code)
}

/// Protects this process against shortages, before it has a second thread: threads inherit the
/// protection.
fn survive() -> MemoryProtection {
    let oom_score_adj = survival::be_spared().ok();
    let io_flusher = survival::stay_out_of_write_back().is_ok();
    MemoryProtection { oom_score_adj, io_flusher }
}

/// Redirects standard output to the log: nobody waits for an answer any more.
fn say_no_more() -> Result<()> {
    Ok(rustix::stdio::dup2_stdout(rustix::stdio::stderr())?)
}

/// Raises the priority of threads that the model starts from now on. Without permission for that,
/// more commands are late, which is counted.
fn go_first(job: &ServerJob, rank: Rank) {
    if job.export.modelled().is_some()
        && let Err(error) = rank::take(rank)
    {
        log::info!("cannot raise the priority of the model's threads: {error}");
    }
}

/// Waits on a thread of its own for the order to cut the power, and answers after the cut.
fn cut_when_told(powered: Arc<Powered>) -> Result<()> {
    let wait = move || {
        let mut line = String::new();
        if !std::io::stdin().lock().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return;
        }
        // Failures from here on are intended.
        ::log::set_max_level(::log::LevelFilter::Off);
        let cut = serde_json::from_str(&line)
            .context("this is no order to cut the power")
            .and_then(|order| powered.cut(&order));
        let told = cut.map_or_else(
            |error| ServerAnswer::Failed(format!("{error:#}")),
            ServerAnswer::PowerCut,
        );
        answer(&told).unwrap_or_else(|error| log::warn!("{error:#}"));
    };
    std::thread::Builder::new().name("told".into()).spawn(wait)?;
    Ok(())
}

/// A served drive. Drop order: what shows it, its background work, its resources.
struct Served {
    shown: Arc<Shown>,
    background: Background,
    changes: Option<Changes>,
    made: Option<LedgerGuard>,
}

/// The visible side of a served drive.
struct Shown {
    mount: FuseMount,
    source: Arc<HealthSource>,
    /// A signal asked the server to end, but the disk is in use.
    is_to_go: AtomicBool,
}

impl Served {
    fn bring_up(
        job: &ServerJob,
        survival: MemoryProtection,
        become_log: fn(Option<File>),
    ) -> Result<Served> {
        let made = job.is_independent.then(|| stand_alone(job, become_log)).transpose()?;
        let began = Instant::now();
        let opened = Opened::open(job)?;
        let open_ms = began.elapsed().as_secs_f64() * 1e3;
        go_first(job, Rank::Background);
        let background = Background::begin(&opened)?;
        go_first(job, Rank::Answers);
        match show(job, opened.clone(), open_ms, survival) {
            Ok(shown) => {
                let source = Arc::clone(&shown.source);
                asked::answer(&job.directory, move || source.json()).unwrap_or_else(|error| {
                    log::warn!("its health is only available from its file: {error}")
                });
                let changes = shown.tell_changes(job)?;
                let made = made.map(LedgerGuard::mounted).transpose()?;
                Ok(Served { shown, background, changes, made })
            }
            Err(error) => {
                background.end();
                // The drive is unchanged; the error that counts is that it could not be shown.
                opened.close().unwrap_or_else(|failed| log::warn!("{failed}"));
                Err(error)
            }
        }
    }

    fn until_it_is_taken_away(self) -> Result<ExitCode> {
        let Served { shown, background, changes, made } = self;
        let ended = shown.mount.wait();
        drop(changes);
        background.end();
        match shown.source.close().and(ended.map_err(anyhow::Error::from)) {
            Ok(()) => {
                log::info!("detached and closed");
                made.map_or(Ok(()), LedgerGuard::remove).map(|()| ExitCode::SUCCESS)
            }
            Err(error) => {
                if let Some(made) = made {
                    made.leave();
                }
                Err(error)
            }
        }
    }
}

/// Becomes independent of the parent: with a session, a ledger and a log of its own.
fn stand_alone(job: &ServerJob, become_log: fn(Option<File>)) -> Result<LedgerGuard> {
    rustix::process::setsid().context("cannot begin a session")?;
    let made = make_directories(&Ledger::open()?, job)?;
    become_log(lasting::begin(&job.media)?);
    Ok(made)
}

/// Makes the server's directory, and the mount point if it lies there.
pub fn make_directories(ledger: &Arc<Ledger>, job: &ServerJob) -> Result<LedgerGuard> {
    let made = ledger.make_with_directory(&job.directory, |directory| job.resource(directory))?;
    if job.mount_point.starts_with(&job.directory) {
        let made = DirBuilder::new().mode(0o700).create(&job.mount_point);
        made.with_context(|| format!("cannot make {}", job.mount_point.display()))?;
    }
    Ok(made)
}

fn show(
    job: &ServerJob,
    opened: Opened,
    open_ms: f64,
    survival: MemoryProtection,
) -> Result<Arc<Shown>> {
    let source = Arc::new(HealthSource::new(job, opened.clone(), open_ms, survival)?);
    let options = FuseOptions {
        mount_point: job.mount_point.clone(),
        name: job.media.display().to_string(),
        threads: usize::from(job.options.threads),
        asked_by: Some(first_answer::command),
    };
    let texts = vec![HealthSource::text(Arc::clone(&source))];
    let mount = FuseMount::serve(options, opened.disk(), texts, opened.resize())?;
    if job.options.directory.is_none() {
        let file = mount.disk_path();
        match source.attachment.read_only {
            true => loopdev::attach_disk_read_only(&file)?,
            false => loopdev::attach_disk(&file, opened.largest_request_bytes())?,
        };
    }
    let shown = Arc::new(Shown { mount, source, is_to_go: AtomicBool::new(false) });
    let other = Arc::clone(&shown);
    interrupt::on_signal(move || other.go_when_unused())?;
    if let Err(error) = shown.begin_to_keep_time() {
        shown.take_away_or_say();
        return Err(error);
    }
    Ok(shown)
}

impl Shown {
    /// Measures the port while the model answers immediately; from then on the model takes its
    /// time.
    fn begin_to_keep_time(&self) -> Result<()> {
        let Opened::Model(stack) = &self.source.opened else { return Ok(()) };
        let disk = self.mount.disk_path();
        let place = self.source.devices()?.into_iter().next().unwrap_or(disk);
        let port = port::round_trip(&place, stack.top.size())?;
        stack.top.take_off(port);
        if let Some(recording) = &stack.recording {
            recording.begin(&self.source.trace_head(stack, port)?)?;
        }
        self.source.count_from_now(port, stack);
        if !self.source.keeps_time_when_told {
            stack.clock.start();
        }
        Ok(())
    }

    /// For drives only, whose log has readers: polling a model would cost its time.
    fn tell_changes(&self, job: &ServerJob) -> Result<Option<Changes>> {
        let is_told = job.is_independent && job.export.modelled().is_none();
        Ok(is_told.then(|| Changes::watch(Arc::clone(&self.source))).transpose()?)
    }

    /// Waits on a thread of its own for a line on standard input.
    fn keep_time_when_told(self: &Arc<Self>) -> Result<()> {
        let shown = Arc::clone(self);
        let wait = move || {
            if std::io::stdin().lock().read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0) {
                shown.source.keep_time();
                answer(&ServerAnswer::KeepsTime).unwrap_or_else(|error| log::warn!("{error:#}"));
            }
            say_no_more().unwrap_or_else(|error| log::warn!("{error:#}"));
        };
        std::thread::Builder::new().name("told".into()).spawn(wait)?;
        Ok(())
    }

    /// Ends the server after a signal: at once, or once the disk is unused. Killing it would cost
    /// the users of the disk their unflushed data.
    fn go_when_unused(self: &Arc<Self>) {
        let Err(error) = self.take_away() else { return };
        log::warn!("asked to end: {error:#}; serving on until then");
        if self.is_to_go.swap(true, Ordering::AcqRel) {
            return;
        }
        let shown = Arc::clone(self);
        let wait = move || {
            while shown.take_away().is_err() {
                std::thread::sleep(LOOK_EVERY);
            }
        };
        let waiting = std::thread::Builder::new().name("leaving".into()).spawn(wait);
        if let Err(error) = waiting {
            log::error!("{error}; unmount it, and try again");
        }
    }

    /// Removes devices and mount, which ends the server; a disk in use stays.
    fn take_away_or_say(&self) {
        self.take_away().unwrap_or_else(|error| log::error!("{error:#}; serving on"));
    }

    fn take_away(&self) -> Result<()> {
        let devices = self.source.devices()?;
        devices.iter().try_for_each(|device| ensure_unused_now(device))?;
        for device in &devices {
            // Data that the media refuse are lost, but do not prevent detaching.
            loopdev::hand_over(device).unwrap_or_else(|error| log::warn!("{error}"));
        }
        let place = self.mount.mount_point();
        devices.iter().try_for_each(|device| loopdev::detach(device, place))?;
        Ok(self.mount.unmount()?)
    }
}
