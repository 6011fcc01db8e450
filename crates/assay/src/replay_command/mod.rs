//! `assay replay`: the recorded commands of a model on the same or any other model, in virtual
//! time.
//!
//! The stack is the one that is served, but the clock is advanced by events, and media are memory
//! with placeholders for data. A drive is first preconditioned as far as the recorded one was.

mod command;
mod device;
mod outcome;
mod question;
mod show;
mod unwritten;

pub(crate) use command::{ReplayArgs, run};
