//! Helpers for the tests of served disks: a disk that records its commands, and a mount in a
//! directory of its own.

#[path = "../../src/testing.rs"]
pub mod testing;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use assay_disk::{BlockBuffer, Disk, Guarantees, MemoryDisk, Result};
use assay_ports::fuse::{FuseMount, FuseOptions, Resize, TextFile};

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;

/// A command received by the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Read(u64, u64),
    Write(u64, u64),
    ForcedWrite(u64, u64),
    Flush,
    Discard(u64, u64),
}

/// A disk in memory that records every command.
pub struct Recorder {
    disk: MemoryDisk,
    commands: Mutex<Vec<Command>>,
}

impl Recorder {
    pub fn new(size: u64) -> Arc<Recorder> {
        Arc::new(Recorder { disk: MemoryDisk::new(size).unwrap(), commands: Mutex::default() })
    }

    /// The commands since the last call.
    pub fn take(&self) -> Vec<Command> {
        std::mem::take(&mut self.commands.lock().unwrap())
    }

    fn note(&self, command: Command) {
        self.commands.lock().unwrap().push(command);
    }
}

impl Disk for Recorder {
    fn size(&self) -> u64 {
        self.disk.size()
    }

    fn guarantees(&self) -> Guarantees {
        self.disk.guarantees()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.note(Command::Read(offset, data.len() as u64));
        self.disk.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        let kind = if force_unit_access { Command::ForcedWrite } else { Command::Write };
        self.note(kind(offset, data.len() as u64));
        self.disk.write(offset, data, force_unit_access)
    }

    fn flush(&self) -> Result<()> {
        self.note(Command::Flush);
        self.disk.flush()
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.note(Command::Discard(offset, length));
        self.disk.discard(offset, length)
    }
}

/// A disk that grows.
pub struct Growing(Mutex<Arc<MemoryDisk>>);

impl Growing {
    pub fn new(size: u64) -> Arc<Growing> {
        Arc::new(Growing(Mutex::new(Arc::new(MemoryDisk::new(size).unwrap()))))
    }

    fn now(&self) -> Arc<MemoryDisk> {
        Arc::clone(&self.0.lock().unwrap())
    }

    pub fn resize(&self, size: u64) -> Result<()> {
        let new = MemoryDisk::new(size)?;
        let mut old = vec![0; self.now().size().min(size) as usize];
        self.now().read(0, &mut old)?;
        new.write(0, &old, false)?;
        *self.0.lock().unwrap() = Arc::new(new);
        Ok(())
    }
}

impl Disk for Growing {
    fn size(&self) -> u64 {
        self.now().size()
    }
    fn guarantees(&self) -> Guarantees {
        self.now().guarantees()
    }
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        self.now().read(offset, data)
    }
    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        self.now().write(offset, data, force_unit_access)
    }
    fn flush(&self) -> Result<()> {
        self.now().flush()
    }
    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        self.now().discard(offset, length)
    }
}

/// A served disk whose mount and directory are removed when the test ends.
pub struct Served {
    pub mount: FuseMount,
    // Dropped after the mount.
    pub directory: tempfile::TempDir,
}

impl Served {
    pub fn new(disk: Arc<dyn Disk>) -> Served {
        Served::with(disk, vec![], None)
    }

    pub fn with(disk: Arc<dyn Disk>, texts: Vec<TextFile>, resize: Option<Resize>) -> Served {
        let directory = tempfile::tempdir().unwrap();
        let mount = FuseMount::serve(options(directory.path()), disk, texts, resize).unwrap();
        Served { mount, directory }
    }

    pub fn open(&self) -> File {
        open(&self.mount.disk_path(), 0)
    }
}

pub fn options(mount_point: &Path) -> FuseOptions {
    FuseOptions {
        mount_point: mount_point.into(),
        name: "test, \\ disk".into(),
        threads: 4,
        asked_by: None,
    }
}

/// Opens a file for reading and writing with additional flags of `open(2)`.
pub fn open(path: &Path, flags: i32) -> File {
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap()
}

/// Numbered bytes, aligned to a block.
pub fn pattern(bytes: u64) -> BlockBuffer {
    let mut buffer = BlockBuffer::zeroed(bytes as usize);
    for (index, byte) in buffer.as_mut().iter_mut().enumerate() {
        *byte = (index / 4096 + index % 241) as u8;
    }
    buffer
}
