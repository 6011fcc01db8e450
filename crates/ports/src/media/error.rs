//! Why there are no media.

use std::io;
use std::path::PathBuf;

use assay_disk::Bytes;
use thiserror::Error;

/// Why media could not be made or opened; one variant for each different reaction.
#[derive(Debug, Error)]
pub enum MediaError {
    /// There is something already.
    #[error("{path} already exists; give a new file")]
    Exists {
        /// What was named.
        path: PathBuf,
    },
    /// Someone has it: another value of this process, another process, or a mount.
    #[error("{path} is in use; detach what uses it, or wait for it to end")]
    InUse {
        /// What was named.
        path: PathBuf,
    },
    /// A loop device shows it, and whoever has that device writes there too.
    #[error(
        "{path} is in use by {device}; remove that with `losetup --detach {device}`, or name {device}"
    )]
    Shown {
        /// What was named.
        path: PathBuf,
        /// The device that shows it.
        device: PathBuf,
    },
    /// Someone has what it lies on.
    #[error("{path} is on {below}, which is in use; detach what uses that, or wait for it to end")]
    BelowInUse {
        /// What was named.
        path: PathBuf,
        /// What it lies on.
        below: PathBuf,
    },
    /// It is no size that a disk can have.
    #[error("{path} has {size} bytes, which is not a multiple of 4096 above 0")]
    Size {
        /// What was named.
        path: PathBuf,
        /// Its size, or the size asked for, in bytes.
        size: u64,
    },
    /// The space is not there.
    #[error("no space for {} at {path}; free some, or use a smaller size", Bytes(*.size))]
    Full {
        /// What was named.
        path: PathBuf,
        /// The size asked for, in bytes.
        size: u64,
    },
    /// It is something else.
    #[error("{path} is neither a file nor a block device; name one of these")]
    Kind {
        /// What was named.
        path: PathBuf,
    },
    /// The system said no.
    #[error("{path}: {reason}")]
    Io {
        /// What was named.
        path: PathBuf,
        /// What the system answered.
        reason: io::Error,
    },
}
