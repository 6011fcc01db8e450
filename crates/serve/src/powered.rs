//! A disk whose power can be cut: a file behind a volatile cache, with or without a drive on it.
//!
//! Durable data are in the file, through the kernel's page cache and never synced: the simulated
//! power failure is the disk's, not this machine's.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_drive::{Disk, Drive};
use assay_models::Tearing;
use assay_models::power::{Moment, PowerWatch, Survival, VolatileDisk, Volatility};
use assay_ports::media::{Access, FileMedia, MediaCondition};
use serde::{Deserialize, Serialize};

use super::job::{PowerJob, ServerJob};
use super::open::in_words;

/// The time of a power cut, and the seed for the parts that survive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutOrder {
    /// The moment, counted from the order.
    pub moment: Moment,
    /// If the moment has not come by then, the power is cut anyway.
    pub within_ms: u64,
    pub seed: u64,
}

/// The served disk.
pub struct Powered {
    /// The disk for the host.
    pub watch: Arc<PowerWatch>,
    /// The drive inside, if there is one.
    pub drive: Option<Arc<Drive>>,
    pub media: Arc<MediaCondition>,
}

impl Powered {
    /// Opens the file of the job, and the drive on it if there is one.
    pub fn open(job: &ServerJob, power: &PowerJob) -> Result<Powered> {
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
            Some(drive) if job.options.tears() => Arc::new(Tearing::new(Arc::clone(drive))),
            Some(drive) => Arc::clone(drive) as _,
        };
        let watch = Arc::new(PowerWatch::new(top, volatile));
        Ok(Powered { watch, drive, media: condition })
    }

    /// Cuts the power as ordered, and returns the parts that survived.
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
