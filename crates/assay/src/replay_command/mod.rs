//! `assay replay`: replays a model's recorded commands on the same or another model, in virtual
//! time.
//!
//! The stack is the one that `assay models --attach` serves, but on a virtual clock, with media in
//! memory that hold placeholders for data. A drive is preconditioned first, as far as the recorded
//! one was.

mod command;
mod device;
mod prepared;
mod result;
mod show;
mod unwritten;

pub(crate) use command::{ReplayArgs, run};
