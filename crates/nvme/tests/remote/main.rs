//! Target and initiator against each other, over loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod disks;
mod protocol;
mod rules;
mod server;
