//! Starts the process that serves a drive, and talks to it.
//!
//! The server outlives this process ([`start`]), as after `assay drive attach`, or it belongs to
//! this process ([`Attached`]): then this process's ledger holds its resources, and it ends with
//! this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use assay_models::power::Survival;
use assay_ports::child::{Child, describe};
use assay_ports::file_id::FileId;
use assay_ports::mount_holders::{self, Holder};
use assay_ports::waiting::Waiting;

use super::answer::ServerAnswer;
use super::health::{Health, STATUS_FILE};
use super::job::{AttachOptions, Export, ServerJob};
use super::open::ensure_tellable;
use super::powered::CutOrder;
use super::process::make_directories;
use assay_system::daemon::{Daemon, DaemonConnection};
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::{new_name, state};

/// Time limit for closing a drive, which writes a last checkpoint.
pub(crate) const CLOSE_PATIENCE: Duration = Duration::from_secs(120);

/// Time limit for a server to end after it has closed its output.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for a server to end while others use its device. Flushed data are safe.
const HELD_PATIENCE: Duration = Duration::from_secs(5);

/// A drive that is served for this process. Dropping it closes the drive if nobody uses it, and
/// kills the server otherwise.
#[derive(Debug)]
pub struct Attached {
    /// The drive's health when it was attached, with its device.
    pub health: Health,
    /// The file with the drive's current health.
    pub status_file: PathBuf,
    /// True if its model waits for [`Attached::keep_time`].
    pub keeps_time_when_told: bool,
    server: Child,
    connection: DaemonConnection,
    made: Option<LedgerGuard>,
}

/// Starts a server, which outlives this process, for the drive on `media`, an absolute path without
/// links. After an error nothing is left.
pub fn start(media: &Path, options: &AttachOptions, export: &Export) -> Result<Health> {
    let job = job(media, options, export, true)?;
    let _waiting = waiting_for_open(media);
    daemon(&job).start(read)
}

impl Attached {
    /// Starts a server, as a child of this process on the given CPUs (empty: any), for the drive on
    /// `media`, an absolute path without links. After an error nothing is left.
    pub fn start(
        media: &Path,
        options: &AttachOptions,
        export: &Export,
        ledger: &Arc<Ledger>,
        cpus: &[usize],
    ) -> Result<Attached> {
        let job = job(media, options, export, false)?;
        let made = make_directories(ledger, &job)?;
        let waiting = waiting_for_open(media);
        let (health, server, connection) = daemon(&job).start_tied(cpus, END_PATIENCE, read)?;
        drop(waiting);
        let status_file = job.mount_point.join(STATUS_FILE);
        let keeps_time_when_told = export.keeps_time_when_told();
        let made = Some(made.mounted()?);
        Ok(Attached { health, status_file, keeps_time_when_told, server, connection, made })
    }

    /// Process number of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Makes the model keep time from now on, if it was attached with `keeps_time_when_told`.
    pub fn keep_time(&mut self) -> Result<()> {
        match self.connection.ask("keep time")? {
            Some(ServerAnswer::KeepsTime) => Ok(()),
            _ => bail!("the server of {} does not answer", self.health.media.display()),
        }
    }

    /// Cuts the power of the media as ordered, waits until that has happened, and returns the parts
    /// that survived. Afterwards the server answers nothing; see [`Attached::stop_without_power`].
    pub fn cut_power(&mut self, order: &CutOrder) -> Result<Survival> {
        match self.connection.ask(&serde_json::to_string(order)?)? {
            Some(ServerAnswer::PowerCut(survival)) => Ok(survival),
            Some(ServerAnswer::Failed(reason)) => bail!(reason),
            _ => bail!("the server of {} does not answer", self.health.media.display()),
        }
    }

    /// Removes everything after a power cut. Nothing is closed, because nothing can be written.
    pub fn stop_without_power(mut self) -> Result<()> {
        self.server.kill()?;
        self.made.take().map_or(Ok(()), LedgerGuard::remove)
    }

    /// How the server ended, in words; `None` while it runs.
    pub fn ended(&mut self) -> Result<Option<String>> {
        Ok(self.server.ended()?.map(describe))
    }

    /// Closes the drive and removes everything. Waiting for users of the device is limited. After
    /// an error, flushed data are safe.
    pub fn stop(mut self) -> Result<()> {
        let holders = self.holders();
        if let Some(holder) = holders.first() {
            // The server would wait until they release the device.
            self.server.stop(HELD_PATIENCE)?;
            let removed = self.made.take().map_or(Ok(()), LedgerGuard::remove);
            let held = || format!("{holder} has its file system in a mount namespace of its own");
            return removed.with_context(held);
        }
        let _waiting = self.waiting_for_end();
        let status = self.server.stop(CLOSE_PATIENCE)?;
        self.made.take().map_or(Ok(()), LedgerGuard::remove)?;
        let media = self.health.media.display();
        ensure!(status.success(), "the server of {media} ended with {}", describe(status));
        Ok(())
    }

    fn waiting_for_end(&self) -> Waiting {
        waiting_for_end(self.pid(), &self.health.media)
    }

    /// Processes in other mount namespaces that have mounted a file system on the drive's device.
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

/// Names the process that closes the drive, for a wait that takes long.
pub(crate) fn waiting_for_end(pid: u32, media: &Path) -> Waiting {
    let media = media.display().to_string();
    Waiting::on(move || format!("process {pid} to close the drive on {media}"))
}

fn job(
    media: &Path,
    options: &AttachOptions,
    export: &Export,
    is_independent: bool,
) -> Result<ServerJob> {
    let directory = state::below("drives")?.join(new_name("drive"));
    let mount_point = match &options.directory {
        Some(named) => empty_directory(named)?,
        None => directory.join("mount"),
    };
    [media, &mount_point, &directory].into_iter().try_for_each(ensure_tellable)?;
    Ok(ServerJob {
        media: media.to_owned(),
        media_id: FileId::named(media).ok(),
        mount_point,
        directory,
        options: options.clone(),
        export: export.clone(),
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

fn daemon(job: &ServerJob) -> Daemon<'_, ServerJob> {
    let words = ["drive".as_ref(), "serve".as_ref(), job.media.as_os_str()];
    Daemon { words, job, name: "the serving process", remedy: "" }
}

fn waiting_for_open(media: &Path) -> Waiting {
    let media = media.display().to_string();
    Waiting::on(move || {
        format!(
            "the server of {media} to open it: it reads the log that a crash has left, or the \
             media are slow"
        )
    })
}

fn read(answer: ServerAnswer) -> Result<Option<Health>> {
    match answer {
        ServerAnswer::Serving(health) => Ok(Some(*health)),
        ServerAnswer::Failed(reason) => bail!(reason),
        ServerAnswer::KeepsTime | ServerAnswer::PowerCut(_) => {
            bail!("the server sent an unexpected answer")
        }
    }
}
