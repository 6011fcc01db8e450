//! The served disk with its health, and how it is closed.

use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use assay_drive::{Disk, State, Status};
use assay_models::{Clock, CommandTally, Time};
use assay_ports::fuse::{DISK_FILE, TextFile};
use assay_ports::loopdev;
use assay_ports::media::MediaLoss;

use super::health::{Attachment, Health, STATUS_FILE};
use super::job::{ModelJob, ServerJob};
use super::log;
use super::model_health::ModelHealth;
use super::opened::Opened;
use super::stack::ModelStack;
use super::stall::StallWatch;
use crate::{TraceHead, monotonic_s};

/// The sources of a disk's health.
pub struct HealthSource {
    pub opened: Opened,
    media: PathBuf,
    model: Option<ModelJob>,
    /// Everything except the device, which others may remove.
    pub attachment: Attachment,
    mount_point: PathBuf,
    /// Counts the time for which this process stalled; for models only.
    stall: Option<StallWatch>,
    started: Mutex<Option<Started>>,
    pub keeps_time_when_told: bool,
}

/// The process's protection against a shortage of memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryProtection {
    /// `oom_score_adj`; `None` if it cannot be read.
    pub oom_score_adj: Option<i32>,
    /// True if its threads stay out of write-back.
    pub io_flusher: bool,
}

/// The state of a model when it began to keep time.
#[derive(Clone, Copy)]
struct Started {
    /// Round trip of the port alone.
    port: Time,
    tally: CommandTally,
    stalled: Duration,
}

impl HealthSource {
    /// `open_ms` is the duration of opening the disk.
    pub fn new(
        job: &ServerJob,
        opened: Opened,
        open_ms: f64,
        survival: MemoryProtection,
    ) -> Result<HealthSource> {
        let is_damaged = opened.status(&job.media).state == State::ReadOnly;
        let attachment = Attachment {
            attached: true,
            file: Some(job.mount_point.join(DISK_FILE)),
            pid: Some(std::process::id()),
            open_ms: Some(open_ms),
            read_only: job.options.read_only || is_damaged,
            cache: Some(job.guaranteed_cache()),
            atomic_write_bytes: Some(opened.disk().guarantees().atomic_write_bytes),
            threads: Some(job.options.threads),
            read_ahead_bytes: Some(job.options.read_ahead.map_or(0, |size| size.0)),
            memory_bytes: job.options.memory.map(|size| size.0),
            gc: Some(job.options.gc),
            rescue: job.options.rescue,
            log: job.is_independent.then(|| log::found_of(&job.media)).flatten(),
            oom_score_adj: survival.oom_score_adj,
            io_flusher: Some(survival.io_flusher),
            ..Attachment::default()
        };
        let model = job.export.modelled().cloned();
        let stall = model.as_ref().map(|_| StallWatch::watch()).transpose()?;
        Ok(HealthSource {
            opened,
            media: job.media.clone(),
            model,
            attachment,
            mount_point: job.mount_point.clone(),
            stall,
            started: Mutex::default(),
            keeps_time_when_told: job.export.keeps_time_when_told(),
        })
    }

    /// The head of a trace for the model that starts to keep time now.
    pub fn trace_head(&self, stack: &ModelStack, port: Time) -> Result<TraceHead> {
        let status = self.opened.status(&self.media);
        let began_s = stack.clock.now().as_s();
        Ok(TraceHead {
            model: self.model.clone().context("only a model is recorded")?,
            logical_bytes: stack.top.size(),
            used_bytes: stack.drive.as_ref().map_or(0, |_| status.logical_bytes_used),
            ratio: stack.drive.as_ref().and_then(|_| status.compression_ratio()),
            port_us: port.as_us(),
            began_s,
            clock_zero_s: monotonic_s() - began_s,
        })
    }

    /// Counts a model's commands from now on.
    pub fn count_from_now(&self, port: Time, stack: &ModelStack) {
        let stalled = self.stalled();
        *self.started.lock() = Some(Started { port, tally: stack.top.tally(), stalled });
    }

    fn stalled(&self) -> Duration {
        self.stall.as_ref().map_or(Duration::ZERO, StallWatch::so_far)
    }

    /// Discards a model's counters, and lets it keep its device's time from now on.
    pub fn keep_time(&self) {
        let port = self.started.lock().map(|started| started.port);
        if let (Opened::Model(stack), Some(port)) = (&self.opened, port) {
            stack.clock.start();
            self.count_from_now(port, stack);
        }
    }

    /// Ends the trace and closes the drive; without power, an error in closing is ignored.
    pub fn close(&self) -> Result<()> {
        let recorded = match &self.opened {
            Opened::Model(stack) => stack.recording.as_ref().map(|trace| trace.finish()),
            Opened::Drive { .. } | Opened::Image(_) | Opened::Powered(_) => None,
        };
        self.close_media().and(recorded.unwrap_or(Ok(())))
    }

    fn close_media(&self) -> Result<()> {
        let media = self.media.display();
        let closed = self.opened.close();
        let loss = self.opened.media().loss();
        if let (Some(_), Err(error)) = (loss, &closed) {
            ::log::error!("{error}");
        }
        match loss {
            None => Ok(closed.with_context(|| {
                format!(
                    "{media} is detached, but could not be closed; flushed data are safe, later \
                     writes may be lost; attach it again"
                )
            })?),
            Some(loss @ MediaLoss::Deleted) => Err(anyhow!(
                "{media} is detached, but {loss} while it was attached: its data are \
                 gone"
            )),
            Some(loss @ MediaLoss::Cut { .. }) => Err(anyhow!(
                "{media} is detached, but {loss} while it was attached: data beyond that are lost"
            )),
        }
    }

    /// The file that shows the health to its readers.
    pub fn text(source: Arc<HealthSource>) -> TextFile {
        let content = move || source.json() + "\n";
        TextFile { name: STATUS_FILE.into(), content: Box::new(content) }
    }

    /// The devices that show it, from the kernel: a device of this server's may be gone, and its
    /// number be another drive's.
    pub fn devices(&self) -> Result<Vec<PathBuf>> {
        loopdev::attached_under(&self.mount_point).context("cannot list the loop devices")
    }

    pub fn status(&self) -> Status {
        self.opened.status(&self.media)
    }

    pub fn health(&self) -> Health {
        let device = self.devices().unwrap_or_default().into_iter().next();
        let is_drive = matches!(self.opened, Opened::Drive { .. });
        let media_space = is_drive.then(|| self.opened.media().space().into());
        let attachment = Attachment { device, media_space, ..self.attachment.clone() };
        let health = Health::new(&self.media, attachment, self.status());
        match self.model_health() {
            Some(model) => health.of_model(model),
            None => health,
        }
    }

    /// The health as text.
    pub fn json(&self) -> String {
        self.health().to_json().unwrap_or_default()
    }

    fn model_health(&self) -> Option<ModelHealth> {
        let Opened::Model(stack) = &self.opened else { return None };
        let before = (*self.started.lock())?;
        let stalled = self.stalled().saturating_sub(before.stalled);
        let (job, port_us) = (self.model.as_ref()?, before.port.as_us());
        let health = ModelHealth::new(job, port_us, &stack.top.tally(), &before.tally);
        Some(health.of_server_that_stalled(stalled))
    }
}
