//! An association: the admin queue and the I/O queues of one controller.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use zerocopy::IntoBytes;

use super::queue::{Data, Queue};
use super::{ConnectError, Remote};
use crate::admin::{Admin, AdminError};
use crate::transport::LinkFault;
use crate::wire::{
    AdminOpcode, Completion, Configuration, ConnectCommand, ConnectData, Nqn, NvmeStatus, Property,
    QUEUES_FEATURE, Submission, connected, controller_status, queue_entries,
};

/// Entries of the admin queue.
const ADMIN_ENTRIES: u16 = 32;

/// Entries of an I/O queue: one command is in flight, two are the fewest that there may be.
const IO_ENTRIES: u16 = 2;

/// Interval at which a controller is asked whether it is ready.
const READY_INTERVAL: Duration = Duration::from_millis(10);

pub(super) struct Association {
    admin: Mutex<Queue>,
    idle: Mutex<Vec<Queue>>,
    returned: Condvar,
    /// Set when a connection has failed: the whole association is given up then.
    has_failed: AtomicBool,
    /// A handle of every connection, to close them while others wait for their answers.
    streams: Mutex<Vec<TcpStream>>,
}

/// A queue for one command.
pub(super) struct Borrowed<'a> {
    association: &'a Association,
    queue: Option<Queue>,
}

impl Association {
    /// Connects to a controller of a subsystem and enables it.
    pub(super) fn open(remote: &Remote) -> Result<Association, ConnectError> {
        let mut admin = Queue::open(remote.address, remote.digests, remote.patience)?;
        let id = connect(&mut admin, remote, 0, ADMIN_ENTRIES, None)?;
        enable(&mut admin, remote.patience)?;
        let queues = if remote.subsystem.is_discovery() {
            0
        } else {
            ask_queues(&mut admin, remote.queues)?
        };
        let association = Association {
            admin: Mutex::new(admin),
            idle: Mutex::default(),
            returned: Condvar::new(),
            has_failed: AtomicBool::new(false),
            streams: Mutex::default(),
        };
        association.note(&association.admin.lock())?;
        if queues > 0 {
            let controller = association.controller()?;
            if controller.subsystem().as_ref() != Some(&remote.subsystem) {
                return Err(ConnectError::Answer("another subsystem than was asked for"));
            }
            let in_capsule = controller.in_capsule_bytes() as usize;
            for number in 1..=queues {
                let mut queue = Queue::open(remote.address, remote.digests, remote.patience)?;
                connect(&mut queue, remote, number, IO_ENTRIES, Some(id))?;
                queue.set_in_capsule_bytes(in_capsule);
                association.note(&queue)?;
                association.idle.lock().push(queue);
            }
        }
        Ok(association)
    }

    /// A queue that nobody uses; waits for one. The one that was used last is given first: its
    /// buffers are warm.
    pub(super) fn borrow(&self) -> Borrowed<'_> {
        let mut idle = self.idle.lock();
        loop {
            if let Some(queue) = idle.pop() {
                return Borrowed { association: self, queue: Some(queue) };
            }
            self.returned.wait(&mut idle);
        }
    }

    /// Returns true if the association is to be given up.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Tells the controller that this host is alive.
    pub(super) fn keep_alive(&self) -> Result<(), LinkFault> {
        let command = Submission::new(AdminOpcode::KeepAlive as u8, 0);
        let result = self.admin.lock().perform(command, Data::None);
        result.map(drop).inspect_err(|_| self.has_failed.store(true, Ordering::Release))
    }

    fn note(&self, queue: &Queue) -> Result<(), ConnectError> {
        self.streams.lock().push(queue.stream().map_err(LinkFault::from)?);
        Ok(())
    }

    /// Closes all connections; commands that wait for their answers fail.
    pub(super) fn close(&self) {
        self.has_failed.store(true, Ordering::Release);
        for stream in self.streams.lock().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Announces a shutdown.
    pub(super) fn shut_down(&self) {
        let value = u64::from(Configuration::ENABLED.shut_down().0);
        let _ = self.admin.lock().perform(Property::Configuration.set(value), Data::None);
    }
}

impl Borrowed<'_> {
    /// Performs a command. After a fault the association has failed.
    pub(super) fn perform(
        &mut self,
        command: Submission,
        data: Data<'_>,
    ) -> Result<Completion, LinkFault> {
        let Some(queue) = self.queue.as_mut().filter(|_| !self.association.has_failed()) else {
            return Err(LinkFault::Closed);
        };
        queue.perform(command, data).inspect_err(|_| {
            self.association.has_failed.store(true, Ordering::Release);
        })
    }
}

impl Drop for Borrowed<'_> {
    /// A queue that failed goes back too: whoever takes it learns that the association has failed.
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            self.association.idle.lock().push(queue);
            self.association.returned.notify_one();
        }
    }
}

impl Admin for Association {
    fn read(&self, command: Submission, data: &mut [u8]) -> Result<u64, AdminError> {
        let mut admin = self.admin.lock();
        let transfer = if data.is_empty() { Data::None } else { Data::Receive(data) };
        let completion = admin.perform(command, transfer).map_err(as_io)?;
        match completion.status() {
            status if status.is_success() => Ok(completion.result.get()),
            status => Err(AdminError::Refused(status)),
        }
    }
}

pub(super) fn as_io(fault: LinkFault) -> std::io::Error {
    match fault {
        LinkFault::Io(error) => error,
        LinkFault::Closed => std::io::ErrorKind::ConnectionAborted.into(),
        other => std::io::Error::other(other.to_string()),
    }
}

/// Connects a queue. Returns the number of its controller.
fn connect(
    queue: &mut Queue,
    remote: &Remote,
    number: u16,
    entries: u16,
    controller: Option<u16>,
) -> Result<u16, ConnectError> {
    let keep_alive_ms = if number == 0 { remote.keep_alive.as_millis() as u32 } else { 0 };
    let connect = ConnectCommand {
        format: 0,
        queue: number,
        size_0: entries - 1,
        no_flow_control: true,
        keep_alive_ms,
    };
    let data = ConnectData::new(remote.host.id, &remote.host.name, &remote.subsystem, controller);
    let completion = queue.perform(connect.command(), Data::Send(data.as_bytes()))?;
    refused(&completion, &remote.subsystem)?;
    let (controller, must_authenticate) = connected(completion.result);
    match must_authenticate {
        true => Err(ConnectError::Authentication),
        false => Ok(controller),
    }
}

fn refused(completion: &Completion, subsystem: &Nqn) -> Result<(), ConnectError> {
    match completion.status() {
        status if status.is_success() => Ok(()),
        status if status.is(NvmeStatus::CONNECT_HOST) => Err(ConnectError::NotAllowed),
        status if status.is(NvmeStatus::CONNECT_BUSY) => Err(ConnectError::Busy),
        status if status.is(NvmeStatus::CONNECT_INVALID) => Err(ConnectError::Invalid {
            subsystem: subsystem.clone(),
            field: completion.result.get(),
        }),
        status => Err(ConnectError::Refused(status)),
    }
}

/// Enables the controller and waits until it is ready.
fn enable(admin: &mut Queue, patience: Duration) -> Result<(), ConnectError> {
    let mut property = |command| {
        let completion = admin.perform(command, Data::None)?;
        match completion.status() {
            status if status.is_success() => Ok(completion.result.get()),
            status => Err(ConnectError::Refused(status)),
        }
    };
    if queue_entries(property(Property::Capabilities.get())?) < u32::from(IO_ENTRIES) {
        return Err(ConnectError::Answer("queues of one entry"));
    }
    property(Property::Configuration.set(u64::from(Configuration::ENABLED.0)))?;
    let mut waited = Duration::ZERO;
    loop {
        let status = property(Property::Status.get())? as u32;
        if status & controller_status::READY != 0 {
            return Ok(());
        }
        if waited >= patience || status & controller_status::FATAL != 0 {
            return Err(ConnectError::Answer("a controller that does not become ready"));
        }
        std::thread::sleep(READY_INTERVAL);
        waited += READY_INTERVAL;
    }
}

/// Asks for I/O queues. Returns how many there are, at least one.
fn ask_queues(admin: &mut Queue, wanted: u16) -> Result<u16, ConnectError> {
    let wanted_0 = u32::from(wanted.max(1) - 1);
    let command = Submission::new(AdminOpcode::SetFeatures as u8, 0)
        .with_word(10, QUEUES_FEATURE.into())
        .with_word(11, wanted_0 << 16 | wanted_0);
    let completion = admin.perform(command, Data::None)?;
    if !completion.status().is_success() {
        return Err(ConnectError::Refused(completion.status()));
    }
    let granted = completion.result.get() as u32;
    let granted = (granted & 0xffff).min(granted >> 16) + 1;
    Ok(u16::try_from(granted).unwrap_or(u16::MAX).min(wanted.max(1)))
}
