//! sysbench's and YCSB's workloads, pacing and histograms; independent of drives.
//!
//! [`prepare()`] fills tables, [`run`] runs a [`LoadSpec`] and returns its outcome, [`preflight()`]
//! reports beforehand what would stop it, [`shortage`] whether its rate can be carried, [`cleanup`]
//! drops the tables. [`fileio`] does the same with files, without a server. [`together`] merges the
//! outcomes of concurrent loads. [`sysbench`] and [`ycsb_client`] parse those tools' command lines
//! and print as they do.
//!
//! Guarantees: no event starts outside the schedule; each time is recorded once, where it belongs;
//! equal seeds draw equal keys; nothing is printed and no signal is handled here.

pub mod capacity;
pub mod error;
pub mod fileio;
pub mod generator;
pub mod keys;
pub mod mode;
pub mod oltp;
pub mod outcome;
pub mod preflight;
pub mod prepare;
pub mod random;
pub mod recipe;
pub mod schedule;
pub mod schema;
pub mod sysbench;
pub mod text;
pub mod workload;
pub mod ycsb;
pub mod ycsb_client;

mod arrivals;
mod command_line;
mod connect;
mod course;
mod device_bytes;
#[cfg(test)]
mod fake;
mod file_options;
mod mixes;
mod operations;
mod option_value;
mod pace;
mod part;
mod phases;
mod program;
mod reach;
mod record;
mod rows;
mod run;
mod share;
mod spec;
mod start;
mod together;
mod turns;
mod worker;

pub use assay_mysql::{Address, Endpoint, ServerKey, Tls};
pub use command_line::CommandLine;
pub use error::{Error, Result};
pub use fileio::Fileio;
pub use generator::Generator;
pub use keys::Distortion;
pub use mode::Mode;
pub use outcome::{
    KindLatency, LoadObserver, LoadOutcome, Second, SecondPhase, ThreadOutcome, Unfinished, Work,
};
pub use part::LoadPart;
pub use phases::{LoadPhase, LoadPhases, PhasePace};
pub use preflight::preflight;
pub use prepare::{
    PrepareOptions, PrepareProgress, PrepareReport, PrepareStage, cleanup, prepare, prewarm,
};
pub use program::{queries_per_event, statements_per_event, writes};
pub use reach::{Shortage, shortage};
pub use recipe::Recipe;
pub use record::{LatencyStats, Queries, TimedEvent};
pub use run::{run, run_together};
pub use schedule::{Arrivals, Pace, RidesOut, Schedule, Warmup};
pub use schema::{Schema, SchemaKind};
pub use spec::{LoadSpec, with_password};
pub use start::Rendezvous;
pub use together::{is_plausible, is_plausible_second, seconds_together, together};
pub use turns::{GUARD_NS, SIDES_MAX, SLICE_S, SLICES_BALANCED, Turns};
pub use workload::Workload;
