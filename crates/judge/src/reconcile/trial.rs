//! The checks that a run's own results can pass or fail, with the tolerances that its warnings are
//! made by.

use std::collections::BTreeMap;

use super::{CrossCheck, ExplainedWrites, Sides, ascending, check, little, markov, rate, same};
use assay_study::metrics::{MetricEntry, metric};

/// Smallest share of InnoDB's file writes that the device writes: writes that stay cached for a
/// while, or that are compressed by punching holes, fall below.
const FILE_BYTES_LEAST: f64 = 0.85;

/// And at most so much, beside what each flush costs: metadata of the file system, and blocks that
/// are written in part.
const FILE_BYTES_MOST: f64 = 1.35;

/// Bytes that a flush may write beside the data: eight blocks of 4 KiB. A commit of ext4's journal
/// is a descriptor block, each changed block of metadata (inode, extents, bitmaps, group
/// descriptor) and a commit block (Linux, `Documentation/filesystems/ext4/journal.rst`), all whole
/// blocks, as is the padded end of the log that is flushed. 25.7 kB a flush were measured under
/// InnoDB, with the software drive and without it.
const FLUSH_BYTES_MOST: f64 = 8.0 * 4096.0;

/// So few bytes a second explain nothing and accuse nobody.
const BYTES_PER_S_LEAST: f64 = 1e6;

/// Little's law holds for means; the rest is the client's own time between two events.
const LITTLE_TOLERANCE: f64 = 0.05;

/// Two counters of the same bytes, read by two threads at the edges of a window.
const DRIVE_TOLERANCE: f64 = 0.1;

/// Counters that are read at once, and whose parts are counted one by one.
const PARTS_TOLERANCE: f64 = 0.01;

/// How much of a rate that was asked for may be missed.
const RATE_TOLERANCE: f64 = 0.02;

/// Histograms have three digits.
const PERCENTILE_TOLERANCE: f64 = 0.005;

/// Times of transactions by one clock.
struct Times {
    mean: &'static MetricEntry,
    /// Name, share of transactions within it, and metric of each percentile.
    percentiles: [(&'static str, f64, &'static MetricEntry); 4],
    max: &'static MetricEntry,
}

const RESPONSE: Times = Times {
    mean: metric!("latency_ms_mean"),
    percentiles: [
        ("p50", 0.5, metric!("latency_ms_p50")),
        ("p95", 0.95, metric!("latency_ms_p95")),
        ("p99", 0.99, metric!("latency_ms_p99")),
        ("p999", 0.999, metric!("latency_ms_p999")),
    ],
    max: metric!("latency_ms_max"),
};

const SERVICE: Times = Times {
    mean: metric!("service_ms_mean"),
    percentiles: [
        ("p50", 0.5, metric!("service_ms_p50")),
        ("p95", 0.95, metric!("service_ms_p95")),
        ("p99", 0.99, metric!("service_ms_p99")),
        ("p999", 0.999, metric!("service_ms_p999")),
    ],
    max: metric!("service_ms_max"),
};

/// Every check that these results of a run with so many threads allow; what is not known is not
/// checked.
pub fn of_results(results: &BTreeMap<String, f64>, threads: u32) -> Vec<CrossCheck> {
    let figures = Figures(results);
    let mut checks: Vec<CrossCheck> = [
        littles_law(figures, threads),
        target_rate(figures),
        device_bytes(figures),
        drive_bytes(figures),
        media_parts(figures),
    ]
    .into_iter()
    .flatten()
    .collect();
    for times in [RESPONSE, SERVICE] {
        checks.extend(percentiles(figures, &times));
    }
    checks
}

#[derive(Clone, Copy)]
struct Figures<'a>(&'a BTreeMap<String, f64>);

impl Figures<'_> {
    fn get(self, metric: &MetricEntry) -> Option<f64> {
        self.0.get(metric.name).copied()
    }

    fn or_zero(self, metric: &MetricEntry) -> f64 {
        self.get(metric).unwrap_or(0.0)
    }
}

/// In closed loop, that is without a target rate.
fn littles_law(figures: Figures<'_>, threads: u32) -> Option<CrossCheck> {
    if figures.get(metric!("target_rate")).is_some() {
        return None;
    }
    let threads = f64::from(threads);
    // Transactions that the window's edges cut.
    let edges = threads / figures.get(metric!("transactions")).unwrap_or(f64::INFINITY);
    let (tps, latency_ms) =
        (figures.get(metric!("tps"))?, figures.get(metric!("latency_ms_mean"))?);
    little(threads, tps, latency_ms, LITTLE_TOLERANCE + edges)
}

fn target_rate(figures: Figures<'_>) -> Option<CrossCheck> {
    let (target, achieved) = (figures.get(metric!("target_rate"))?, figures.get(metric!("tps"))?);
    let seconds = figures.get(metric!("transactions"))? / achieved;
    rate(achieved, target, target * seconds, RATE_TOLERANCE)
}

/// Checks that InnoDB's writes, the binary log as far as known, and flushes explain the device's
/// writes.
fn device_bytes(figures: Figures<'_>) -> Option<CrossCheck> {
    let files = figures.get(metric!("innodb_file_data_write_bytes_per_s"))?
        + figures.get(metric!("innodb_file_redo_write_bytes_per_s"))?
        + figures.get(metric!("innodb_file_doublewrite_write_bytes_per_s"))?;
    let written = figures.get(metric!("disk_write_bytes_per_s"))?;
    if files <= BYTES_PER_S_LEAST {
        return None;
    }
    let logged = files + figures.or_zero(metric!("sql_binlog_write_bytes_per_s"));
    let flushes = flushes_per_s(figures);
    let most = logged * FILE_BYTES_MOST + flushes * FLUSH_BYTES_MOST;
    let least = files * FILE_BYTES_LEAST;
    let holds = (least..=most).contains(&written);
    let device = ExplainedWrites { written, files, logged, flushes, least, most };
    check(Sides::Device(device), &[written, least, most], holds)
}

/// Checks that file writes past the page cache, and flushes, explain the device's writes.
pub fn file_bytes(written: f64, files: f64, flushes: f64) -> Option<CrossCheck> {
    if files <= BYTES_PER_S_LEAST {
        return None;
    }
    let most = files * FILE_BYTES_MOST + flushes * FLUSH_BYTES_MOST;
    let least = files * FILE_BYTES_LEAST;
    let holds = (least..=most).contains(&written);
    let device = ExplainedWrites { written, files, logged: files, flushes, least, most };
    check(Sides::Files(device), &[written, least, most], holds)
}

/// Flushes that the server asked for, or that came to the device if those are more; zero where
/// neither is known.
fn flushes_per_s(figures: Figures<'_>) -> f64 {
    let asked_for = figures.or_zero(metric!("innodb_fsyncs_per_s"))
        + figures.or_zero(metric!("sql_binlog_fsyncs_per_s"));
    asked_for.max(figures.or_zero(metric!("disk_flushes_per_s")))
}

/// Checks that the drive counts the bytes that the kernel counts for the drive's device. A model of
/// disks has no drive inside, which would be given nothing.
fn drive_bytes(figures: Figures<'_>) -> Option<CrossCheck> {
    let taken =
        figures.get(metric!("drive_write_bytes_host_per_s")).filter(|taken| *taken > 0.0)?;
    let written = figures
        .get(metric!("disk_write_bytes_per_s"))
        .filter(|bytes| *bytes > BYTES_PER_S_LEAST)?;
    same(Sides::Drive { taken, written }, (taken, written), DRIVE_TOLERANCE)
}

/// Checks that media writes are payload, tables, collection and checkpoints.
fn media_parts(figures: Figures<'_>) -> Option<CrossCheck> {
    let parts = figures.get(metric!("drive_write_bytes_payload_per_s"))?
        + figures.get(metric!("drive_write_bytes_table_per_s"))?
        + figures.get(metric!("drive_write_bytes_gc_per_s"))?
        + figures.get(metric!("drive_write_bytes_checkpoint_per_s"))?;
    let whole = figures.get(metric!("drive_write_bytes_media_per_s"));
    let whole = whole.filter(|whole| *whole > BYTES_PER_S_LEAST)?;
    same(Sides::Media { whole, parts }, (whole, parts), PARTS_TOLERANCE)
}

fn percentiles(figures: Figures<'_>, times: &Times) -> Vec<CrossCheck> {
    let known: Vec<(&'static str, f64, f64)> = times
        .percentiles
        .iter()
        .filter_map(|&(name, share, metric)| Some((name, share, figures.get(metric)?)))
        .collect();
    let mean = figures.get(times.mean);
    let bounds = known
        .iter()
        .filter_map(|&(_, share, value)| markov(share, value, mean?, PERCENTILE_TOLERANCE));
    let mut checks: Vec<CrossCheck> = bounds.collect();
    let mut ladder: Vec<(&'static str, f64)> =
        known.iter().map(|&(name, _, value)| (name, value)).collect();
    ladder.extend(figures.get(times.max).map(|max| ("max", max)));
    if ladder.len() > 1 {
        checks.extend(ascending(&ladder, PERCENTILE_TOLERANCE));
    }
    checks
}
