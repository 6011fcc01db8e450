//! The rig: everything between the disk and the server, built bottom up and torn down in reverse.
//!
//! Each part is in the ledger before it exists. Whichever way a rig ends (done, failed,
//! interrupted, panicked), its parts are dropped from the top; after a `kill -9` the ledger tells
//! `assay clean` the same.

mod condition;
mod drive;
pub mod existing;
mod given;
mod image;
mod model;
pub mod page_cache;
pub mod pool;
pub mod powered;
mod preconditioned;
pub mod server;
pub mod snapshot;
mod top_up;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_ports::file_id::FileId;
use assay_ports::{blockdev, filesystem, loopdev, program};

use assay_base::Size;
use assay_plan::{
    DiskBase, DriveMedia, PlannedDisk, PlannedDrive, PlannedFileSystem, PlannedModel, PlannedPool,
    PlannedRig,
};
use assay_serve::{Attached, Health, Sizes};
use assay_study::InEffect;
use assay_system::ledger::{Ledger, LedgerGuard};
use assay_system::new_name;
use assay_system::resource::{OwnMount, Resource};
pub use condition::RigCondition;
use given::Ground;
use pool::RunPool;
use preconditioned::PreconditionedMedia;
use top_up::TopUp;

/// A rig that stands, without its server: a directory on a file system on a disk.
#[derive(Debug)]
pub struct Rig {
    parts: Vec<Part>,
    is_bare_image: bool,
    ground: Ground,
    directory: PathBuf,
    description: Vec<(String, String)>,
}

/// One layer of a rig, gone when it is dropped.
#[derive(Debug)]
enum Part {
    Made(LedgerGuard),
    Drive(Box<Attached>),
}

impl Part {
    fn remove(self) -> Result<()> {
        match self {
            Part::Made(made) => made.remove(),
            Part::Drive(drive) => drive.stop(),
        }
    }
}

/// Everything that building a rig needs in addition to its plan.
#[derive(Clone, Copy)]
pub struct Building<'a> {
    /// CPUs of the process that serves a drive; empty: all.
    pub drive_cpus: &'a [usize],
    /// The list of everything that is made.
    pub ledger: &'a Arc<Ledger>,
    /// The pool that images come from, where the rig stands on one.
    pub pool: Option<&'a RunPool>,
    /// The new file that what a model is asked is recorded to.
    pub trace: Option<&'a Path>,
    /// Told of what takes time.
    pub say: &'a dyn Fn(&str),
}

impl Rig {
    /// Builds a rig of our own; its files lie in `directory`, which is created and owned.
    ///
    /// # Errors
    /// The first layer that could not be built, in its tool's own words; the layers below it are
    /// removed.
    pub fn build(planned: &PlannedRig, directory: &Path, building: &Building<'_>) -> Result<Rig> {
        let ledger = building.ledger;
        let mut rig = Rig {
            parts: Vec::new(),
            is_bare_image: false,
            ground: Ground::default(),
            directory: directory.to_owned(),
            description: Vec::new(),
        };
        rig.parts.push(Part::Made(ledger.make_directory(directory)?));
        let Some(PlannedDisk { base, file_system }) = planned.disk() else {
            rig.describe_ground(directory)?;
            return Ok(rig);
        };
        let (device, size) = match base {
            DiskBase::Image { size, .. } => (rig.add_image(*size, ledger)?, None),
            DiskBase::Device(path) => (rig.add_device(path)?, None),
            DiskBase::Drive(drive) => (rig.add_drive(drive, building)?, None),
            // The file system takes what was filled when the media were preconditioned.
            DiskBase::Model(model) => (rig.add_model(model, building)?, Some(model.filled_bytes())),
            DiskBase::Pool(pool, threads) => (rig.add_pool_image(pool, *threads, building)?, None),
        };
        rig.add_file_system(file_system, &device, size, ledger)?;
        rig.ground.device = Some(device);
        Ok(rig)
    }

    /// The directory on the measured disk that the server's data goes into; it does not exist yet.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Its layers from the bottom up: label and description.
    #[must_use]
    pub fn description(&self) -> &[(String, String)] {
        &self.description
    }

    /// The options of pool, disk and file system in effect, and which of them differ from those of
    /// the plan.
    #[must_use]
    pub fn in_effect(&self, planned: &PlannedRig, pool: Option<&RunPool>) -> InEffect {
        let told = pool.map(RunPool::options).transpose().unwrap_or_else(|error| {
            log::debug!("the options of the pool are not known: {error:#}");
            None
        });
        let ground = (&self.ground, told.unwrap_or_default());
        given::in_effect(planned.disk(), ground, &self.directory, &self.data_dir())
    }

    /// The software drive in it, if there is one.
    #[must_use]
    pub fn drive(&self) -> Option<&Attached> {
        self.parts.iter().find_map(|part| match part {
            Part::Drive(drive) => Some(drive.as_ref()),
            Part::Made(_) => None,
        })
    }

    /// Returns true if a pool's image is served, and no drive.
    #[must_use]
    pub fn is_bare_image(&self) -> bool {
        self.is_bare_image
    }

    /// Writes data to a model where zeroes of the copied files have taken their place, so that it
    /// is as full as planned.
    ///
    /// # Errors
    /// The device's own.
    pub fn top_up(&mut self, planned: &PlannedRig) -> Result<()> {
        let (Some(model), Some(drive)) = (planned.model(), self.drive()) else { return Ok(()) };
        let held_bytes = Health::read(&drive.status_file)?.status.logical_bytes_used;
        let Some(top_up) = TopUp::of(model, held_bytes) else { return Ok(()) };
        let device = drive.health.attachment.device.clone();
        top_up.write(
            &device.context("the model is served, but not as a block device")?,
            model.ratio,
        )?;
        let put = format!("{} more, in place of zeroes on it", Size(top_up.bytes));
        self.describe("behind the file system", put);
        Ok(())
    }

    /// Until now a model took no longer than it had to; from now on it answers when the device
    /// would.
    ///
    /// # Errors
    /// Its server has ended.
    pub fn keep_time(&mut self) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| match part {
            Part::Drive(drive) if drive.keeps_time_when_told => drive.keep_time(),
            _ => Ok(()),
        })
    }

    /// Adds to an error that the drive has stopped or the file system is full, if that is so: the
    /// program that failed does not know it.
    #[must_use]
    pub fn explain(&mut self, error: anyhow::Error, planned: &PlannedRig) -> anyhow::Error {
        let condition = self.condition(planned);
        match condition.explanation(&format!("{error:#}")) {
            Some(trouble) => error.context(trouble.to_owned()),
            None => error,
        }
    }

    /// State of this rig, built as planned.
    pub fn condition(&mut self, planned: &PlannedRig) -> RigCondition {
        RigCondition::of(self.drive_trouble(), planned.disk(), &self.directory)
    }

    /// Trouble of its drive, in words; `None` if there is none.
    pub fn drive_trouble(&mut self) -> Option<String> {
        self.parts.iter_mut().find_map(|part| match part {
            Part::Drive(drive) => drive::trouble(drive),
            Part::Made(_) => None,
        })
    }

    /// Problems that its drive reports while it continues to work.
    #[must_use]
    pub fn drive_problems(&self) -> Vec<String> {
        let health = self.drive().and_then(|drive| Health::read(&drive.status_file).ok());
        health.map_or_else(Vec::new, |health| health.status.problems)
    }

    /// Removes all layers, the last built first.
    ///
    /// # Errors
    /// The first layer that could not be removed; those above it are gone, it and those below stay
    /// in the ledger.
    pub fn take_down(mut self) -> Result<()> {
        while let Some(part) = self.parts.pop() {
            part.remove()?;
        }
        Ok(())
    }

    fn add<T>(
        &mut self,
        ledger: &Arc<Ledger>,
        resource: Resource,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let (made, value) = ledger.make(resource, make)?;
        self.parts.push(Part::Made(made));
        Ok(value)
    }

    fn describe(&mut self, label: &str, text: impl Into<String>) {
        self.description.push((label.to_owned(), text.into()));
    }

    fn describe_ground(&mut self, path: &Path) -> Result<()> {
        let mount = filesystem::mount_of(path)?;
        let text = mount.map_or_else(
            || "unknown".to_owned(),
            |mount| format!("{} on {} ({})", mount.file_system, mount.source, mount.options),
        );
        self.describe("file system below", text);
        Ok(())
    }

    fn add_image(&mut self, size: Size, ledger: &Arc<Ledger>) -> Result<PathBuf> {
        self.describe_ground(&self.directory.clone())?;
        let image = self.directory.join("disk.img");
        allocate(&image, size)?;
        let backing_id = Some(FileId::named(&image)?);
        let resource = Resource::Loop { backing: image.clone(), backing_id };
        let attached = self.add(ledger, resource, || Ok(loopdev::attach(&image)?))?;
        self.ground.is_direct = Some(attached.is_direct);
        let direct = if attached.is_direct { "direct I/O" } else { "through the page cache" };
        self.describe("disk", format!("image of {size} on a loop device, {direct}"));
        Ok(attached.device)
    }

    fn add_device(&mut self, device: &Path) -> Result<PathBuf> {
        let size = blockdev::check_unused(device)?;
        self.describe("disk", format!("{} of {}", device.display(), Size(size)));
        Ok(device.to_owned())
    }

    fn add_drive(&mut self, drive: &PlannedDrive, building: &Building<'_>) -> Result<PathBuf> {
        let new = drive::new(drive);
        let (below, media) = match &drive.media {
            DriveMedia::File { capacity, .. } => {
                self.describe_ground(&self.directory.clone())?;
                ("an image".into(), drive::in_file(&new, &self.directory, *capacity)?)
            }
            DriveMedia::Device(path) => (path.display().to_string(), drive::on_device(&new, path)?),
            DriveMedia::Image(pool) => {
                let image = self.new_image(pool, building)?;
                (
                    "an RBD image".into(),
                    drive::DriveFiles { sizes: new.on_image(&image)?, path: image },
                )
            }
        };
        let attached = drive::serve(drive, &media, building.ledger, building.drive_cpus)?;
        let device = attached.health.attachment.device.clone();
        self.parts.push(Part::Drive(Box::new(attached)));
        let Sizes { capacity, logical } = media.sizes;
        self.describe("media", format!("{below} of {capacity}"));
        self.describe("disk", format!("software drive of {logical}, {}", drive::manner(drive)));
        device.context("the drive is served, but not as a block device")
    }

    fn add_pool_image(
        &mut self,
        pool: &PlannedPool,
        threads: u16,
        building: &Building<'_>,
    ) -> Result<PathBuf> {
        self.is_bare_image = true;
        let image = self.new_image(pool, building)?;
        let attached = image::serve(threads, &image, building.ledger, building.drive_cpus)?;
        let device = attached.health.attachment.device.clone();
        self.parts.push(Part::Drive(Box::new(attached)));
        self.describe(
            "disk",
            format!("RBD image of {} over librbd, FUSE and a loop device", pool.size),
        );
        device.context("the image is served, but not as a block device")
    }

    /// An image for this rig, called after its directory.
    fn new_image(&mut self, pool: &PlannedPool, building: &Building<'_>) -> Result<PathBuf> {
        let run_pool = building.pool.context("a rig on a pool that is not there")?;
        let name = self.directory.file_name().context("a rig without a name")?.to_string_lossy();
        let name = new_name(&name);
        let (image, made) = run_pool.image(&name, pool.size, building.ledger)?;
        self.parts.extend(made.map(Part::Made));
        Ok(image)
    }

    /// Serves the model of a device over a copy of its preconditioned media.
    fn add_model(&mut self, model: &PlannedModel, building: &Building<'_>) -> Result<PathBuf> {
        let media = self.directory.join("media.img");
        let preconditioned = PreconditionedMedia::provide(model, building.say)?;
        preconditioned.copy_to(&media)?;
        let attached = model::serve(model, &media, building)
            .map_err(|error| preconditioned.explain(error, &media))?;
        let device = attached.health.attachment.device.clone();
        self.parts.push(Part::Drive(Box::new(attached)));
        for (label, text) in model::description(model)? {
            self.describe(&label, text);
        }
        device.context("the model is served, but not as a block device")
    }

    fn add_file_system(
        &mut self,
        planned: &PlannedFileSystem,
        device: &Path,
        size: Option<u64>,
        ledger: &Arc<Ledger>,
    ) -> Result<()> {
        let kind = planned.kind.name();
        filesystem::make(kind, device, size, &planned.mkfs_options)?;
        let target = self.directory.join("mount");
        std::fs::create_dir(&target)?;
        let mount = Resource::Mount(OwnMount::of_device(device, &target)?);
        self.add(ledger, mount, || {
            Ok(filesystem::mount(kind, device, &target, &planned.mount_options)?)
        })?;
        if let Some(extsize) = planned.extsize {
            hint_extents(&target, extsize)?;
        }
        let options = filesystem::mount_of(&target)?.map(|mount| mount.options).unwrap_or_default();
        let made = [&["mkfs".to_owned()], planned.mkfs_options.as_slice()].concat().join(" ");
        self.describe("file system", format!("{kind}, {made}, mounted {options}"));
        self.directory = target;
        Ok(())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        while self.parts.pop().is_some() {}
    }
}

/// Inherited by every file made below (xfs_io(8), `extsize -D`).
fn hint_extents(target: &Path, extsize: Size) -> Result<()> {
    let command = format!("extsize -D {}", extsize.0);
    let words = ["-c".as_ref(), command.as_ref(), target.as_os_str()];
    program::run("xfs_io", words)?;
    Ok(())
}

/// Space is taken for good: an image that runs out of disk under a running server would be read as
/// a broken disk.
fn allocate(path: &Path, size: Size) -> Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    let file = std::fs::File::create_new(path)?;
    let taken = fallocate(&file, FallocateFlags::empty(), 0, size.0);
    match taken {
        Err(rustix::io::Errno::OPNOTSUPP) => Ok(file.set_len(size.0)?),
        other => other.map_err(anyhow::Error::from),
    }
    .with_context(|| {
        format!(
            "no space for an image of {size} in {}; free some or set a smaller size",
            parent(path)
        )
    })
}

fn parent(path: &Path) -> std::path::Display<'_> {
    path.parent().unwrap_or(path).display()
}
