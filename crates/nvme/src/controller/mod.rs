//! A controller as a state machine, without sockets, threads or a clock.
//!
//! [`Subsystem::admit`](Subsystem) makes a [`Controller`] of an association; its transport hands it
//! the commands of each queue and carries out its [`Reaction`]. I/O commands become [`Request`]s,
//! which the transport performs at the disk on any thread.
//!
//! Guarantees: no sequence of commands panics or takes memory beyond [`EVENT_REQUESTS_MAX`] held
//! requests. After a host was admitted again, no command of its former association reaches a disk,
//! see [`Request::perform`].

mod admin;
mod connect;
mod facts;
mod features;
mod gate;
mod io;
mod subsystem;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

pub use connect::{Connected, Finder, QueueKind, connect};
pub(crate) use facts::{ADMIN_IN_CAPSULE_BYTES, IN_CAPSULE_BYTES};
pub use facts::{NamespaceFacts, NamespaceHealth};
pub use io::Request;
pub use subsystem::{
    CONTROLLERS_MAX, HostAccess, HostIdentity, Namespace, NamespaceId, Refusal, Report, Subsystem,
    Texts,
};

use self::gate::Gate;
use crate::wire::{
    AdminOpcode, Completion, FabricsKind, IoOpcode, NvmeStatus, Sgl, SglKind, Submission,
};

/// Entries of a queue, at most.
pub const QUEUE_ENTRIES: u16 = 128;

/// I/O queues of a controller, at most.
pub const IO_QUEUES_MAX: u16 = 64;

/// Asynchronous event requests that a controller holds, at most.
pub const EVENT_REQUESTS_MAX: usize = 4;

/// Largest transfer, as a power of two of 4 KiB: 1 MiB.
pub(crate) const TRANSFER_POWER: u8 = 8;

/// Largest transfer, in bytes.
pub const TRANSFER_BYTES_MAX: u64 = 4096 << TRANSFER_POWER;

/// The answer to a command.
#[derive(Debug)]
pub enum Reaction {
    /// It is complete.
    Complete(Completion),
    /// It is complete, after these data have gone to the host.
    CompleteWith(Completion, Vec<u8>),
    /// The disk has to be asked.
    Ask(Request),
    /// It completes later, with an event.
    Hold,
}

/// The data that travel with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// None.
    None,
    /// Bytes from the host, wherever the descriptor says.
    FromHost(u32),
    /// The largest number of bytes for the host.
    ToHost(u32),
}

/// A controller of one association.
pub struct Controller {
    subsystem: Arc<Subsystem>,
    id: u16,
    host: HostIdentity,
    gate: Arc<Gate>,
    directory: Option<Arc<dyn Directory>>,
    state: Mutex<State>,
}

/// The subsystems that a discovery service shows.
pub trait Directory: Send + Sync {
    /// The discovery log for a host, whole, and its generation in the first 8 bytes.
    fn log(&self, host: &HostIdentity) -> Vec<u8>;
}

/// State that all queues of a controller share.
#[derive(Debug, Default)]
struct State {
    configuration: u32,
    status: u32,
    keep_alive: Duration,
    last_sign: Duration,
    features: features::Features,
    held_events: VecDeque<u16>,
    changed: Changed,
}

/// Namespaces that have changed since the host read the list of them.
#[derive(Debug, Default)]
struct Changed {
    numbers: Vec<u32>,
    /// Whether the host has been sent the event; it gets no second one before it reads the list.
    is_sent: bool,
}

impl Controller {
    /// Number of the controller.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The host of the association.
    #[must_use]
    pub fn host(&self) -> &HostIdentity {
        &self.host
    }

    /// The subsystem.
    #[must_use]
    pub fn subsystem(&self) -> &Arc<Subsystem> {
        &self.subsystem
    }

    /// Returns true if the association has ended, be it that its host was admitted again; its
    /// connections are to be closed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.gate.is_closed()
    }

    /// Ends the association.
    pub fn end(&self) {
        self.subsystem.release(self.id, &self.gate);
    }

    /// Notes a sign of life of the host.
    pub fn hear(&self, now: Duration) {
        self.state.lock().last_sign = now;
    }

    /// Returns true if the host has been silent for longer than its keep alive timeout and the
    /// granularity of the timer.
    #[must_use]
    pub fn is_silent(&self, now: Duration) -> bool {
        const GRANULARITY: Duration = Duration::from_secs(1);
        let state = self.state.lock();
        !state.keep_alive.is_zero()
            && now.saturating_sub(state.last_sign) > state.keep_alive + GRANULARITY
    }

    /// The data of a command of a queue, by its descriptor.
    ///
    /// # Errors
    /// The status with which the command fails, before any data travel.
    pub fn transfer(&self, queue: QueueKind, command: &Submission) -> Result<Transfer, NvmeStatus> {
        let length = command.data.length.get();
        let transfer = match direction(command) {
            _ if length == 0 => Transfer::None,
            Direction::None => Transfer::None,
            Direction::FromHost => Transfer::FromHost(length),
            Direction::ToHost => Transfer::ToHost(length),
        };
        if transfer != Transfer::None {
            check_descriptor(queue, &command.data, transfer)?;
        }
        Ok(transfer)
    }

    /// Answers a command of a queue whose data from the host have arrived. `now` is any clock that
    /// does not go back.
    pub fn answer(
        &self,
        queue: QueueKind,
        command: &Submission,
        data: &[u8],
        now: Duration,
    ) -> Reaction {
        self.hear(now);
        let answer = match (command.opcode == AdminOpcode::Fabrics as u8, queue) {
            (true, _) => self.fabrics(queue, command),
            (false, QueueKind::Admin) => self.admin(command),
            (false, QueueKind::Io) => self.io(command, data),
        };
        answer.unwrap_or_else(|status| {
            Reaction::Complete(Completion::new(command.id.get(), status, 0))
        })
    }

    /// Commands of fabrics after Connect.
    fn fabrics(&self, queue: QueueKind, command: &Submission) -> Result<Reaction, NvmeStatus> {
        match (FabricsKind::of(command).ok_or(NvmeStatus::INVALID_OPCODE)?, queue) {
            (FabricsKind::PropertyGet, QueueKind::Admin) => self.get_property(command),
            (FabricsKind::PropertySet, QueueKind::Admin) => self.set_property(command),
            (FabricsKind::Connect, _) => Err(NvmeStatus::SEQUENCE_ERROR),
            _ => Err(NvmeStatus::INVALID_OPCODE),
        }
    }

    /// Whether every write has to be durable when it completes; `None` if the controller is not
    /// ready.
    fn write_through(&self) -> Option<bool> {
        let state = self.state.lock();
        let is_ready = state.status & crate::wire::controller_status::READY != 0;
        is_ready.then(|| state.features.is_write_through())
    }

    fn is_ready(&self) -> bool {
        self.write_through().is_some()
    }
}

/// The step that completes a command with a result.
fn done(command: &Submission, result: u64) -> Result<Reaction, NvmeStatus> {
    Ok(Reaction::Complete(Completion::new(command.id.get(), NvmeStatus::SUCCESS, result)))
}

/// The step that completes a command with data, cut to what the host asks for.
fn done_with(command: &Submission, mut data: Vec<u8>) -> Result<Reaction, NvmeStatus> {
    data.truncate(command.data.length.get() as usize);
    Ok(Reaction::CompleteWith(Completion::new(command.id.get(), NvmeStatus::SUCCESS, 0), data))
}

enum Direction {
    None,
    FromHost,
    ToHost,
}

/// The direction of data stands in the lowest two bits of the opcode (Base, figure 88), or of the
/// kind of a fabrics command.
fn direction(command: &Submission) -> Direction {
    let code = match command.opcode == AdminOpcode::Fabrics as u8 {
        true => command.namespace.get() as u8,
        false => command.opcode,
    };
    match code & 0b11 {
        0b01 => Direction::FromHost,
        0b10 => Direction::ToHost,
        _ => Direction::None,
    }
}

fn check_descriptor(queue: QueueKind, data: &Sgl, transfer: Transfer) -> Result<(), NvmeStatus> {
    let in_capsule_max = match queue {
        QueueKind::Admin => ADMIN_IN_CAPSULE_BYTES,
        QueueKind::Io => IN_CAPSULE_BYTES,
    };
    let length = data.length.get();
    match (data.kind(), transfer) {
        _ if u64::from(length) > TRANSFER_BYTES_MAX => Err(NvmeStatus::INVALID_FIELD),
        (SglKind::InCapsule, Transfer::FromHost(_)) if data.address.get() != 0 => {
            Err(NvmeStatus::SGL_OFFSET_INVALID)
        }
        (SglKind::InCapsule, Transfer::FromHost(_)) if length > in_capsule_max => {
            Err(NvmeStatus::SGL_LENGTH_INVALID)
        }
        (SglKind::InCapsule, Transfer::FromHost(_)) | (SglKind::Transport, _) => Ok(()),
        (SglKind::InCapsule | SglKind::Other(_), _) => Err(NvmeStatus::SGL_TYPE_INVALID),
    }
}

/// Opcodes of admin queues but fabrics, for the log of effects.
pub(crate) const ADMIN_OPCODES: [u8; 7] = [
    AdminOpcode::GetLogPage as u8,
    AdminOpcode::Identify as u8,
    AdminOpcode::Abort as u8,
    AdminOpcode::SetFeatures as u8,
    AdminOpcode::GetFeatures as u8,
    AdminOpcode::AsyncEvent as u8,
    AdminOpcode::KeepAlive as u8,
];

/// Opcodes of I/O queues.
pub(crate) const IO_OPCODES: [u8; 5] = [
    IoOpcode::Flush as u8,
    IoOpcode::Write as u8,
    IoOpcode::Read as u8,
    IoOpcode::WriteZeroes as u8,
    IoOpcode::DatasetManagement as u8,
];

/// Opcodes of I/O queues that change blocks.
pub(crate) const CHANGING_OPCODES: [u8; 3] =
    [IoOpcode::Write as u8, IoOpcode::WriteZeroes as u8, IoOpcode::DatasetManagement as u8];
