//! From the observations of a run to its outcome: figures and warnings. Nothing here has effects.

mod combined_series;
mod conclude;
mod cpu_taken;
mod disk_full;
mod ending;
pub(crate) mod extra_runs;
pub(crate) mod figures;
pub(crate) mod file_figures;
mod fill;
mod interference;
mod observation;
mod phase_events;
pub(crate) mod servers;
mod warnings;

pub(crate) use combined_series::Disks;
pub(crate) use conclude::{Conditions, conclude};
pub(crate) use disk_full::FileSystem;
pub(crate) use fill::Device;
pub(crate) use observation::{
    Circumstances, LoadSeconds, Observation, Observations, RunClock, ServerState, TakeDown,
};
pub(crate) use phase_events::{PhaseEvents, RepeatedEvent};
