//! RBD images of a Ceph cluster, over librbd's C interface, which is loaded at run time: nothing of Ceph is needed to build,
//! nor where no image is named.
//!
//! A [`Cluster`] is a connection; it takes commands, and opens images. [`RbdMedia`] is an open image as a disk: each command
//! of the disk is one request to the cluster, and as many are in flight as threads ask.
//!
//! Guarantees: an image that is written to has one writer, on any machine, by the image's own exclusive lock; whoever takes
//! the lock of a writer that died has the cluster refuse what that writer still had on its way. What was answered is on all
//! the stores that the pool asks for: nothing is cached here.

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
pub use cluster::{Access as ClusterAccess, Cluster, Target};
pub use create::{NewImage, create, id, remove};
pub use error::RbdError;
pub use image::RbdMedia;
pub use name::ImageName;
pub use pool_io::PoolIo;
