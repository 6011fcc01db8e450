//! The layers below a directory: its file system, the devices under it, and if one of these is a
//! file, the layers below that.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_ports::{extents, nvme};
use assay_serve::health::{Health, STATUS_FILE};
use serde::{Deserialize, Serialize};

use crate::file_system::MountedFileSystem;
use crate::ground::Ground;
use crate::layers::{DeviceChain, DeviceLayer, LayerKind, start_bytes, walk};
use crate::nvme::Nvme;
use crate::pages::PageLayout;

/// A file system and the layers below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageStack {
    pub file_system: MountedFileSystem,
    /// The devices below it, from the top.
    pub layers: Vec<DeviceLayer>,
    /// Names and claims of the NVMe drives among them.
    pub drives: Vec<(String, Nvme)>,
    /// Devices that could not be asked, each with the error.
    pub refused: Vec<(String, String)>,
    /// Files behind devices among them.
    pub files: Vec<Backing>,
}

/// A file shown as a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backing {
    pub file: PathBuf,
    /// The server of the file, if it is Assay's.
    pub served: Option<Served>,
    /// The layout of its pages in the file system below; `None` if unknown, or if the file is
    /// served.
    pub pages: Option<PageLayout>,
    /// Bytes of the file in holes.
    pub hole_bytes: u64,
    /// Bytes shared with other files or snapshots.
    pub shared_bytes: u64,
    /// The layers below a file on a disk.
    pub below: Option<Box<StorageStack>>,
}

/// A disk served by Assay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    pub kind: ServedKind,
    pub media: PathBuf,
    /// The largest write that survives a power failure completely or not at all; `None` if the
    /// server does not report it.
    pub atomic_bytes: Option<u64>,
}

/// The type of a served disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServedKind {
    /// The software drive.
    Drive,
    /// A model of the device with that preset.
    Model(String),
    /// Something else, e.g. an image of a pool.
    Plain,
}

impl Served {
    fn of(health: Health) -> Served {
        // A disk that stores blocks in place has no segments.
        let plain = if health.status.segments > 0 { ServedKind::Drive } else { ServedKind::Plain };
        Served {
            kind: health.model.map_or(plain, |model| ServedKind::Model(model.name)),
            media: health.media,
            atomic_bytes: health.attachment.atomic_write_bytes,
        }
    }
}

/// Limit for file systems in files in file systems.
const DEPTH_MAX: u32 = 8;

impl StorageStack {
    /// The stack below a directory, for pages of that size.
    pub fn of(directory: &Path, page_bytes: u64) -> io::Result<StorageStack> {
        StorageStack::to_depth(directory, page_bytes, DEPTH_MAX)
    }

    fn to_depth(directory: &Path, page_bytes: u64, depth: u32) -> io::Result<StorageStack> {
        let file_system = MountedFileSystem::of(directory)?;
        let DeviceChain { layers, files } = walk(device_of(directory, &file_system)?);
        let mut stack = StorageStack {
            file_system,
            layers,
            drives: Vec::new(),
            refused: Vec::new(),
            files: Vec::new(),
        };
        stack.ask_drives();
        for file in files {
            let backing = Backing::of(&file, page_bytes, depth);
            stack.files.push(backing);
        }
        Ok(stack)
    }

    fn ask_drives(&mut self) {
        for layer in self.layers.iter().filter(|layer| layer.kind == LayerKind::Nvme) {
            match nvme::identify(&Path::new("/dev").join(&layer.name)) {
                Ok(identified) => self.drives.push((layer.name.clone(), Nvme::of(&identified))),
                Err(error) => self.refused.push((layer.name.clone(), error.to_string())),
            }
        }
    }

    /// Offset of the first device on its disk.
    #[must_use]
    pub fn start_bytes(&self) -> u64 {
        start_bytes(&self.layers)
    }
}

/// The device below a file or directory that encrypts its contents (dm-crypt, LUKS); `None` if
/// there is none, or if it cannot be found out.
#[must_use]
pub fn encrypting_below(path: &Path) -> Option<String> {
    let directory = if path.is_dir() { path } else { path.parent()? };
    let file_system = MountedFileSystem::of(directory).ok()?;
    let chain = walk(device_of(directory, &file_system).ok()?);
    chain.layers.into_iter().find(DeviceLayer::encrypts).map(|layer| layer.name)
}

/// The number of the device below; for file systems that hide it (btrfs), the number of the mounted
/// device.
fn device_of(directory: &Path, file_system: &MountedFileSystem) -> io::Result<u64> {
    let device = fs::metadata(directory)?.dev();
    let is_hidden = rustix::fs::major(device) == 0;
    let source = fs::metadata(&file_system.source).ok().filter(|_| is_hidden);
    Ok(source.map_or(device, |source| source.rdev()))
}

impl Backing {
    fn of(file: &Path, page_bytes: u64, depth: u32) -> Backing {
        let directory = file.parent().unwrap_or(Path::new("/"));
        let served = Health::read(&directory.join(STATUS_FILE)).ok().map(Served::of);
        let is_disks = served.is_none() && depth > 0;
        let below = is_disks.then(|| StorageStack::to_depth(directory, page_bytes, depth - 1).ok());
        let below = below.flatten().map(Box::new);
        let start_bytes = below.as_ref().map_or(0, |below| below.start_bytes());
        let ground = Ground { start_bytes, image: None };
        let looked =
            File::open(file).and_then(|file| Ok((extents::of(&file)?, file.metadata()?.len())));
        let looked = looked.ok().filter(|_| is_disks);
        let (found, bytes) = looked.clone().unwrap_or_default();
        let allocated: u64 = found
            .iter()
            .map(|extent| extent.logical_end().min(bytes) - extent.logical.min(bytes))
            .sum();
        let shared = found.iter().filter(|extent| extent.flags.is_shared());
        Backing {
            file: file.to_owned(),
            served,
            pages: looked.map(|(found, bytes)| PageLayout::of(&found, bytes, page_bytes, &ground)),
            hole_bytes: bytes - allocated,
            shared_bytes: shared.map(|extent| extent.length).sum(),
            below,
        }
    }
}
