//! YCSB's core workloads, as version 0.17.0 draws them: keys, records and which operation is next.
//!
//! Sources: the published workload files and the behaviour of YCSB's core; the constants are those of Gray et al., "Quickly
//! generating billion-record synthetic databases", SIGMOD 1994, as YCSB fixes them. What is drawn here is compared with
//! what YCSB's own core draws in a test that runs it.
//!
//! Guarantees: a draw allocates nothing; equal seeds draw equal keys (YCSB itself has no seed); key numbers are 64-bit.

mod chooser;
mod key;
mod mix;
mod record;
mod zipfian;

pub use chooser::{Chooser, RequestDistribution};
pub use key::{InsertOrder, fnv_64, key_name};
pub use mix::{Mix, Operation};
pub use record::fill_field;
pub use zipfian::{Scrambled, Zipfian};
