//! Pools of a Ceph cluster: private clusters on loopback, and any cluster that a configuration file
//! names.
//!
//! A private cluster has one monitor, one manager and three or more object stores, all in one
//! directory and all children of a daemon, which outlives the command that started it. It is for
//! tests and small studies: its data are deleted with it.
//!
//! - [`programs`] finds or downloads Ceph's programs and its client library
//! - [`start`] starts the daemon of a cluster, which outlives the command, and [`OwnCluster`] one
//!   that dies with this process; [`registry`] finds daemons, [`control`] sends requests to one
//! - [`daemon`] starts the cluster's processes (`bring_up`: monitor, manager, stores in this order)
//!   and stops them; `processes` are its children
//! - [`pools`] makes pools, [`figures`] reads a cluster's condition, [`watch`] its changing part,
//!   [`locate`] finds the cluster of an image

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
