//! An initiator: a namespace of any NVMe/TCP target as a [`Disk`].
//!
//! Each command in flight has a connection of its own, which its caller's thread uses; see
//! [`Remote::queues`]. When a connection fails, the whole association is given up and a new one is
//! made, for as long as [`Remote::patience`] allows; commands without an answer are sent again.
//!
//! Guarantees: a write that was completed, but not flushed, is never taken for kept when the target
//! may have restarted meanwhile: the disk stops then, with the reason.

mod association;
mod discovery;
mod disk;
mod queue;

use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;

pub use self::discovery::discover;
pub use self::disk::RemoteDisk;
use crate::admin::AdminError;
use crate::controller::HostIdentity;
use crate::transport::LinkFault;
use crate::wire::{Digests, Nqn, NvmeStatus};

/// A subsystem to connect to, and how.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Address of the target.
    pub address: SocketAddr,
    /// The subsystem.
    pub subsystem: Nqn,
    /// This host.
    pub host: HostIdentity,
    /// Connections for I/O, and so commands in flight, at most. The target may grant fewer.
    pub queues: u16,
    /// Digests to ask for.
    pub digests: Digests,
    /// Interval after which the target may take this host for dead; 0 for never.
    pub keep_alive: Duration,
    /// Time to wait for an answer, and for the target to come back.
    pub patience: Duration,
}

/// The reason for which there is no association.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The target cannot be reached, or the connection failed.
    #[error(transparent)]
    Connection(#[from] LinkFault),
    /// The target's list has not this host.
    #[error("the target does not allow this host; name it among the target's hosts")]
    NotAllowed,
    /// Another host uses the subsystem, or the former association has not ended.
    #[error("the subsystem is in use by another host; disconnect that one first")]
    Busy,
    /// The target does not know the subsystem or this host's names.
    #[error(
        "the target refuses field {field:#x} of the request, e.g. because it has no subsystem \
         {subsystem}"
    )]
    Invalid {
        /// The subsystem.
        subsystem: Nqn,
        /// Offset of the field.
        field: u64,
    },
    /// The target wants this host to authenticate.
    #[error("the target requires authentication")]
    Authentication,
    /// The target refused a command.
    #[error("the target answers: {0}")]
    Refused(NvmeStatus),
    /// The target's answer makes no sense.
    #[error("the target answers with {0}")]
    Answer(&'static str),
    /// An admin command failed.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// The subsystem has no such namespace.
    #[error("the subsystem has no namespace {0}")]
    NoNamespace(u32),
    /// The blocks of the namespace are larger than those of a disk here.
    #[error("the namespace has blocks of {0} bytes; 512 to 4096 are supported")]
    BlockSize(u64),
}
