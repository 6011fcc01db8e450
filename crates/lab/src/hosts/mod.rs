//! A study across several machines: rigs, server and monitor on one, the load from others,
//! coordinated by the machine that started the study.
//!
//! - [`FromHosts`] runs the load of a study on other machines
//! - [`RemoteSite`] runs the trials of a study on another machine, where [`carry_out`] does the
//!   work as for a study of one machine, and requests each load
//!
//! Guarantees: a lost machine or connection fails only the current run, and is waited for before
//! the next. Resources made on a machine are removed by it, also when the connection is lost; those
//! of a killed program are removed when the machine is back.

mod attend;
mod from_hosts;
mod left;
mod reach;
mod relayed;
mod remote;
mod task;
mod teller;
mod there;

pub use from_hosts::FromHosts;
pub use reach::HostContext;
pub use remote::{RemoteSite, check};
pub use there::carry_out;
