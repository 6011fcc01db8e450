//! Limits of a study's contents. No run exceeds them: a file that does is damaged or malicious, and
//! memory allocated by its numbers would be too much.

/// Latest end of a window and of a sample: a plan warms up and measures for at most a week each.
pub(super) const SECONDS_MAX: u32 = 15 * 86_400;

/// Largest count of a run: a week at a million events per second is less than 2^40. Sums of
/// millions of counts still fit into 64 bits.
pub(super) const COUNT_MAX: u64 = 1 << 40;

/// Longest latency in a histogram, in ns: the longest run.
pub(super) const LATENCY_NS_MAX: u64 = SECONDS_MAX as u64 * 1_000_000_000;

/// Plans have at most 1000 threads and repeats; command lines of YCSB and sysbench allow more
/// threads.
pub(super) const THREADS_MAX: u32 = 1_000_000;
pub(super) const REPEAT_MAX: u32 = 1_000_000;

/// Largest number of configurations and of workloads (each data profile and rate counted) of a plan
/// and its study: far more than a report can show.
pub const LISTED_MAX: usize = 500;

/// Largest number of runs of a plan and its study: more than two months of runs of a minute.
pub const RUNS_MAX: usize = 100_000;

/// Largest number of results of different names; the catalogue has some hundred, and some for each
/// kind of statement.
pub(super) const RESULTS_MAX: usize = 2000;

/// Largest number of series of a run.
pub(super) const SERIES_MAX: usize = 5000;

/// Longest name of a configuration, a workload or a series, in bytes. Each part of a plan's names
/// has at most 64.
pub(super) const NAME_BYTES_MAX: usize = 1024;
