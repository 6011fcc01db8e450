//! Figures as people read them: how a number is written, which stored results are columns, and how
//! small data were stored.

pub(crate) mod columns;
pub(crate) mod format;
pub(crate) mod storage;
