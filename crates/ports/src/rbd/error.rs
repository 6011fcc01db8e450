//! Errors in using a cluster, a pool or an image.

use std::io;
use std::path::PathBuf;

use assay_disk::Bytes;
use rustix::io::Errno;
use thiserror::Error;

/// Why a cluster, a pool or an image could not be used; one variant for each reaction.
#[derive(Debug, Error)]
pub enum RbdError {
    /// The client library is missing or incomplete.
    #[error(
        "Ceph's client library cannot be loaded ({reason}); install librbd1, or fetch it with \
         `assay pool fetch`"
    )]
    NoLibrary {
        /// The loader's message.
        reason: String,
    },
    /// The configuration file cannot be used.
    #[error(
        "{conf} cannot be used as a Ceph configuration: {reason}; give the cluster's own with \
         --ceph-conf"
    )]
    Conf {
        /// The configuration file.
        conf: PathBuf,
        /// The fault.
        reason: io::Error,
    },
    /// No monitor answers.
    #[error(
        "the monitors that {conf} names do not answer; check that the cluster runs, and its \
         addresses"
    )]
    Unreachable {
        /// The cluster's configuration file.
        conf: PathBuf,
    },
    /// The cluster does not know the user, or lacks permission for them.
    #[error(
        "the cluster of {conf} refused {user} ({reason}); check the keyring that it names, and the \
         user's capabilities"
    )]
    Refused {
        /// The cluster's configuration file.
        conf: PathBuf,
        /// The user's name.
        user: String,
        /// The cluster's answer.
        reason: io::Error,
    },
    /// There is no such pool.
    #[error("there is no pool {pool} in this cluster; `assay pool status` lists its pools")]
    NoPool {
        /// The pool's name.
        pool: String,
    },
    /// There is no such image.
    #[error("there is no image {image}; create it with `assay pool image {image} --size SIZE`")]
    NoImage {
        /// The image's name.
        image: String,
    },
    /// The image exists.
    #[error("{image} already exists; give a new name, or remove it with `rbd rm`")]
    Exists {
        /// The image's name.
        image: String,
    },
    /// A client has the image open for writing.
    #[error(
        "{image} is in use by the client {owner}; detach it there, or wait 30 s if that client died"
    )]
    InUse {
        /// The image's name.
        image: String,
        /// Address of the client that holds its lock.
        owner: String,
    },
    /// The image lacks the feature that excludes a second writer.
    #[error(
        "{image} lacks the feature exclusive-lock, without which nothing keeps two writers apart; \
         `rbd feature enable {image} exclusive-lock` adds it"
    )]
    NoLock {
        /// The image's name.
        image: String,
    },
    /// The size is impossible for a disk.
    #[error("{image} has {size} bytes, which is not a multiple of 4096 above 0")]
    Size {
        /// The image's name.
        image: String,
        /// Its size, in bytes.
        size: u64,
    },
    /// The pool has reached its quota, or the cluster is full.
    #[error("no space for {image} of {}: the pool is full; free some, or raise its \
             quota", Bytes(*.size))]
    Full {
        /// The image's name.
        image: String,
        /// Its size, in bytes.
        size: u64,
    },
    /// The data pool is erasure-coded and takes whole objects only.
    #[error(
        "{image}: its data pool takes no overwrites; allow them with `ceph osd pool set POOL \
         allow_ec_overwrites true`"
    )]
    NoOverwrites {
        /// The image's name.
        image: String,
    },
    /// The pool cannot store an image's metadata.
    #[error(
        "{image}: its pool is erasure-coded and keeps data alone; name an image of a replicated \
         pool, and this one with --data-pool"
    )]
    NoMetadata {
        /// The image's name.
        image: String,
    },
    /// The pool does not answer in time.
    #[error(
        "{what} did not answer within {seconds} s; check the cluster's health with `assay pool \
         status`"
    )]
    Unhealthy {
        /// The operation.
        what: String,
        /// Time limit in seconds.
        seconds: u64,
    },
    /// The cluster refused a command.
    #[error("the cluster refused `{command}`: {said}")]
    Command {
        /// The command's prefix.
        command: String,
        /// The error number.
        code: i32,
        /// The cluster's message.
        said: String,
    },
    /// Any other error.
    #[error("{what}: {reason}")]
    Io {
        /// The operation.
        what: String,
        /// The cluster's error.
        reason: io::Error,
    },
}

/// The error number of a negative answer.
pub(super) fn errno(answer: i32) -> Errno {
    Errno::from_raw_os_error(-answer)
}

/// The error of a negative answer.
pub(super) fn reason(answer: i32) -> io::Error {
    io::Error::from_raw_os_error(-answer)
}
