//! `assay replay`: the recorded commands of a model on the same or any other model, in virtual time.
//!
//! The stack is the one that is served, but time is set by hand and media are memory that holds stand-ins for data. A drive
//! is preconditioned first as far as the recorded one was.

mod command;
mod device;
mod outcome;
mod question;
mod show;
mod unwritten;

pub(crate) use command::{ReplayArgs, run};
