//! A rig whose power can be cut: a file in the place of media, served with a volatile cache before
//! it, and a file system on that, or on a drive over it.
//!
//! What is durable is in the file, which can be copied while nothing stands on it. After a power
//! cut the same file is served anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use assay_models::power::Survival;
use assay_plan::PoweredFile;
use assay_ports::media::Allocation;
use assay_ports::{copy, filesystem};
use assay_serve::{AttachOptions, Attached, CutOrder, Export, PowerJob};
use assay_study::InEffect;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::resource::{OwnMount, Resource};

use super::drive;
use super::given::{self, Ground};

/// A rig whose power can be cut.
#[derive(Debug)]
pub struct PoweredRig<'a> {
    file: PoweredFile<'a>,
    cpus: &'a [usize],
    ledger: Arc<Ledger>,
    directory: PathBuf,
    standing: Option<Standing>,
    // Dropped last.
    _made: LedgerGuard,
}

/// The layers of a rig that is up. Dropped from the top.
#[derive(Debug)]
struct Standing {
    mount: LedgerGuard,
    disk: Attached,
}

/// Why a rig did not come up again after a power cut.
#[derive(Debug)]
pub enum Fallen {
    /// The disk, or the drive on it.
    Disk(anyhow::Error),
    /// The file system.
    FileSystem(anyhow::Error),
}

impl<'a> PoweredRig<'a> {
    /// Makes the rig's directory; nothing is up yet.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn new(
        file: PoweredFile<'a>,
        cpus: &'a [usize],
        directory: &Path,
        ledger: &Arc<Ledger>,
    ) -> Result<PoweredRig<'a>> {
        let made = ledger.make_directory(directory)?;
        Ok(PoweredRig {
            file,
            cpus,
            ledger: Arc::clone(ledger),
            directory: directory.to_owned(),
            standing: None,
            _made: made,
        })
    }

    /// Returns true if the file holds a drive.
    #[must_use]
    pub fn is_drive(&self) -> bool {
        self.file.drive.is_some()
    }

    /// The file in the place of media.
    #[must_use]
    pub fn media(&self) -> PathBuf {
        self.directory.join("media.img")
    }

    /// The directory that the server's data go into.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.target().join("data")
    }

    /// Makes empty media, and a file system that stands on them.
    ///
    /// # Errors
    /// The first layer that could not be made, in its tool's own words.
    pub fn make(&mut self) -> Result<()> {
        let PoweredFile { size, drive, file_system, .. } = self.file;
        match drive {
            Some(planned) => {
                drive::new(planned).in_file(&self.media(), size, Allocation::Sparse)?;
            }
            None => std::fs::File::create_new(self.media())?.set_len(size.0)?,
        }
        let disk = self.serve()?;
        let kind = file_system.kind.name();
        filesystem::make(kind, device(&disk)?, None, &file_system.mkfs_options)?;
        std::fs::create_dir(self.target())?;
        let mount = self.mount(&disk)?;
        self.standing = Some(Standing { mount, disk });
        if let Some(extsize) = file_system.extsize {
            super::hint_extents(&self.target(), extsize)?;
        }
        Ok(())
    }

    /// Effective options of disk and file system, and their differences from the plan; empty if the
    /// rig is down.
    #[must_use]
    pub fn in_effect(&self) -> InEffect {
        let device = self.standing.as_ref().and_then(|standing| device(&standing.disk).ok());
        let Some(device) = device else { return InEffect::default() };
        let ground = Ground { device: Some(device.to_owned()), is_direct: None };
        let no_pool = BTreeMap::new();
        given::in_effect(Some(self.file.disk), (&ground, no_pool), &self.target(), &self.data_dir())
    }

    /// Serves the media and mounts what is on them; tells how long that took.
    ///
    /// # Errors
    /// What does not come up.
    pub fn stand_up(&mut self) -> Result<Duration, Fallen> {
        let began = Instant::now();
        let disk = self.serve().map_err(Fallen::Disk)?;
        let mount = self.mount(&disk).map_err(Fallen::FileSystem)?;
        self.standing = Some(Standing { mount, disk });
        Ok(began.elapsed())
    }

    /// Lets the power go as ordered; who uses the file system finds nothing but errors from then
    /// on.
    ///
    /// # Errors
    /// Nothing stands, or its server has ended.
    pub fn cut_power(&mut self, order: &CutOrder) -> Result<Survival> {
        self.standing.as_mut().context("nothing stands here")?.disk.cut_power(order)
    }

    /// Takes away what lost its power. Nobody may use it any more.
    ///
    /// # Errors
    /// What cannot be taken away.
    pub fn clear(&mut self) -> Result<()> {
        let Some(Standing { mount, disk }) = self.standing.take() else { return Ok(()) };
        mount.remove()?;
        disk.stop_without_power()
    }

    /// Takes it down in order: what was written is in the media.
    ///
    /// # Errors
    /// What cannot be taken down.
    pub fn take_down(&mut self) -> Result<()> {
        let Some(Standing { mount, disk }) = self.standing.take() else { return Ok(()) };
        mount.remove()?;
        disk.stop()
    }

    /// Copies the media, on which nothing may stand.
    ///
    /// # Errors
    /// What `cp` said.
    pub fn save_media(&self, target: &Path) -> Result<()> {
        ensure!(self.standing.is_none(), "a disk that is in use cannot be copied");
        Ok(copy::file(&self.media(), target)?)
    }

    /// Puts a copy in the place of the media, on which nothing may stand.
    ///
    /// # Errors
    /// What `cp` said.
    pub fn restore_media(&self, source: &Path) -> Result<()> {
        ensure!(self.standing.is_none(), "a disk that is in use cannot be replaced");
        std::fs::create_dir_all(self.target())?;
        Ok(copy::file(source, &self.media())?)
    }

    fn target(&self) -> PathBuf {
        self.directory.join("mount")
    }

    fn serve(&self) -> Result<Attached> {
        let PoweredFile { volatility, drive, .. } = self.file;
        let (options, power) = match drive {
            Some(drive) => (drive::options(drive), PowerJob::under_drive(volatility)),
            None => (AttachOptions::default(), PowerJob::plain(volatility)),
        };
        let export = Export::Powered(power);
        Attached::start(&self.media().canonicalize()?, &options, &export, &self.ledger, self.cpus)
    }

    fn mount(&self, disk: &Attached) -> Result<LedgerGuard> {
        let file_system = self.file.file_system;
        let (kind, target) = (file_system.kind.name(), self.target());
        let device = device(disk)?;
        let resource = Resource::Mount(OwnMount::of_device(device, &target)?);
        let mount = || Ok(filesystem::mount(kind, device, &target, &file_system.mount_options)?);
        self.ledger.make(resource, mount).map(|(made, ())| made)
    }
}

fn device(disk: &Attached) -> Result<&Path> {
    let device = disk.health.attachment.device.as_deref();
    device.context("the disk is served, but not as a block device")
}
