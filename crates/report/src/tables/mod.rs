//! Tables: those of the page as rows of text, and the same figures as CSV files.

pub(crate) mod capacity;
pub(crate) mod claims;
pub(crate) mod csv;
pub(crate) mod differences;
pub(crate) mod effects;
pub(crate) mod figures;
pub(crate) mod multi_server;
pub(crate) mod paper;
pub(crate) mod phases;
pub(crate) mod power_cuts;
pub(crate) mod rates;
pub(crate) mod space;
pub(crate) mod statements;
pub(crate) mod verdicts;
pub(crate) mod worth;
pub(crate) mod write_path;
