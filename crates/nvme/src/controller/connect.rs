//! Connect, and the properties of a controller.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use zerocopy::FromBytes;

use super::{
    Controller, Directory, HostIdentity, IO_QUEUES_MAX, QUEUE_ENTRIES, Reaction, Refusal, State,
    Subsystem, done,
};
use crate::wire::{
    Completion, Configuration, ConnectCommand, ConnectData, ConnectRefusal, NvmeStatus, Property,
    Submission, VERSION_2_0, capabilities, connect_result, controller_status,
};

/// The kind of a queue, which its Connect fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueKind {
    /// Queue 0.
    Admin,
    /// Any other.
    Io,
}

/// A queue that a Connect has made.
pub struct Connected {
    /// Its controller.
    pub controller: Arc<Controller>,
    /// Its kind.
    pub kind: QueueKind,
    /// Its number.
    pub number: u16,
    /// Its entries.
    pub entries: u16,
    /// Whether the head of the queue is not reported in completions.
    pub no_flow_control: bool,
}

/// Time that a controller needs to become ready, at most, in ms.
const READY_MS: u32 = 15_000;

/// A refused Connect: its completion.
fn refused(command: &Submission, status: NvmeStatus, result: u64) -> Completion {
    Completion::new(command.id.get(), status, result)
}

/// Finds subsystems and controllers for the Connect of a new queue.
pub trait Finder {
    /// The subsystem of this name.
    fn subsystem(&self, name: &crate::wire::Nqn) -> Option<Arc<Subsystem>>;

    /// The live controller of this number.
    fn controller(&self, subsystem: &Subsystem, number: u16) -> Option<Arc<Controller>>;

    /// The log of discovery controllers.
    fn directory(&self) -> Option<Arc<dyn Directory>>;
}

/// Answers the first command of a connection, which has to be Connect.
///
/// # Errors
/// The completion of a Connect that is refused.
pub fn connect(
    finder: &dyn Finder,
    command: &Submission,
    data: &[u8],
    now: Duration,
) -> Result<(Connected, Completion), Completion> {
    let invalid =
        |field: ConnectRefusal| refused(command, NvmeStatus::CONNECT_INVALID, field.result());
    let connect = ConnectCommand::of(command);
    let asked = ConnectData::read_from_bytes(data)
        .map_err(|_| refused(command, NvmeStatus::SGL_LENGTH_INVALID, 0))?;
    if connect.format != 0 {
        return Err(refused(command, NvmeStatus::CONNECT_FORMAT, 0));
    }
    if !(1..QUEUE_ENTRIES).contains(&connect.size_0) {
        return Err(invalid(ConnectRefusal::QUEUE_SIZE));
    }
    let host = HostIdentity { name: asked.host().map_err(invalid)?, id: asked.host_id };
    if host.id == [0; 16] {
        return Err(invalid(ConnectRefusal::HOST_ID));
    }
    let name = asked.subsystem().map_err(invalid)?;
    let subsystem = finder.subsystem(&name).ok_or_else(|| invalid(ConnectRefusal::SUBSYSTEM))?;
    let controller = match connect.queue {
        0 if asked.controller().is_some() => return Err(invalid(ConnectRefusal::CONTROLLER)),
        0 => admitted(finder, &subsystem, host, &connect, now)
            .map_err(|status| refused(command, status, 0))?,
        number => joined(finder, &subsystem, &host, &asked, number).map_err(invalid)?,
    };
    let completion = Completion::new(
        command.id.get(),
        NvmeStatus::SUCCESS,
        connect_result(controller.id, false),
    );
    let connected = Connected {
        controller,
        kind: if connect.queue == 0 { QueueKind::Admin } else { QueueKind::Io },
        number: connect.queue,
        entries: connect.size_0 + 1,
        no_flow_control: connect.no_flow_control,
    };
    Ok((connected, completion))
}

/// A new controller for an admin queue.
fn admitted(
    finder: &dyn Finder,
    subsystem: &Arc<Subsystem>,
    host: HostIdentity,
    connect: &ConnectCommand,
    now: Duration,
) -> Result<Arc<Controller>, NvmeStatus> {
    let (id, gate) = subsystem.admit(&host).map_err(|refusal| match refusal {
        Refusal::NotAllowed => NvmeStatus::CONNECT_HOST,
        Refusal::Taken { .. } | Refusal::Full | Refusal::Busy => NvmeStatus::CONNECT_BUSY,
    })?;
    let state = State {
        keep_alive: Duration::from_millis(connect.keep_alive_ms.into()),
        last_sign: now,
        ..State::default()
    };
    Ok(Arc::new(Controller {
        subsystem: Arc::clone(subsystem),
        id,
        host,
        gate,
        directory: subsystem.is_discovery().then(|| finder.directory()).flatten(),
        state: Mutex::new(state),
    }))
}

/// The controller that an I/O queue joins: of the same host, enabled, and not a discovery
/// controller.
fn joined(
    finder: &dyn Finder,
    subsystem: &Subsystem,
    host: &HostIdentity,
    asked: &ConnectData,
    number: u16,
) -> Result<Arc<Controller>, ConnectRefusal> {
    let id = asked.controller().ok_or(ConnectRefusal::CONTROLLER)?;
    let controller = finder.controller(subsystem, id).ok_or(ConnectRefusal::CONTROLLER)?;
    if controller.host != *host {
        return Err(ConnectRefusal::HOST);
    }
    let granted = controller.state.lock().features.io_queues();
    let is_fitting = !subsystem.is_discovery() && controller.is_ready() && number <= granted;
    if !is_fitting || number > IO_QUEUES_MAX {
        return Err(ConnectRefusal::QUEUE);
    }
    Ok(controller)
}

impl Controller {
    pub(super) fn get_property(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        let (offset, bytes) = Property::of(command);
        let property = Property::at(offset).ok_or(NvmeStatus::INVALID_FIELD)?;
        if property.bytes() != bytes {
            return Err(NvmeStatus::INVALID_FIELD);
        }
        let state = self.state.lock();
        let value = match property {
            Property::Capabilities => capabilities(QUEUE_ENTRIES, READY_MS),
            Property::Version => VERSION_2_0.into(),
            Property::Configuration => state.configuration.into(),
            Property::Status => state.status.into(),
        };
        done(command, value)
    }

    /// Enables the controller, shuts it down or resets it, by what the host writes to its
    /// configuration.
    pub(super) fn set_property(&self, command: &Submission) -> Result<Reaction, NvmeStatus> {
        let (offset, bytes) = Property::of(command);
        if (Property::at(offset), bytes) != (Some(Property::Configuration), 4) {
            return Err(NvmeStatus::INVALID_FIELD);
        }
        let asked = Configuration(Property::value(command) as u32);
        let mut state = self.state.lock();
        let was_enabled = Configuration(state.configuration).is_enabled();
        state.configuration = asked.0;
        if asked.is_enabled() {
            state.status |= controller_status::READY;
        } else {
            state.status = 0;
            if was_enabled {
                // A reset: I/O queues end with it, their connections see that it is not ready.
                state.held_events.clear();
                state.features = super::features::Features::default();
            }
        }
        if asked.is_shutdown() {
            state.status |= controller_status::SHUT_DOWN;
        }
        done(command, 0)
    }
}
