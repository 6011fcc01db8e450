//! Results and warnings of a run, made of series and counters. Values only: nothing here measures.

pub(crate) mod combined_series;
mod cpu;
pub(crate) mod disk_full;
pub(crate) mod disturbed;
mod ending;
pub(crate) mod figures;
pub(crate) mod file_figures;
pub(crate) mod fill;
pub(crate) mod interference;
pub(crate) mod warnings;
