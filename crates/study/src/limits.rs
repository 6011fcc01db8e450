//! The most of anything that a study holds. What is beyond is no run's: the file is damaged, or was made to do harm, and whoever
//! makes room by its numbers would make too much.

/// No window ends later and no sample lies later: a plan warms up and measures for a week each at most.
pub(super) const SECONDS_MAX: u32 = 15 * 86_400;

/// The most of anything that a run counts: a week at a million events a second is less than 2^40. Sums of millions of
/// counts still fit into 64 bits.
pub(super) const COUNT_MAX: u64 = 1 << 40;

/// The longest latency that a histogram holds, in ns: the longest run.
pub(super) const LATENCY_NS_MAX: u64 = SECONDS_MAX as u64 * 1_000_000_000;

/// Threads and repeats of a plan are up to 1000 each; YCSB's and sysbench's command lines allow more threads.
pub(super) const THREADS_MAX: u32 = 1_000_000;
pub(super) const REPEAT_MAX: u32 = 1_000_000;

/// The most configurations of a plan and its study, and their most workloads, those on each data profile and at each rate
/// counted: far more than a report can show.
pub const LISTED_MAX: usize = 500;

/// The most runs of a plan and its study: more than two months of runs of a minute.
pub const RUNS_MAX: usize = 100_000;

/// The most results by different names; the catalogue has some hundred, and some for each kind of statement.
pub(super) const RESULTS_MAX: usize = 2000;

/// The most series of one run.
pub(super) const SERIES_MAX: usize = 5000;

/// The longest name of a configuration, a workload or a series, in bytes. Those of a plan have at most 64 for each part.
pub(super) const NAME_BYTES_MAX: usize = 1024;
