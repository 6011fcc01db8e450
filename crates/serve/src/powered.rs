//! A disk whose power can be cut: a file with a volatile cache before it, as it is or with a drive on it.
//!
//! What is durable lies in the file, through the kernel's memory and never synced: the power that goes is the disk's, not this machine's.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_drive::{Disk, Drive};
use assay_models::Tearing;
use assay_models::power::{Moment, PowerWatch, Survival, VolatileDisk, Volatility};
use assay_ports::media::{Access, Condition, FileMedia};
use serde::{Deserialize, Serialize};

use super::job::{Job, PowerJob};
use super::open::in_words;

/// When the power is to go, and what decides what survives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOrder {
    /// The moment, counted from when this is told.
    pub moment: Moment,
    /// If it has not come by then, the power goes anyway; milliseconds.
    pub within_ms: u64,
    /// Chooses what survives.
    pub seed: u64,
}

/// What is served.
pub struct Powered {
    /// What the host sees.
    pub watch: Arc<PowerWatch>,
    /// The drive inside, where there is one.
    pub drive: Option<Arc<Drive>>,
    /// How the file is that it lies on.
    pub media: Arc<Condition>,
}

impl Powered {
    /// Opens the file of the job, and the drive on it if one is meant.
    ///
    /// # Errors
    /// One line: it is not there, in use, not a drive.
    pub fn open(job: &Job, power: &PowerJob) -> Result<Powered> {
        let file = FileMedia::open(&job.media, Access::ReadWrite)?.in_memory_of_kernel()?;
        let condition = Arc::clone(file.condition());
        let volatile = Arc::new(VolatileDisk::new(Arc::new(file), power.nature));
        let drive = (!power.is_plain).then(|| {
            let opened = Drive::open(Arc::clone(&volatile) as _, job.options.drive());
            let opened = opened.map_err(|error| in_words(&job.media, error)).map(Arc::new);
            opened.with_context(|| job.media.display().to_string())
        });
        let drive = drive.transpose()?;
        let top: Arc<dyn Disk> = match &drive {
            None => Arc::clone(&volatile) as _,
            Some(drive) if job.options.tear => Arc::new(Tearing::new(Arc::clone(drive))),
            Some(drive) => Arc::clone(drive) as _,
        };
        let watch = Arc::new(PowerWatch::new(top, volatile));
        Ok(Powered { watch, drive, media: condition })
    }

    /// Lets the power go as ordered, and tells what survived once it has.
    ///
    /// # Errors
    /// What survives could not be written.
    pub fn cut(&self, order: &CutOrder) -> Result<Survival> {
        self.watch.set(order.moment, order.seed);
        let media = self.watch.media();
        match media.wait_until_off(Duration::from_millis(order.within_ms)) {
            Some(survival) => Ok(survival),
            None => Ok(media.cut(order.seed)?),
        }
    }

    /// Closes the drive, if the power is still on.
    pub fn close(&self) -> assay_drive::Result<()> {
        let is_off = self.watch.media().wait_until_off(Duration::ZERO).is_some();
        match &self.drive {
            Some(drive) if !is_off => drive.close()?,
            _ => {}
        }
        if is_off { Ok(()) } else { self.watch.media().write_out() }
    }
}

/// What its media are when they lose power.
impl PowerJob {
    /// A disk of that nature without a drive on it.
    #[must_use]
    pub fn plain(nature: Volatility) -> PowerJob {
        PowerJob { nature, is_plain: true }
    }

    /// A drive on media of that nature.
    #[must_use]
    pub fn under_drive(nature: Volatility) -> PowerJob {
        PowerJob { nature, is_plain: false }
    }
}
