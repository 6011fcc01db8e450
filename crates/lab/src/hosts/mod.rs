//! A study across several machines: rigs, server and monitor on one, the load from others, all held together by the machine that
//! began it.
//!
//! - [`FromHosts`] runs the load of a study on other machines
//! - [`Remote`] makes its runs on another machine, where [`carry_out`] does the work: it makes them as a study of one machine does,
//!   and asks for each load to be run, wherever that is done
//!
//! Guarantees: a machine or a link that is lost fails the run in hand, and that alone; it is waited for before the next. What was made
//! on a machine is taken down by it, also when nobody is left to ask it to; what one that was killed has left goes when it is back.

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
pub use remote::{Remote, check};
pub use there::carry_out;
