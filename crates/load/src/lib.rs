//! MySQL sessions, sysbench workloads, pacing and histograms; knows nothing of drives.

pub mod random;
pub mod text;
