//! Disks served over FUSE: as files, as loop devices, with a server that is killed, and on media
//! that fill up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod common;
mod killed;
mod looped;
mod served;
mod sparse;
