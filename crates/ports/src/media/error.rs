//! Errors in making and opening media.

use std::io;
use std::path::PathBuf;

use assay_disk::Bytes;
use thiserror::Error;

/// Why media could not be made or opened; one variant for each reaction.
#[derive(Debug, Error)]
pub enum MediaError {
    /// The path exists.
    #[error("{path} already exists; give a new file")]
    Exists {
        /// The path as given.
        path: PathBuf,
    },
    /// The media are in use: by another value of this process, another process, or a mount.
    #[error("{path} is in use; detach what uses it, or wait for it to end")]
    InUse {
        /// The path as given.
        path: PathBuf,
    },
    /// A loop device shows the file, and its users could write, too.
    #[error(
        "{path} is in use by {device}; remove that with `losetup --detach {device}`, or name \
         {device}"
    )]
    Shown {
        /// The path as given.
        path: PathBuf,
        /// The device that shows it.
        device: PathBuf,
    },
    /// The file or device below is in use.
    #[error("{path} is on {below}, which is in use; detach what uses that, or wait for it to end")]
    BelowInUse {
        /// The path as given.
        path: PathBuf,
        /// The file or device below.
        below: PathBuf,
    },
    /// The size is impossible for a disk.
    #[error("{path} has {size} bytes, which is not a multiple of 4096 above 0")]
    Size {
        /// The path as given.
        path: PathBuf,
        /// Its size, or the requested size, in bytes.
        size: u64,
    },
    /// The file system lacks the space.
    #[error("no space for {} at {path}; free some, or use a smaller size", Bytes(*.size))]
    Full {
        /// The path as given.
        path: PathBuf,
        /// The requested size, in bytes.
        size: u64,
    },
    /// The path is neither a file nor a block device.
    #[error("{path} is neither a file nor a block device; name one of these")]
    Kind {
        /// The path as given.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("{path}: {reason}")]
    Io {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
}
