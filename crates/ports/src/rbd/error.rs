//! Why a cluster, a pool or an image could not be used.

use std::io;
use std::path::PathBuf;

use assay_disk::Bytes;
use rustix::io::Errno;
use thiserror::Error;

/// One variant for each different reaction.
#[derive(Debug, Error)]
pub enum RbdError {
    /// The client library is not here, or not whole.
    #[error(
        "Ceph's client library cannot be loaded ({reason}); install librbd1, or fetch it with `assay pool fetch`"
    )]
    NoLibrary {
        /// What the loader said.
        reason: String,
    },
    /// The configuration file cannot be used.
    #[error(
        "{conf} cannot be used as a Ceph configuration: {reason}; give the cluster's own with --ceph-conf"
    )]
    Conf {
        /// The file.
        conf: PathBuf,
        /// What is wrong.
        reason: io::Error,
    },
    /// Nobody answers at the monitors' addresses.
    #[error(
        "the monitors that {conf} names do not answer; check that the cluster runs, and its addresses"
    )]
    Unreachable {
        /// The cluster's configuration file.
        conf: PathBuf,
    },
    /// The cluster does not know who asks, or does not let them.
    #[error(
        "the cluster of {conf} refused {user} ({reason}); check the keyring that it names, and the user's capabilities"
    )]
    Refused {
        /// The cluster's configuration file.
        conf: PathBuf,
        /// Who asked.
        user: String,
        /// What the cluster answered.
        reason: io::Error,
    },
    /// There is no such pool.
    #[error("there is no pool {pool} in this cluster; `assay pool status` lists its pools")]
    NoPool {
        /// What was named.
        pool: String,
    },
    /// There is no such image.
    #[error("there is no image {image}; create it with `assay pool image {image} --size SIZE`")]
    NoImage {
        /// What was named.
        image: String,
    },
    /// There is one already.
    #[error("{image} already exists; give a new name, or remove it with `rbd rm`")]
    Exists {
        /// What was named.
        image: String,
    },
    /// A client has it for writing.
    #[error(
        "{image} is in use by the client {owner}; detach it there, or wait 30 s if that client died"
    )]
    InUse {
        /// What was named.
        image: String,
        /// The client that holds its lock, by its address.
        owner: String,
    },
    /// One writer cannot be kept from another.
    #[error(
        "{image} lacks the feature exclusive-lock, without which nothing keeps two writers apart; `rbd feature enable {image} exclusive-lock` adds it"
    )]
    NoLock {
        /// What was named.
        image: String,
    },
    /// It is no size that a disk can have.
    #[error("{image} has {size} bytes, which is not a multiple of 4096 above 0")]
    Size {
        /// What was named.
        image: String,
        /// Its size, in bytes.
        size: u64,
    },
    /// The pool has reached its quota, or the cluster is full.
    #[error("no space for {image} of {}: the pool is full; free some, or raise its quota", Bytes(*.size))]
    Full {
        /// What was named.
        image: String,
        /// Its size, in bytes.
        size: u64,
    },
    /// The data pool is erasure-coded and takes whole objects only.
    #[error(
        "{image}: its data pool takes no overwrites; allow them with `ceph osd pool set POOL allow_ec_overwrites true`"
    )]
    NoOverwrites {
        /// What was named.
        image: String,
    },
    /// The pool cannot keep what an image says of itself.
    #[error(
        "{image}: its pool is erasure-coded and keeps data alone; name an image of a replicated pool, and this one with --data-pool"
    )]
    NoMetadata {
        /// What was named.
        image: String,
    },
    /// What keeps the image does not answer in time.
    #[error(
        "{what} did not answer within {seconds} s; check the cluster's health with `assay pool status`"
    )]
    Unhealthy {
        /// What was asked.
        what: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The cluster did not do what a command asked.
    #[error("the cluster refused `{command}`: {said}")]
    Command {
        /// The command, by the prefix that it goes by.
        command: String,
        /// What it answered in numbers.
        code: i32,
        /// What it said.
        said: String,
    },
    /// Anything else.
    #[error("{what}: {reason}")]
    Io {
        /// What was being done.
        what: String,
        /// What the cluster answered.
        reason: io::Error,
    },
}

/// The error that a negative answer stands for.
pub(super) fn errno(answer: i32) -> Errno {
    Errno::from_raw_os_error(-answer)
}

/// The same in words.
pub(super) fn reason(answer: i32) -> io::Error {
    io::Error::from_raw_os_error(-answer)
}
