//! Starting the process that serves a drive, and hearing from it.
//!
//! It serves on its own ([`start`]), as after `assay drive attach`, or it belongs to this process ([`Attached`]), whose
//! ledger then holds what it makes and with which it dies.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use assay_models::power::Survival;
use assay_ports::child::{self, Child, describe};
use assay_ports::file_id::FileId;
use assay_ports::mount_holders::{self, Holder};
use assay_ports::waiting::Waiting;

use super::answer::Answer;
use super::health::{Health, STATUS_FILE};
use super::job::{AttachOptions, Job};
use super::open::ensure_tellable;
use super::powered::CutOrder;
use super::process::make_directories;
use assay_system::daemon::{Life, Line};
use assay_system::ledger::{Ledger, Made};
use assay_system::{new_name, state};

/// How long a server may take to close its drive: a last checkpoint.
pub(crate) const CLOSE_PATIENCE: Duration = Duration::from_secs(120);

/// How long a server that has closed its output may take to end.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// How long it may take to end while others keep its device: nothing is lost that was flushed.
const HELD_PATIENCE: Duration = Duration::from_secs(5);

/// A drive that is served for this process. Dropped, it is closed if nobody uses it, and killed otherwise.
#[derive(Debug)]
pub struct Attached {
    /// How it was when it was attached, and where it is.
    pub health: Health,
    /// Where its health can be read as it is now.
    pub status_file: PathBuf,
    /// Whether its model waits to be told, see [`Attached::keep_time`].
    pub keeps_time_when_told: bool,
    server: Child,
    line: Line,
    made: Option<Made>,
}

/// Has the drive on `media`, an absolute path without links, served by a process that outlives this one.
///
/// # Errors
/// One line, the server's own; nothing is left then.
pub fn start(media: &Path, options: &AttachOptions) -> Result<Health> {
    let job = job(media, options, true)?;
    let (mut command, mut line) = line_to(&job)?;
    let mut server = command.spawn().context("cannot start the serving process")?;
    drop(command);
    let heard = tell(&mut line, &job);
    if let Ok(Some(health)) = heard {
        return Ok(health);
    }
    let status = server.wait()?;
    heard.and_then(|_| bail!("the serving process ended immediately with {}", describe(status)))
}

impl Attached {
    /// Has the drive on `media`, an absolute path without links, served by a child of this process on the CPUs
    /// given (empty: wherever the kernel likes).
    ///
    /// # Errors
    /// One line, the server's own; nothing is left then.
    pub fn start(
        media: &Path,
        options: &AttachOptions,
        ledger: &Arc<Ledger>,
        cpus: &[usize],
    ) -> Result<Attached> {
        let job = job(media, options, false)?;
        let made = make_directories(ledger, &job)?;
        let (command, mut line) = line_to(&job)?;
        let mut server = child::spawn(command, cpus).context("cannot start the serving process")?;
        let heard = tell(&mut line, &job);
        if let Ok(Some(health)) = heard {
            let status_file = job.mount_point.join(STATUS_FILE);
            let keeps_time_when_told = options.keeps_time_when_told;
            let made = Some(made.mounted()?);
            return Ok(Attached { health, status_file, keeps_time_when_told, server, line, made });
        }
        let status = server.wait(END_PATIENCE)?.map_or_else(|| server.kill(), Ok)?;
        heard.and_then(|_| bail!("the serving process ended immediately with {}", describe(status)))
    }

    /// Number of the serving process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// From now on a model keeps time that was to do so when it is told.
    ///
    /// # Errors
    /// The server has ended.
    pub fn keep_time(&mut self) -> Result<()> {
        match self.line.ask("keep time")? {
            Some(Answer::KeepsTime) => Ok(()),
            _ => bail!("the server of {} does not answer", self.health.media.display()),
        }
    }

    /// Lets the power of its media go as ordered, waits until it has, and tells what survived. From then on it answers
    /// nothing; see [`Attached::stop_without_power`].
    ///
    /// # Errors
    /// Its power cannot be cut, or its server has ended.
    pub fn cut_power(&mut self, order: &CutOrder) -> Result<Survival> {
        match self.line.ask(&serde_json::to_string(order)?)? {
            Some(Answer::PowerCut(survival)) => Ok(survival),
            Some(Answer::Failed(reason)) => bail!(reason),
            _ => bail!("the server of {} does not answer", self.health.media.display()),
        }
    }

    /// Takes all of it away after a power cut: nothing is closed, for nothing can be written any more.
    ///
    /// # Errors
    /// What is still in use.
    pub fn stop_without_power(mut self) -> Result<()> {
        self.server.kill()?;
        self.made.take().map_or(Ok(()), Made::remove)
    }

    /// How the serving process ended, in words, or nothing while it runs.
    ///
    /// # Errors
    /// What the system answered.
    pub fn ended(&mut self) -> Result<Option<String>> {
        Ok(self.server.ended()?.map(describe))
    }

    /// Closes the drive and takes all of it away. What is in use is not waited for for ever.
    ///
    /// # Errors
    /// The drive could not be closed; what was flushed is there all the same.
    pub fn stop(mut self) -> Result<()> {
        let holders = self.holders();
        if let Some(holder) = holders.first() {
            // The server would wait for the device until they have ended.
            self.server.stop(HELD_PATIENCE)?;
            let removed = self.made.take().map_or(Ok(()), Made::remove);
            let held = || format!("{holder} has its file system in a mount namespace of its own");
            return removed.with_context(held);
        }
        let _waiting = self.waiting_for_end();
        let status = self.server.stop(CLOSE_PATIENCE)?;
        self.made.take().map_or(Ok(()), Made::remove)?;
        let media = self.health.media.display();
        ensure!(status.success(), "the server of {media} ended with {}", describe(status));
        Ok(())
    }

    fn waiting_for_end(&self) -> Waiting {
        waiting_for_end(self.pid(), &self.health.media)
    }

    /// Processes in other mount namespaces that have a file system of the drive's device mounted.
    fn holders(&self) -> Vec<Holder> {
        let device = self.health.attachment.device.as_deref();
        device.map_or_else(Vec::new, |device| mount_holders::of(|mount| mount.is_of(device)))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _waiting = self.waiting_for_end();
        if let Err(error) = self.server.stop(CLOSE_PATIENCE) {
            log::error!("the server of {}: {error}", self.health.media.display());
        }
    }
}

/// Says whom it waits for that closes a drive.
pub(crate) fn waiting_for_end(pid: u32, media: &Path) -> Waiting {
    let media = media.display().to_string();
    Waiting::on(move || format!("process {pid} to close the drive on {media}"))
}

fn job(media: &Path, options: &AttachOptions, is_independent: bool) -> Result<Job> {
    let directory = state::below("drives")?.join(new_name("drive"));
    let mount_point = match &options.directory {
        Some(named) => empty_directory(named)?,
        None => directory.join("mount"),
    };
    [media, &mount_point, &directory].into_iter().try_for_each(ensure_tellable)?;
    Ok(Job {
        media: media.to_owned(),
        media_id: FileId::named(media).ok(),
        mount_point,
        directory,
        options: options.clone(),
        is_independent,
    })
}

fn empty_directory(named: &Path) -> Result<PathBuf> {
    let name = named.display();
    let mut entries = std::fs::read_dir(named)
        .with_context(|| format!("{name} is not a directory; create it"))?;
    ensure!(entries.next().is_none(), "{name} is not empty; give an empty directory");
    named.canonicalize().with_context(|| format!("cannot resolve {name}"))
}

/// A line to a server of the job, which is not started yet.
fn line_to(job: &Job) -> Result<(Command, Line)> {
    let words: [&OsStr; 3] = ["drive".as_ref(), "serve".as_ref(), job.media.as_os_str()];
    let life = if job.is_independent { Life::Independent } else { Life::Tied };
    Line::to_server(&words, life)
}

/// Tells the job and hears how the drive is; nothing when the server has ended without a word.
fn tell(line: &mut Line, job: &Job) -> Result<Option<Health>> {
    let media = job.media.display().to_string();
    let _waiting = Waiting::on(move || {
        format!(
            "the server of {media} to open it: it reads the log that a crash has left, or the media are slow"
        )
    });
    match line.ask(&serde_json::to_string(job)?)? {
        Some(Answer::Serving(health)) => Ok(Some(*health)),
        Some(Answer::Failed(reason)) => bail!(reason),
        Some(Answer::KeepsTime | Answer::PowerCut(_)) => {
            bail!("the server sent an unexpected answer")
        }
        None => Ok(None),
    }
}
