//! I/O commands: what is asked of a disk, and what becomes of its errors.

use std::sync::Arc;

use zerocopy::FromBytes;

use assay_disk::{BLOCK_BYTES, Disk, DiskError};

use super::gate::Gate;
use super::{Controller, Reaction, TRANSFER_BYTES_MAX, done};
use crate::wire::{
    ALL_NAMESPACES, Completion, DEALLOCATE, IoOpcode, NvmeStatus, Range, Submission,
};

/// A command for a disk.
pub struct Request {
    disk: Arc<dyn Disk>,
    gate: Arc<Gate>,
    id: u16,
    work: Work,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("id", &self.id).field("work", &self.work).finish()
    }
}

/// Bytes of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    offset: u64,
    length: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Read(Extent),
    Write { extent: Extent, is_forced: bool },
    Discard { extents: Vec<Extent>, is_forced: bool },
    Flush,
}

impl Request {
    /// The command.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Bytes that a read needs room for.
    #[must_use]
    pub fn read_bytes(&self) -> usize {
        match &self.work {
            Work::Read(extent) => extent.length as usize,
            _ => 0,
        }
    }

    /// Performs the command at its disk: a read fills `data`, a write takes it. A command whose
    /// association has ended does nothing.
    #[must_use]
    pub fn perform(&self, data: &mut [u8]) -> Completion {
        let status = match self.gate.pass() {
            None => NvmeStatus::ABORTED,
            Some(_passage) => {
                self.at_disk(data).map_or_else(|error| status(&error), |()| NvmeStatus::SUCCESS)
            }
        };
        Completion::new(self.id, status, 0)
    }

    fn at_disk(&self, data: &mut [u8]) -> Result<(), DiskError> {
        match &self.work {
            Work::Read(extent) => self.disk.read(extent.offset, data),
            Work::Write { extent, is_forced } => self.disk.write(extent.offset, data, *is_forced),
            Work::Discard { extents, is_forced } => {
                for extent in extents {
                    self.disk.discard(extent.offset, extent.length)?;
                }
                if *is_forced { self.disk.flush() } else { Ok(()) }
            }
            Work::Flush => self.disk.flush(),
        }
    }
}

/// The status that lets a host react as to the error: a full disk is no path error, damaged data
/// will not come back by asking again.
fn status(error: &DiskError) -> NvmeStatus {
    match error {
        DiskError::OutOfRange { .. } => NvmeStatus::LBA_OUT_OF_RANGE,
        DiskError::Full => NvmeStatus::CAPACITY_EXCEEDED,
        DiskError::ReadOnly { .. } => NvmeStatus::WRITE_PROTECTED,
        DiskError::Corrupt { .. } => NvmeStatus::UNRECOVERED_READ,
        DiskError::Io(_) => NvmeStatus::INTERNAL_ERROR,
        DiskError::Stopped { .. } => NvmeStatus::WRITE_FAULT,
    }
}

impl Controller {
    pub(super) fn io(&self, command: &Submission, data: &[u8]) -> Result<Reaction, NvmeStatus> {
        let opcode = IoOpcode::of(command.opcode).ok_or(NvmeStatus::INVALID_OPCODE)?;
        let is_write_through = self.write_through().ok_or(NvmeStatus::SEQUENCE_ERROR)?;
        let number = command.namespace.get();
        if number == ALL_NAMESPACES {
            // Flush alone takes it, and Identify says that it does not (VWC).
            return Err(NvmeStatus::INVALID_NAMESPACE);
        }
        let namespace = self.subsystem.namespace(number).ok_or(NvmeStatus::INVALID_NAMESPACE)?;
        let disk = namespace.disk();
        let is_forced = command.forces_unit_access() || is_write_through;
        let work = match opcode {
            IoOpcode::Flush => Work::Flush,
            IoOpcode::Read => Work::Read(transferred(command, &**disk)?),
            IoOpcode::Write => Work::Write { extent: transferred(command, &**disk)?, is_forced },
            IoOpcode::WriteZeroes => {
                let extents = vec![extent(command, &**disk)?];
                Work::Discard { extents, is_forced }
            }
            IoOpcode::DatasetManagement => match deallocated(command, data, &**disk)? {
                Some(extents) => Work::Discard { extents, is_forced: false },
                None => return done(command, 0),
            },
            IoOpcode::Fabrics => return Err(NvmeStatus::INVALID_OPCODE),
        };
        let (disk, gate) = (Arc::clone(disk), Arc::clone(&self.gate));
        Ok(Reaction::Ask(Request { disk, gate, id: command.id.get(), work }))
    }
}

/// The bytes that a read or write moves; their number is that of the descriptor.
fn transferred(command: &Submission, disk: &dyn Disk) -> Result<Extent, NvmeStatus> {
    let extent = extent(command, disk)?;
    if extent.length > TRANSFER_BYTES_MAX {
        return Err(NvmeStatus::INVALID_FIELD);
    }
    if extent.length != u64::from(command.data.length.get()) {
        return Err(NvmeStatus::SGL_LENGTH_INVALID);
    }
    Ok(extent)
}

fn extent(command: &Submission, disk: &dyn Disk) -> Result<Extent, NvmeStatus> {
    of_blocks(command.first_block(), command.blocks(), disk)
}

fn of_blocks(first: u64, blocks: u64, disk: &dyn Disk) -> Result<Extent, NvmeStatus> {
    let last = first.checked_add(blocks).ok_or(NvmeStatus::LBA_OUT_OF_RANGE)?;
    if last > disk.size() / BLOCK_BYTES {
        return Err(NvmeStatus::LBA_OUT_OF_RANGE);
    }
    Ok(Extent { offset: first * BLOCK_BYTES, length: blocks * BLOCK_BYTES })
}

/// The ranges that Dataset Management deallocates; `None` if it only gives hints. All are checked
/// before the first is discarded.
fn deallocated(
    command: &Submission,
    data: &[u8],
    disk: &dyn Disk,
) -> Result<Option<Vec<Extent>>, NvmeStatus> {
    let count = (command.word(10) & 0xff) as usize + 1;
    let bytes = count * size_of::<Range>();
    if data.len() < bytes {
        return Err(NvmeStatus::SGL_LENGTH_INVALID);
    }
    if command.word(11) & DEALLOCATE == 0 {
        return Ok(None);
    }
    let ranges =
        <[Range]>::ref_from_bytes(&data[..bytes]).map_err(|_| NvmeStatus::INVALID_FIELD)?;
    ranges
        .iter()
        .filter(|range| range.blocks.get() > 0)
        .map(|range| of_blocks(range.first.get(), range.blocks.get().into(), disk))
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
}
