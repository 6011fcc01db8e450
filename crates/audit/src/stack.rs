//! All that lies below a directory: its file system, the devices under it, and where one of these is a file, all that lies below that.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_ports::{extents, nvme};
use assay_serve::health::{Health, STATUS_FILE};
use serde::{Deserialize, Serialize};

use crate::file_system::FileSystem;
use crate::ground::Ground;
use crate::layers::{Chain, Layer, LayerKind, start_bytes, walk};
use crate::nvme::Nvme;
use crate::pages::Pages;

/// A file system and what is below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The file system.
    pub file_system: FileSystem,
    /// The devices below it, from above.
    pub layers: Vec<Layer>,
    /// What NVMe drives among them say of themselves, by their names.
    pub drives: Vec<(String, Nvme)>,
    /// What could not be asked, with what the system answered.
    pub refused: Vec<(String, String)>,
    /// Files that are shown as devices among them.
    pub files: Vec<Backing>,
}

/// A file that is shown as a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backing {
    /// Which.
    pub file: PathBuf,
    /// What serves it, where that is Assay.
    pub served: Option<Served>,
    /// How its own pages lie; nothing where that is not known, or it is served.
    pub pages: Option<Pages>,
    /// Bytes of the file in holes.
    pub hole_bytes: u64,
    /// Bytes that it shares with other files or snapshots.
    pub shared_bytes: u64,
    /// All below it, where it is a file of the disk.
    pub below: Option<Box<Stack>>,
}

/// What Assay serves as a disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// What it is.
    pub kind: ServedKind,
    /// What it lies on.
    pub media: PathBuf,
    /// The largest write that it keeps whole when the power goes, in bytes; nothing where it does not say.
    pub atomic_bytes: Option<u64>,
}

/// What is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServedKind {
    /// The software drive.
    Drive,
    /// A model of the device of that preset.
    Model(String),
    /// Something as it is: an image of a pool.
    Plain,
}

impl Served {
    fn of(health: Health) -> Served {
        // What stores blocks where they are addressed has no segments.
        let plain = if health.status.segments > 0 { ServedKind::Drive } else { ServedKind::Plain };
        Served {
            kind: health.model.map_or(plain, |model| ServedKind::Model(model.name)),
            media: health.media,
            atomic_bytes: health.attachment.atomic_write_bytes,
        }
    }
}

/// How deep files may lie in file systems that are files.
const DEPTH_MAX: u32 = 8;

impl Stack {
    /// Of a directory, whose pages are so large.
    ///
    /// # Errors
    /// The directory is not there.
    pub fn of(directory: &Path, page_bytes: u64) -> io::Result<Stack> {
        Stack::to_depth(directory, page_bytes, DEPTH_MAX)
    }

    fn to_depth(directory: &Path, page_bytes: u64, depth: u32) -> io::Result<Stack> {
        let file_system = FileSystem::of(directory)?;
        let Chain { layers, files } = walk(device_of(directory, &file_system)?);
        let mut stack = Stack {
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

    /// How far behind the beginning of its disk the first device begins, in bytes.
    #[must_use]
    pub fn start_bytes(&self) -> u64 {
        start_bytes(&self.layers)
    }
}

/// The device below a file or directory that encrypts what is stored there (dm-crypt, LUKS); nothing where there is none, or
/// nothing can be seen.
#[must_use]
pub fn encrypting_below(path: &Path) -> Option<String> {
    let directory = if path.is_dir() { path } else { path.parent()? };
    let file_system = FileSystem::of(directory).ok()?;
    let chain = walk(device_of(directory, &file_system).ok()?);
    chain.layers.into_iter().find(Layer::encrypts).map(|layer| layer.name)
}

/// The number of the device below; of file systems that hide it (btrfs), that of what is mounted.
fn device_of(directory: &Path, file_system: &FileSystem) -> io::Result<u64> {
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
        let below = is_disks.then(|| Stack::to_depth(directory, page_bytes, depth - 1).ok());
        let below = below.flatten().map(Box::new);
        let start_bytes = below.as_ref().map_or(0, |below| below.start_bytes());
        let ground = Ground { start_bytes, image: None };
        let looked =
            File::open(file).and_then(|file| Ok((extents::of(&file)?, file.metadata()?.len())));
        let looked = looked.ok().filter(|_| is_disks);
        let (found, bytes) = looked.clone().unwrap_or_default();
        let allocated: u64 =
            found.iter().map(|one| one.logical_end().min(bytes) - one.logical.min(bytes)).sum();
        let shared = found.iter().filter(|one| one.flags.is_shared());
        Backing {
            file: file.to_owned(),
            served,
            pages: looked.map(|(found, bytes)| Pages::of(&found, bytes, page_bytes, &ground)),
            hole_bytes: bytes - allocated,
            shared_bytes: shared.map(|one| one.length).sum(),
            below,
        }
    }
}
