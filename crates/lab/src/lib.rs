//! The laboratory: rigs are built, servers started, loaded and monitored, and what was seen goes
//! into the store. It prints nothing.
//!
//! - [`calibrate`] tries what the machine can show before anything long begins
//! - [`rig`] builds what a configuration runs on, and the server and data on it; whatever was made
//!   is taken down, however a run ends
//! - [`monitor`] asks every layer once a second, and declares in advance what it will tell
//! - [`run`] brings the runs of a plan through both, one after the other
//! - [`power_cut`] cuts the power under load, and finds out what that loses
//! - [`torn`] tears pages by hand and says what servers make of them; helps a data directory that
//!   does not start
//! - [`hosts`] does the same across several machines

pub mod calibrate;
pub mod hosts;
pub mod monitor;
pub mod power_cut;
pub mod rig;
pub mod run;
#[cfg(test)]
mod testing;
pub mod torn;
