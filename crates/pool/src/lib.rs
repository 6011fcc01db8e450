//! Pools of a Ceph cluster: private clusters of our own on loopback, and whatever cluster a configuration file names.
//!
//! A private cluster has one monitor, one manager and three or more object stores, all in one directory and all children of a
//! process of its own, which outlives the command that started it. It is for tests and small studies: what it keeps goes with
//! it.
//!
//! - [`programs`] finds Ceph's programs and its client library, or brings them
//! - [`start`] starts the daemon of a cluster, which outlives the command, and [`OwnCluster`] one that dies with this process; [`registry`] finds
//!   daemons, [`control`] asks one
//! - [`daemon`] brings the cluster up (`bring_up`: monitor, manager, stores in their order) and takes it down; `processes` are its children
//! - [`pools`] makes pools, [`figures`] tells how the cluster is, [`watch`] what changes of it, [`locate`] which cluster an image is in

mod answer;
mod bring_up;
mod config;
pub mod control;
pub mod daemon;
pub mod figures;
mod layout;
pub mod locate;
pub mod pools;
mod processes;
pub mod programs;
pub mod registry;
mod spec;
mod start;
mod store;
mod watched;

pub use answer::Started;
pub use layout::Layout;
pub use spec::{STORE_BYTES_MIN, STORES_MAX, STORES_MIN, Spec};
pub use start::{OwnCluster, empty_bytes, memory_needed_bytes, start};
pub use watched::{Watched, watch};
