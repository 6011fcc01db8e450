//! MySQL sessions, sysbench workloads, pacing and histograms; knows nothing of drives.

pub mod keys;
pub mod random;
pub mod text;
