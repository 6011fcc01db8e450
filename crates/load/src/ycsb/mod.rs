//! YCSB's core workloads, as version 0.17.0 draws them and its JDBC binding sends them, and
//! repaired.
//!
//! Sources: the published workload files and the behaviour of YCSB's core; the constants are those
//! of Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994, as YCSB
//! fixes them. Tests compare the draws with those of YCSB's own core, recorded and live.
//!
//! Mode `compat` draws as YCSB does, quirks included; mode `strict` draws ranks by the exact
//! zipfian law over the existing records, with any exponent, and scatters them by a bijection, so
//! that no two ranks share a record.
//!
//! Guarantees: a draw allocates nothing; equal seeds draw equal keys (YCSB itself has no seed); key
//! numbers are 64-bit.

mod chooser;
mod key;
mod mix;
mod options;
mod record;
mod zipfian;

pub use chooser::RequestDistribution;
pub(crate) use chooser::{Chooser, Hot};
pub use key::{fnv_64, key_name};
pub use mix::{Mix, Operation};
pub use options::{ScanLengths, YcsbOptions};
pub use record::fill_field;
pub use zipfian::{Scrambled, THETA, Zipfian};
