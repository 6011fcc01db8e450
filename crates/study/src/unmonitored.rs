//! Series that a run lacks, with the reason.

use serde::{Deserialize, Serialize};

/// A source that could not be monitored. Errors are the system's or the server's own messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Unmonitored {
    /// A device whose I/O the kernel does not count (`queue/iostats` is 0).
    Uncounted { device: String },
    /// A device whose counters cannot be read.
    Device { device: String, error: String },
    /// A device whose counters disappeared.
    DeviceGone { device: String, error: String },
    /// No block device was found under a file.
    Below {
        below: Below,
        path: String,
        /// `None` if the file system has no device.
        error: Option<String>,
    },
    /// A process.
    Process { role: Role, pid: u32, error: String },
    /// The I/O counters of a process.
    ProcessIo { role: Role, pid: u32, error: String },
    /// A process ended.
    ProcessEnded { role: Role },
    /// Context switches of a process with too many threads.
    Switches {
        role: Role,
        /// Limit up to which threads' switches are counted.
        threads_max: u64,
    },
    /// The server's own counters.
    Server { error: String },
    /// The server, while it did not answer.
    ServerSilent,
    /// Counters of the server that the user may not read.
    Refused {
        /// Prefix of their names.
        prefix: String,
        error: String,
    },
    /// The software drive.
    Drive { error: String },
    /// The pool.
    Pool { error: String },
    /// The emulated device.
    Model { error: String },
    /// CPU time of other programs.
    Others { error: String },
    /// CPU time of the machine.
    Cpu { error: String },
    /// Space taken by the data.
    Space { path: String, error: String },
    /// Monitored without being bound to the plan's CPUs.
    Unbound { error: String },
    /// A monitoring thread ended early.
    ThreadEnded,
}

/// Owner of the file above a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Below {
    Data,
    Drive,
    Image,
}

/// Role of a process in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Server,
    /// The process that serves the software drive or the emulated device.
    Daemon,
    /// The load generator.
    Load,
}
