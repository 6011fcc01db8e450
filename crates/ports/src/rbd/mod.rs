//! RBD images of a Ceph cluster, over librbd's C interface, which is loaded at run time: neither
//! building nor using other media needs Ceph.
//!
//! A [`Cluster`] is a connection; it takes commands, and opens images. [`RbdMedia`] is an open
//! image as a disk: each command of the disk is one request to the cluster, and as many are in
//! flight as threads send.
//!
//! Guarantees: an image has one writer, on any machine, by the image's own exclusive lock; when the
//! lock of a dead writer is broken, the cluster refuses that writer's pending requests. An answered
//! write is on all the stores required by the pool: nothing is cached here.

mod api;
mod cluster;
mod completion;
mod create;
mod error;
mod image;
mod lock;
mod name;
mod patience;
mod pool_io;

pub use api::Libraries;
pub use cluster::{Cluster, ClusterAccess, CommandTarget};
pub use create::{NewImage, create, id, remove};
pub use error::RbdError;
pub use image::RbdMedia;
pub use name::ImageName;
pub use pool_io::PoolIo;
