//! Seeded command sequences and PDUs from a host that keeps no rule: the controller answers each or
//! refuses it, never panics, and takes no memory that it does not bound.
//!
//! Each seed is one association. `ASSAY_SEED` sets the first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../remote/server.rs"]
mod server;

mod sequences;
mod streams;
