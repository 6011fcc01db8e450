//! The serving process: opens a drive, shows it, works in its background, and closes it when it is taken away.
//!
//! It ends when its mount is gone, whoever took it: `detach`, a signal, `umount`. Who attached it hears from it once,
//! over its standard output.

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

use super::answer::Answer;
use super::background::Background;
use super::changes::Changes;
use super::job::Job;
use super::opened::Opened;
use super::powered::Powered;
use super::source::{Source, Survival};
use super::{asked, first_answer, health_text, log as lasting, port, writer};
use assay_base::text::on_one_line;
use assay_system::daemon::answer;
use assay_system::interrupt;
use assay_system::ledger::{Ledger, Made};
use assay_system::resource::ensure_unused_now;

/// How often it is looked whether anybody still uses what is to go.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Serves what standard input tells of until it is taken away. `become_log` makes standard error a log, and gives the
/// journal the same, where there is one.
///
/// # Errors
/// The drive could not be closed; then its directory with the log stays for `assay clean`.
pub fn run(become_log: fn(Option<File>)) -> Result<ExitCode> {
    // It was started by a path that says nothing; lists of processes show this (proc(5), comm).
    rustix::thread::set_name(c"assay")?;
    let survival = survive();
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text).context("no job was given")?;
    let job: Job = serde_json::from_str(&text)
        .context("this command is internal; use `assay drive attach`")?;
    let served = match Served::bring_up(&job, survival, become_log) {
        Ok(served) => served,
        Err(error) => {
            let words = on_one_line(&format!("{error:#}"));
            if job.is_independent {
                log::error!("not attached: {words}");
            }
            answer(&Answer::Failed(words))?;
            return Ok(ExitCode::from(2));
        }
    };
    let health = served.shown.source.health();
    health_text::attached(&health).iter().for_each(|line| log::info!("{line}"));
    if answer(&Answer::Serving(Box::new(health))).is_err() {
        log::warn!("the process that attached the drive has ended; detaching it");
        served.shown.take_away_or_say();
    }
    match &served.shown.source.opened {
        Opened::Powered(powered) => cut_when_told(Arc::clone(powered))?,
        _ if job.options.keeps_time_when_told => served.shown.keep_time_when_told()?,
        _ => say_no_more()?,
    }
    let code = served.until_it_is_taken_away()?;
    writer::forget(&job.media);
    Ok(code)
}

/// Makes this process outlive what it can, before it has a second thread: all of them inherit it.
fn survive() -> Survival {
    let oom_score_adj = survival::be_spared().ok();
    let io_flusher = survival::stay_out_of_write_back().is_ok();
    Survival { oom_score_adj, io_flusher }
}

/// What is said from now on is for the log: nobody waits for an answer.
fn say_no_more() -> Result<()> {
    Ok(rustix::stdio::dup2_stdout(rustix::stdio::stderr())?)
}

/// The threads of a model that are started from now on go before others; where it is not allowed, more is late, which is
/// counted.
fn go_first(job: &Job, rank: Rank) {
    if job.options.model.is_some()
        && let Err(error) = rank::take(rank)
    {
        log::info!("cannot raise the priority of the model's threads: {error}");
    }
}

/// Waits on a thread of its own for the order to let the power go, and answers when it has.
fn cut_when_told(powered: Arc<Powered>) -> Result<()> {
    let wait = move || {
        let mut line = String::new();
        if !std::io::stdin().lock().read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return;
        }
        // What fails from here on is meant to.
        ::log::set_max_level(::log::LevelFilter::Off);
        let cut = serde_json::from_str(&line)
            .context("this is no order to cut the power")
            .and_then(|order| powered.cut(&order));
        let told = cut.map_or_else(|error| Answer::Failed(format!("{error:#}")), Answer::PowerCut);
        answer(&told).unwrap_or_else(|error| log::warn!("{error:#}"));
    };
    std::thread::Builder::new().name("told".into()).spawn(wait)?;
    Ok(())
}

/// A drive that is served. Dropped from the top: what shows it, its background work, what is on the machine.
struct Served {
    shown: Arc<Shown>,
    background: Background,
    changes: Option<Changes>,
    made: Option<Made>,
}

/// What others see of it.
struct Shown {
    mount: FuseMount,
    source: Arc<Source>,
    /// A signal asked it to end, and what uses it keeps it.
    is_to_go: AtomicBool,
}

impl Served {
    fn bring_up(job: &Job, survival: Survival, become_log: fn(Option<File>)) -> Result<Served> {
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
                asked::answer(&job.directory, move || source.told()).unwrap_or_else(|error| {
                    log::warn!("its health is only available from its file: {error}")
                });
                let changes = shown.tell_changes(job)?;
                let made = made.map(Made::mounted).transpose()?;
                Ok(Served { shown, background, changes, made })
            }
            Err(error) => {
                background.end();
                // It is as it was; that it could not be shown is what matters.
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
                made.map_or(Ok(()), Made::remove).map(|()| ExitCode::SUCCESS)
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

/// Leaves the company of whoever started this: a session, a ledger and a log of its own.
fn stand_alone(job: &Job, become_log: fn(Option<File>)) -> Result<Made> {
    rustix::process::setsid().context("cannot begin a session")?;
    let made = make_directories(&Ledger::open()?, job)?;
    become_log(lasting::begin(&job.media)?);
    Ok(made)
}

/// Makes the server's directory, and the one to mount on if that lies there.
///
/// # Errors
/// What the system answered.
pub fn make_directories(ledger: &Arc<Ledger>, job: &Job) -> Result<Made> {
    let made = ledger.make_with_directory(&job.directory, |directory| job.resource(directory))?;
    if job.mount_point.starts_with(&job.directory) {
        let made = DirBuilder::new().mode(0o700).create(&job.mount_point);
        made.with_context(|| format!("cannot make {}", job.mount_point.display()))?;
    }
    Ok(made)
}

fn show(job: &Job, opened: Opened, open_ms: f64, survival: Survival) -> Result<Arc<Shown>> {
    let source = Arc::new(Source::new(job, opened.clone(), open_ms, survival)?);
    let options = FuseOptions {
        mount_point: job.mount_point.clone(),
        name: job.media.display().to_string(),
        threads: usize::from(job.options.threads),
        asked_by: Some(first_answer::command),
    };
    let texts = vec![Source::text(Arc::clone(&source))];
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
    /// Finds out what the port takes, while the model answers at once; from then on it takes its time.
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

    /// Only of a drive, whose log somebody may read: looking at a model would cost its time.
    fn tell_changes(&self, job: &Job) -> Result<Option<Changes>> {
        let is_told = job.is_independent && job.options.model.is_none();
        Ok(is_told.then(|| Changes::watch(Arc::clone(&self.source))).transpose()?)
    }

    /// Waits on a thread of its own for a line on standard input.
    fn keep_time_when_told(self: &Arc<Self>) -> Result<()> {
        let shown = Arc::clone(self);
        let wait = move || {
            if std::io::stdin().lock().read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0) {
                shown.source.keep_time();
                answer(&Answer::KeepsTime).unwrap_or_else(|error| log::warn!("{error:#}"));
            }
            say_no_more().unwrap_or_else(|error| log::warn!("{error:#}"));
        };
        std::thread::Builder::new().name("told".into()).spawn(wait)?;
        Ok(())
    }

    /// A signal asks it to end: at once, or once nobody uses it any more. Killing it instead would cost whoever has it
    /// mounted what was not flushed.
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

    /// Takes devices and mount away, which ends the serving; what is in use stays.
    fn take_away_or_say(&self) {
        self.take_away().unwrap_or_else(|error| log::error!("{error:#}; serving on"));
    }

    fn take_away(&self) -> Result<()> {
        let devices = self.source.devices()?;
        devices.iter().try_for_each(|device| ensure_unused_now(device))?;
        for device in &devices {
            // What media do not take any more is lost, but does not keep the drive from being taken away.
            loopdev::hand_over(device).unwrap_or_else(|error| log::warn!("{error}"));
        }
        let place = self.mount.mount_point();
        devices.iter().try_for_each(|device| loopdev::detach(device, place))?;
        Ok(self.mount.unmount()?)
    }
}
