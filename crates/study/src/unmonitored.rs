//! What could not be monitored, and why: series that a run lacks.

use serde::{Deserialize, Serialize};

/// What is missing of what is monitored. Errors are the system's or the server's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Unmonitored {
    /// A device whose I/O the kernel does not count (`queue/iostats` is 0).
    Uncounted {
        /// Its name.
        device: String,
    },
    /// A device whose counters cannot be read.
    Device {
        /// Its name.
        device: String,
        /// Why.
        error: String,
    },
    /// A device whose counters went away.
    DeviceGone {
        /// Its name.
        device: String,
        /// Why.
        error: String,
    },
    /// There is no block device under a file, or it cannot be found.
    Below {
        /// Whose file.
        below: Below,
        /// The file.
        path: String,
        /// Why it cannot be found; nothing where its file system has none of its own.
        error: Option<String>,
    },
    /// A process.
    Process {
        /// Its part.
        role: Role,
        /// Its number.
        pid: u32,
        /// Why.
        error: String,
    },
    /// The bytes that a process reads and writes.
    ProcessIo {
        /// Its part.
        role: Role,
        /// Its number.
        pid: u32,
        /// Why.
        error: String,
    },
    /// A process ended.
    ProcessEnded {
        /// Its part.
        role: Role,
    },
    /// Context switches of a process with too many threads.
    Switches {
        /// Its part.
        role: Role,
        /// With more threads they are not counted.
        threads_max: u64,
    },
    /// The server from inside.
    Server {
        /// Why.
        error: String,
    },
    /// The server, from when it did not answer until it did again.
    ServerSilent,
    /// Counters of the server that this user may not read.
    Refused {
        /// How their names begin.
        prefix: String,
        /// The server's words.
        error: String,
    },
    /// The software drive.
    Drive {
        /// Why.
        error: String,
    },
    /// The pool.
    Pool {
        /// Why.
        error: String,
    },
    /// The emulated device.
    Model {
        /// Why.
        error: String,
    },
    /// CPU time of other programs.
    Others {
        /// Why.
        error: String,
    },
    /// CPU time of the machine.
    Cpu {
        /// Why.
        error: String,
    },
    /// The space that the data take.
    Space {
        /// The data's directory.
        path: String,
        /// Why.
        error: String,
    },
    /// It was monitored, but not bound to the CPUs that the plan names.
    Unbound {
        /// Why.
        error: String,
    },
    /// A thread that monitors ended early.
    ThreadEnded,
}

/// Whose file a device lies below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Below {
    /// The data's.
    Data,
    /// The software drive's.
    Drive,
    /// The image's.
    Image,
}

/// A process's part in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The database server.
    Server,
    /// The process that serves the software drive or the emulated device.
    Daemon,
    /// The load generator.
    Load,
}
