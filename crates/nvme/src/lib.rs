//! NVM Express over TCP: a disk as a namespace of a controller, and a namespace as a disk.
//!
//! - [`wire`]: commands, structures and PDUs as types.
//! - [`controller`]: the answers of a controller, without sockets, threads or a clock.
//! - [`target`]: controllers behind a TCP address.
//! - [`initiator`]: a namespace of any target as a disk.
//! - [`auth`]: authentication by secrets, DH-HMAC-CHAP.
//! - [`admin`]: questions to a drive, wherever it is.
//!
//! The crate knows disks by [`assay_disk::Disk`] alone. Further facts of a namespace come from its
//! owner as values, see [`controller::NamespaceFacts`] and
//! [`controller::NamespaceHealth`].

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod admin;
pub mod auth;
pub mod controller;
pub mod initiator;
pub mod target;
mod transport;
pub mod wire;
