//! The rig: everything between the disk and the server, built bottom up and torn down in reverse.
//!
//! Each part is in the ledger before it exists. Whichever way a rig ends (done, failed, interrupted, panicked), its
//! parts are dropped from the top; after a `kill -9` the ledger tells `assay clean` the same.

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

use anyhow::{Context, Result, bail};
use assay_ports::file_id::FileId;
use assay_ports::{blockdev, filesystem, loopdev, program};

use assay_base::Size;
use assay_plan::{PoolSpec, RigKind, RigSpec};
use assay_serve::{Attached, Health, Sizes};
use assay_study::InEffect;
use assay_system::ledger::{Ledger, Made};
use assay_system::new_name;
use assay_system::resource::{OwnMount, Resource};
pub use condition::Condition;
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
    Made(Made),
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

/// What building a rig needs beside its specification.
#[derive(Clone, Copy)]
pub struct Building<'a> {
    /// CPUs of the process that serves a drive; empty: all.
    pub drive_cpus: &'a [usize],
    /// Where all that is made is written down.
    pub ledger: &'a Arc<Ledger>,
    /// The pool that images come from, where the rig stands on one.
    pub pool: Option<&'a RunPool>,
    /// The new file that what a model is asked is recorded to.
    pub trace: Option<&'a Path>,
    /// Told of what takes time.
    pub say: &'a dyn Fn(&str),
}

impl Rig {
    /// Builds what `spec` asks for; what it needs of files lies in `directory`, which is made and owned.
    ///
    /// # Errors
    /// The first layer that could not be built, in its tool's own words; what was built before it is removed.
    pub fn build(spec: &RigSpec, directory: &Path, building: &Building<'_>) -> Result<Rig> {
        let ledger = building.ledger;
        let mut rig = Rig {
            parts: Vec::new(),
            is_bare_image: spec.kind == RigKind::Pool,
            ground: Ground::default(),
            directory: directory.to_owned(),
            description: Vec::new(),
        };
        rig.parts.push(Part::Made(ledger.make_directory(directory)?));
        let device = match spec.kind {
            RigKind::Endpoint => bail!("nothing is built under a server that somebody else runs"),
            RigKind::Directory => {
                rig.describe_ground(directory)?;
                return Ok(rig);
            }
            RigKind::Image => rig.add_image(spec, ledger)?,
            RigKind::Device => rig.add_device(spec)?,
            RigKind::Drive => rig.add_drive(spec, building)?,
            RigKind::Model => rig.add_model(spec, building)?,
            RigKind::Pool => rig.add_pool_image(spec, building)?,
        };
        rig.add_file_system(spec, &device, ledger)?;
        rig.ground.device = Some(device);
        Ok(rig)
    }

    /// The directory on the measured disk that the server's data goes into; it does not exist yet.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// What it is made of, from the bottom up: label and description.
    #[must_use]
    pub fn description(&self) -> &[(String, String)] {
        &self.description
    }

    /// How pool, disk and file system came out, and what of them is not as `spec` asks.
    #[must_use]
    pub fn in_effect(&self, spec: &RigSpec, pool: Option<&RunPool>) -> InEffect {
        let told = pool.map(RunPool::options).transpose().unwrap_or_else(|error| {
            log::debug!("the options of the pool are not known: {error:#}");
            None
        });
        let ground = (&self.ground, told.unwrap_or_default());
        given::in_effect(spec, ground, &self.directory, &self.data_dir())
    }

    /// The software drive in it, if there is one.
    #[must_use]
    pub fn drive(&self) -> Option<&Attached> {
        self.parts.iter().find_map(|part| match part {
            Part::Drive(drive) => Some(drive.as_ref()),
            Part::Made(_) => None,
        })
    }

    /// Whether what is served is the image of a pool as it is, and no drive.
    #[must_use]
    pub fn is_bare_image(&self) -> bool {
        self.is_bare_image
    }

    /// Puts data where the zeroes of what was copied onto a model have taken them, so that it is as full as `spec` says.
    ///
    /// # Errors
    /// What the device said.
    pub fn top_up(&mut self, spec: &RigSpec) -> Result<()> {
        let (Some(model), Some(drive)) = (&spec.model, self.drive()) else { return Ok(()) };
        let held_bytes = Health::read(&drive.status_file)?.status.logical_bytes_used;
        let Some(top_up) = TopUp::of(model, held_bytes)? else { return Ok(()) };
        let device = drive.health.attachment.device.clone();
        top_up.write(
            &device.context("the model is served, but not as a block device")?,
            model.ratio,
        )?;
        let put = format!("{} more, in place of zeroes on it", Size(top_up.bytes));
        self.describe("behind the file system", put);
        Ok(())
    }

    /// Until now a model took no longer than it had to; from now on it answers when the device would.
    ///
    /// # Errors
    /// Its server has ended.
    pub fn keep_time(&mut self) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| match part {
            Part::Drive(drive) if drive.keeps_time_when_told => drive.keep_time(),
            _ => Ok(()),
        })
    }

    /// A rig that takes no more, built as `spec` says, explains a failure better than whoever met it can: its drive has
    /// stopped, or its file system is full.
    #[must_use]
    pub fn explain(&mut self, error: anyhow::Error, spec: &RigSpec) -> anyhow::Error {
        let condition = self.condition(spec);
        match condition.explanation(&format!("{error:#}")) {
            Some(trouble) => error.context(trouble.to_owned()),
            None => error,
        }
    }

    /// State of this rig, which is built as `spec` says.
    pub fn condition(&mut self, spec: &RigSpec) -> Condition {
        Condition::of(self.drive_trouble(), spec, &self.directory)
    }

    /// What is wrong with its drive, in words; nothing where all is well, or where there is none.
    pub fn drive_trouble(&mut self) -> Option<String> {
        self.parts.iter_mut().find_map(|part| match part {
            Part::Drive(drive) => drive::trouble(drive),
            Part::Made(_) => None,
        })
    }

    /// What its drive says is wrong with it, though it goes on.
    #[must_use]
    pub fn drive_problems(&self) -> Vec<String> {
        let health = self.drive().and_then(|drive| Health::read(&drive.status_file).ok());
        health.map_or_else(Vec::new, |health| health.status.problems)
    }

    /// Removes all layers, the last built first.
    ///
    /// # Errors
    /// The first layer that could not be removed; those above it are gone, it and those below stay in the ledger.
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

    fn add_image(&mut self, spec: &RigSpec, ledger: &Arc<Ledger>) -> Result<PathBuf> {
        let size = spec.size.context("an image needs a size")?;
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

    fn add_device(&mut self, spec: &RigSpec) -> Result<PathBuf> {
        let device = spec.device.clone().context("a device rig needs a device")?;
        let size = blockdev::check_unused(&device)?;
        self.describe("disk", format!("{} of {}", device.display(), Size(size)));
        Ok(device)
    }

    fn add_drive(&mut self, spec: &RigSpec, building: &Building<'_>) -> Result<PathBuf> {
        let image = spec.pool.as_ref().map(|pool| self.new_image(pool, building)).transpose()?;
        if spec.device.is_none() && image.is_none() {
            self.describe_ground(&self.directory.clone())?;
        }
        let media = drive::make(spec, &self.directory, image.as_deref())?;
        let attached = drive::serve(spec, &media, building.ledger, building.drive_cpus)?;
        let device = attached.health.attachment.device.clone();
        self.parts.push(Part::Drive(Box::new(attached)));
        let Sizes { capacity, logical } = media.sizes;
        let below = match (&spec.device, &image) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(_)) => "an RBD image".into(),
            (None, None) => "an image".into(),
        };
        self.describe("media", format!("{below} of {capacity}"));
        self.describe("disk", format!("software drive of {logical}, {}", drive::manner(spec)));
        device.context("the drive is served, but not as a block device")
    }

    fn add_pool_image(&mut self, spec: &RigSpec, building: &Building<'_>) -> Result<PathBuf> {
        let pool = spec.pool.as_ref().context("a rig on a pool needs a pool")?;
        let image = self.new_image(pool, building)?;
        let attached = image::serve(spec, &image, building.ledger, building.drive_cpus)?;
        let device = attached.health.attachment.device.clone();
        self.parts.push(Part::Drive(Box::new(attached)));
        self.describe(
            "disk",
            format!("RBD image of {} over librbd, FUSE and a loop device", pool.size),
        );
        device.context("the image is served, but not as a block device")
    }

    /// An image for this rig, called after its directory.
    fn new_image(&mut self, pool: &PoolSpec, building: &Building<'_>) -> Result<PathBuf> {
        let run_pool = building.pool.context("a rig on a pool that is not there")?;
        let name = self.directory.file_name().context("a rig without a name")?.to_string_lossy();
        let name = new_name(&name);
        let (image, made) = run_pool.image(&name, pool.size, building.ledger)?;
        self.parts.extend(made.map(Part::Made));
        Ok(image)
    }

    /// Its media are preconditioned first, and the file system takes what was filled then.
    fn add_model(&mut self, spec: &RigSpec, building: &Building<'_>) -> Result<PathBuf> {
        let model = spec.model.as_ref().context("a model needs a device")?;
        let media = self.directory.join("media.img");
        let preconditioned = PreconditionedMedia::provide(model, building.say)?;
        preconditioned.copy_to(&media)?;
        let attached = model::serve(spec, &media, building)
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
        spec: &RigSpec,
        device: &Path,
        ledger: &Arc<Ledger>,
    ) -> Result<()> {
        let kind = spec.file_system.unwrap_or_default().name();
        let size = spec.model.as_ref().map(model::file_system_bytes).transpose()?;
        filesystem::make(kind, device, size, &spec.mkfs_options)?;
        let target = self.directory.join("mount");
        std::fs::create_dir(&target)?;
        let mount = Resource::Mount(OwnMount::of_device(device, &target)?);
        self.add(ledger, mount, || {
            Ok(filesystem::mount(kind, device, &target, &spec.mount_options)?)
        })?;
        if let Some(extsize) = spec.extsize {
            hint_extents(&target, extsize)?;
        }
        let options = filesystem::mount_of(&target)?.map(|mount| mount.options).unwrap_or_default();
        let made = [&["mkfs".to_owned()], spec.mkfs_options.as_slice()].concat().join(" ");
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

/// Space is taken for good: an image that runs out of disk under a running server would be read as a broken disk.
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
