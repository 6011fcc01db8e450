//! A remote namespace as a disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U32, U64};

use assay_disk::{BLOCK_BYTES, Disk, DiskError, Guarantees, Result, check_range};

use super::association::{Association, as_io};
use super::queue::Data;
use super::{ConnectError, Remote};
use crate::admin::{Admin, AdminError};
use crate::wire::{
    ALL_NAMESPACES, Completion, ControllerData, DEALLOCATE, IoOpcode, NamespaceData, NvmeStatus,
    Range, Submission,
};

/// Largest transfer that is sent where the target sets no limit, in bytes.
const TRANSFER_BYTES: u64 = 1 << 20;

/// Most blocks of a command.
const BLOCKS_MAX: u64 = 1 << 16;

/// Pause between attempts to make a new association.
const RETRY: Duration = Duration::from_millis(200);

/// Facts of the namespace that hold for as long as it is attached.
struct Shape {
    number: u32,
    size: u64,
    block_bytes: u64,
    transfer_bytes: u64,
    guarantees: Guarantees,
    zeroes_discarded: bool,
}

/// Counts of the target's SMART page that change when it restarts.
type Starts = Option<(u128, u128)>;

struct Connection {
    association: Arc<Association>,
    generation: u64,
    starts: Starts,
}

/// A namespace of a target.
pub struct RemoteDisk {
    shared: Arc<Shared>,
    keeper: Option<std::thread::JoinHandle<()>>,
}

struct Shared {
    remote: Remote,
    shape: Shape,
    connection: RwLock<Connection>,
    /// Held by the thread that makes a new association.
    renewal: Mutex<()>,
    /// Completed writes that no flush has covered yet; counted up by writes.
    written: AtomicU64,
    flushed: AtomicU64,
    stopped: RwLock<Option<String>>,
    has_ended: Mutex<bool>,
    end: Condvar,
}

impl RemoteDisk {
    /// Connects to namespace `number` of a target.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(remote: Remote, number: u32) -> Result<RemoteDisk, ConnectError> {
        let association = Association::open(&remote)?;
        let controller = association.controller()?;
        let namespace = match association.namespace(number) {
            Err(AdminError::Refused(status)) if status.is(NvmeStatus::INVALID_NAMESPACE) => {
                return Err(ConnectError::NoNamespace(number));
            }
            answer => answer?,
        };
        if namespace.blocks.get() == 0 {
            return Err(ConnectError::NoNamespace(number));
        }
        let shape = Shape::of(number, &controller, &namespace)?;
        let starts = starts(&association, number);
        let connection = Connection { association: Arc::new(association), generation: 0, starts };
        let shared = Arc::new(Shared {
            remote,
            shape,
            connection: RwLock::new(connection),
            renewal: Mutex::new(()),
            written: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            stopped: RwLock::new(None),
            has_ended: Mutex::new(false),
            end: Condvar::new(),
        });
        let keeping = Arc::clone(&shared);
        let keeper = std::thread::Builder::new()
            .name("nvme-alive".into())
            .spawn(move || keeping.keep_alive())
            .map_err(|error| ConnectError::Connection(error.into()))?;
        Ok(RemoteDisk { shared, keeper: Some(keeper) })
    }

    /// Asks the controller an admin question.
    pub fn admin(&self) -> impl Admin + use<> {
        Arc::clone(&self.shared)
    }

    /// The name of the subsystem, and the number of the namespace.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.shared.shape.number
    }
}

impl Admin for Arc<Shared> {
    fn read(&self, command: Submission, data: &mut [u8]) -> Result<u64, AdminError> {
        let association = Arc::clone(&self.connection.read().association);
        association.read(command, data)
    }
}

impl Drop for RemoteDisk {
    fn drop(&mut self) {
        *self.shared.has_ended.lock() = true;
        self.shared.end.notify_all();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
        self.shared.connection.read().association.shut_down();
    }
}

impl Shape {
    fn of(
        number: u32,
        controller: &ControllerData,
        namespace: &NamespaceData,
    ) -> Result<Shape, ConnectError> {
        let block_bytes = namespace.block_bytes().ok_or(ConnectError::BlockSize(0))?;
        if block_bytes > BLOCK_BYTES {
            return Err(ConnectError::BlockSize(block_bytes));
        }
        let size = namespace.blocks.get().saturating_mul(block_bytes);
        let limit = controller.max_transfer_bytes().unwrap_or(TRANSFER_BYTES);
        // Only a promise of the namespace counts, as for Linux; a block is written whole by all.
        let atomic = namespace.atomic_bytes().unwrap_or(block_bytes).max(block_bytes);
        Ok(Shape {
            number,
            size: size / BLOCK_BYTES * BLOCK_BYTES,
            block_bytes,
            transfer_bytes: limit.min(TRANSFER_BYTES).min(BLOCKS_MAX * block_bytes),
            guarantees: Guarantees {
                atomic_write_bytes: atomic.min(limit),
                volatile_cache: controller.volatile_cache & 1 != 0,
            },
            zeroes_discarded: namespace.deallocated & 0x7 == 1,
        })
    }

    fn command(&self, opcode: IoOpcode, offset: u64, length: u64) -> Submission {
        Submission::new(opcode as u8, self.number)
            .on_blocks(offset / self.block_bytes, (length / self.block_bytes).max(1))
    }
}

fn starts(association: &Association, number: u32) -> Starts {
    let smart = association.smart(number).or_else(|_| association.smart(ALL_NAMESPACES)).ok()?;
    Some((smart.power_cycles.get(), smart.unsafe_shutdowns.get()))
}

impl Shared {
    fn keep_alive(&self) {
        let interval = self.remote.keep_alive / 2;
        if interval.is_zero() {
            return;
        }
        let mut has_ended = self.has_ended.lock();
        while !*has_ended {
            self.end.wait_for(&mut has_ended, interval);
            if *has_ended {
                return;
            }
            drop(has_ended);
            let association = Arc::clone(&self.connection.read().association);
            // The next command makes a new association.
            let _ = association.keep_alive();
            has_ended = self.has_ended.lock();
        }
    }

    /// Performs a command, over a new association if the present one fails.
    fn perform(&self, command: Submission, mut data: Data<'_>) -> Result<Completion> {
        loop {
            self.check_running()?;
            // Held until the command is counted, so that whoever makes a new association sees it.
            let connection = self.connection.read();
            let answer = connection.association.borrow().perform(command, data.again());
            match answer {
                Ok(completion) if completion.status().is_success() => {
                    if is_change(&command) {
                        self.written.fetch_add(1, Ordering::AcqRel);
                    }
                    return Ok(completion);
                }
                Ok(completion) => return Err(refused(completion.status(), &command, &self.shape)),
                Err(fault) => {
                    let generation = connection.generation;
                    drop(connection);
                    self.renew(generation, &as_io(fault))?;
                }
            }
        }
    }

    fn check_running(&self) -> Result<()> {
        match &*self.stopped.read() {
            Some(reason) => Err(DiskError::Stopped { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Makes a new association in place of the one of this generation, unless another thread has.
    fn renew(&self, failed: u64, because: &std::io::Error) -> Result<()> {
        let _renewal = self.renewal.lock();
        self.check_running()?;
        if self.connection.read().generation != failed {
            return Ok(());
        }
        self.connection.read().association.close();
        log::warn!(
            "the connection to {} failed: {because}; connecting again",
            self.remote.subsystem
        );
        let began = Instant::now();
        let association = loop {
            match Association::open(&self.remote) {
                Ok(association) => break association,
                Err(error) if began.elapsed() >= self.remote.patience => {
                    return Err(self
                        .stop(format!("{} is not reached again: {error}", self.remote.subsystem)));
                }
                Err(_) => std::thread::sleep(RETRY),
            }
        };
        let now = starts(&association, self.shape.number);
        // Waits for commands of the former association, whose connections are closed.
        let mut connection = self.connection.write();
        let may_have_restarted = connection.starts.is_none() || now != connection.starts;
        if may_have_restarted && self.has_unflushed() {
            let name = &self.remote.subsystem;
            return Err(self.stop(format!(
                "{name} may have restarted, and so have lost writes that were not flushed"
            )));
        }
        let generation = connection.generation + 1;
        *connection = Connection { association: Arc::new(association), generation, starts: now };
        log::info!("connected to {} again", self.remote.subsystem);
        Ok(())
    }

    fn has_unflushed(&self) -> bool {
        self.shape.guarantees.volatile_cache
            && self.written.load(Ordering::Acquire) > self.flushed.load(Ordering::Acquire)
    }

    fn stop(&self, reason: String) -> DiskError {
        let mut stopped = self.stopped.write();
        let reason = stopped.get_or_insert(reason).clone();
        DiskError::Stopped { reason }
    }
}

/// The error that stands for a status.
fn refused(status: NvmeStatus, command: &Submission, shape: &Shape) -> DiskError {
    let offset = command.first_block() * shape.block_bytes;
    match status {
        _ if status.is(NvmeStatus::CAPACITY_EXCEEDED) => DiskError::Full,
        _ if status.is(NvmeStatus::WRITE_PROTECTED) => {
            DiskError::ReadOnly { reason: "the target takes no writes".into() }
        }
        _ if status.is(NvmeStatus::UNRECOVERED_READ) => {
            DiskError::Corrupt { offset, what: "the target cannot read it".into() }
        }
        _ if status.is(NvmeStatus::LBA_OUT_OF_RANGE) => DiskError::OutOfRange {
            offset,
            length: command.blocks() * shape.block_bytes,
            size: shape.size,
        },
        _ => DiskError::Io(std::io::Error::other(format!("the target answers: {status}"))),
    }
}

impl Disk for RemoteDisk {
    fn size(&self) -> u64 {
        self.shared.shape.size
    }

    fn guarantees(&self) -> Guarantees {
        self.shared.shape.guarantees
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<()> {
        let shared = &self.shared;
        check_range(offset, data.len() as u64, shared.shape.size)?;
        let mut at = offset;
        for piece in data.chunks_mut(shared.shape.transfer_bytes as usize) {
            let length = piece.len() as u64;
            let command = shared.shape.command(IoOpcode::Read, at, length);
            shared.perform(command, Data::Receive(piece))?;
            at += length;
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], force_unit_access: bool) -> Result<()> {
        let shared = &self.shared;
        check_range(offset, data.len() as u64, shared.shape.size)?;
        let mut at = offset;
        for piece in data.chunks(shared.shape.transfer_bytes as usize) {
            let command = shared.shape.command(IoOpcode::Write, at, piece.len() as u64);
            let command = if force_unit_access { command.forced() } else { command };
            shared.perform(command, Data::Send(piece))?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        let shared = &self.shared;
        let before = shared.written.load(Ordering::Acquire);
        shared.perform(Submission::new(IoOpcode::Flush as u8, shared.shape.number), Data::None)?;
        shared.flushed.fetch_max(before, Ordering::AcqRel);
        Ok(())
    }

    fn discard(&self, offset: u64, length: u64) -> Result<()> {
        let shared = &self.shared;
        check_range(offset, length, shared.shape.size)?;
        let blocks = length / shared.shape.block_bytes;
        let first = offset / shared.shape.block_bytes;
        let mut done = 0;
        while done < blocks {
            let now = (blocks - done).min(if shared.shape.zeroes_discarded {
                u64::from(u32::MAX)
            } else {
                BLOCKS_MAX
            });
            match shared.shape.zeroes_discarded {
                true => {
                    let range = Range {
                        attributes: U32::ZERO,
                        blocks: U32::new(now as u32),
                        first: U64::new(first + done),
                    };
                    let command =
                        Submission::new(IoOpcode::DatasetManagement as u8, shared.shape.number)
                            .with_word(11, DEALLOCATE);
                    shared.perform(command, Data::Send(range.as_bytes()))?;
                }
                false => {
                    let at = (first + done) * shared.shape.block_bytes;
                    let length = now * shared.shape.block_bytes;
                    let command = shared.shape.command(IoOpcode::WriteZeroes, at, length);
                    shared.perform(command, Data::None)?;
                }
            }
            done += now;
        }
        Ok(())
    }
}

/// Returns true for a command whose effect the next flush makes durable.
fn is_change(command: &Submission) -> bool {
    let changes = [IoOpcode::Write, IoOpcode::WriteZeroes, IoOpcode::DatasetManagement];
    let is_change = changes.iter().any(|one| *one as u8 == command.opcode);
    is_change && !(command.opcode == IoOpcode::Write as u8 && command.forces_unit_access())
}
