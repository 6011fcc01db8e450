//! What the workspace's crates and modules use, and what the documents say of it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod circles;
mod guarantees;
mod map;
