//! What is found wrong with a cell: figures that do not agree with each other, or that something stood in the way of.
//!
//! Promises: a mark says what is off and by how much; a figure that is not known marks nothing.

use assay_load::{Outcome as Ran, Pace, Schedule, queries_per_event};

use super::ending;
use super::results::Results;
use crate::drive::{ADDED_SHARE_MAX, LATE_SHARE_MAX};

/// Of what InnoDB wrote to its files, the device writes at least so much: what is cached for a while or compressed by
/// punching holes falls below.
const FILE_BYTES_LEAST: f64 = 0.85;

/// And at most so much, beside what each flush costs: metadata of the file system, and blocks that are written in part.
const FILE_BYTES_MOST: f64 = 1.35;

/// What a flush may write beside the data, in bytes: eight blocks of 4 KiB. A commit of ext4's journal is a descriptor
/// block, each changed block of metadata (inode, extents, bitmaps, group descriptor) and a commit block (Linux,
/// `Documentation/filesystems/ext4/journal.rst`), all whole blocks, as is the padded end of the log that is flushed.
/// 25.7 kB a flush were measured under InnoDB, with the software drive and without it.
const FLUSH_BYTES_MOST: f64 = 8.0 * 4096.0;

/// Half a percent more than what rounding, the window's edges and the watch's clock were seen to make.
const RECIPE_TOLERANCE: f64 = 0.02;

/// Little's law holds for means; the rest is the client's own time between two events.
const LITTLE_TOLERANCE: f64 = 0.05;

/// Two counters of the same bytes, read by two threads at the edges of a window.
const DRIVE_TOLERANCE: f64 = 0.1;

/// How much of a rate that was asked for may be missed.
const RATE_TOLERANCE: f64 = 0.02;

/// A generator that uses more of its processors than this is measured along with the server.
const LOAD_BUSY_PERCENT: f64 = 85.0;

/// All that is wrong with what `ran`, whose results these are.
pub fn marks(ran: &Ran, results: &Results) -> Vec<String> {
    let schedule = &ran.schedule;
    [
        recipe_mark(ran),
        little_mark(results, schedule),
        rate_mark(ran),
        bytes_mark(results),
        drive_mark(results),
        model_mark(results),
        load_mark(results, schedule),
        steady_mark(ran),
        ending::mark(ran),
        ran.workload.distortion(&ran.schema).map(|distortion| distortion.to_string()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Queries ÷ transactions is the recipe's, but for events cut by the window's edges and for repeats.
fn recipe_mark(ran: &Ran) -> Option<String> {
    let expected = queries_per_event(&ran.workload, &ran.schema).total() as f64;
    let found = ran.queries.total() as f64 / ran.events as f64;
    let edges = f64::from(ran.schedule.threads) / ran.events as f64;
    let repeats = ran.errors.values().sum::<u64>() as f64 / ran.events as f64;
    let is_off = (found / expected - 1.0).abs() > RECIPE_TOLERANCE + edges + repeats;
    is_off.then(|| format!("{found:.2} queries a transaction, the recipe has {expected:.0}"))
}

/// Threads = TPS × mean latency (Little 1961), in closed loop.
fn little_mark(results: &Results, schedule: &Schedule) -> Option<String> {
    if schedule.pace != Pace::Closed {
        return None;
    }
    let busy = results.get("tps")? * results.get("latency_ms_mean")? / 1000.0;
    let threads = f64::from(schedule.threads);
    let edges = threads / results.get("transactions")?;
    let is_off = (busy / threads - 1.0).abs() > LITTLE_TOLERANCE + edges;
    is_off.then(|| format!("TPS × mean latency is {busy:.2}, there were {threads:.0} threads"))
}

fn rate_mark(ran: &Ran) -> Option<String> {
    let target = ran.rate_target?;
    // A Poisson process of n events has a relative spread of 1/√n.
    let spread = 3.0 / (target * ran.elapsed_s).sqrt();
    let is_off = ran.tps < target * (1.0 - RATE_TOLERANCE - spread);
    is_off.then(|| format!("{:.1} of {target:.1} transactions/s asked for: overloaded", ran.tps))
}

/// What the device wrote is about what InnoDB, the binary log as far as it is known, and flushes explain.
fn bytes_mark(results: &Results) -> Option<String> {
    let figure = |name: &str| results.get(name).copied();
    let file = |kind: &str| figure(&format!("innodb_file_{kind}_write_bytes_per_s"));
    let files = file("data")? + file("redo")? + file("doublewrite")?;
    let device = figure("disk_write_bytes_per_s")?;
    let binlog = figure("sql_binlog_write_bytes_per_s").unwrap_or(0.0);
    let flushes = flushes_per_s(results);
    let most = (files + binlog) * FILE_BYTES_MOST + flushes * FLUSH_BYTES_MOST;
    let mb = |bytes: f64| format!("{:.1} MB/s", bytes / 1e6);
    match () {
        () if files <= 1e6 => None,
        () if device < files * FILE_BYTES_LEAST => Some(format!(
            "the device wrote {}, InnoDB {} to its files: pages stayed in memory or took less space than they have, \
             so bytes written for each transaction are too few; measure for longer",
            mb(device),
            mb(files),
        )),
        () if device > most => Some(format!(
            "the device wrote {}, InnoDB and the binary log {} to their files, which with {flushes:.0} flushes/s explains \
             {}: something else wrote to it, so do not compare what it wrote",
            mb(device),
            mb(files + binlog),
            mb(most),
        )),
        () => None,
    }
}

/// Flushes that the server asked for, or that came to the device if those are more; zero where neither is known.
fn flushes_per_s(results: &Results) -> f64 {
    let figure = |name: &str| results.get(name).copied().unwrap_or(0.0);
    let asked_for = figure("innodb_fsyncs_per_s") + figure("sql_binlog_fsyncs_per_s");
    asked_for.max(figure("disk_flushes_per_s"))
}

/// A model that our own processors kept from its time does not show the device, nor does one that is too fast for the port.
fn model_mark(results: &Results) -> Option<String> {
    let late = *results.get("model_late_percent")?;
    if late > LATE_SHARE_MAX * 100.0 {
        return Some(format!(
            "not comparable: our own processors made {late:.1} % of the model's commands late; use fewer threads, a \
             larger parallel_scale, or a faster machine"
        ));
    }
    let added = *results.get("model_added_percent")?;
    (added > ADDED_SHARE_MAX * 100.0).then(|| {
        format!(
            "not comparable: the model's commands took {added:.1} % longer than the device's would, most of them being \
             faster than can be shown here; use more threads, a larger parallel_scale, or a faster machine"
        )
    })
}

/// What the drive says it was given is what the kernel says it gave to the drive's device. A model of disks has no drive inside,
/// which would be given nothing.
fn drive_mark(results: &Results) -> Option<String> {
    let told = *results.get("drive_write_bytes_host_per_s")?;
    let given = *results.get("disk_write_bytes_per_s")?;
    let is_off = told > 0.0 && given > 1e6 && (told / given - 1.0).abs() > DRIVE_TOLERANCE;
    is_off.then(|| {
        format!("the drive took {:.1} MB/s, its device wrote {:.1} MB/s", told / 1e6, given / 1e6)
    })
}

fn load_mark(results: &Results, schedule: &Schedule) -> Option<String> {
    let cpus = match schedule.cpus.len() {
        0 => assay_ports::cpu::available().map_or(1, |cpus| cpus.len()),
        count => count,
    };
    let busy = (results.get("load_cpu_user_percent")? + results.get("load_cpu_system_percent")?)
        / cpus as f64;
    (busy > LOAD_BUSY_PERCENT).then(|| {
        format!("the load generator used {busy:.0} % of its processors: it may be the limit")
    })
}

fn steady_mark(ran: &Ran) -> Option<String> {
    (ran.steady == Some(false))
        .then(|| "throughput had not settled when measuring began".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::results::derived;
    use super::*;

    #[test]
    fn the_device_writes_what_files_and_flushes_explain_or_the_cell_is_marked() {
        let results = |device: f64, fsyncs: f64, binlog: Option<f64>| -> Results {
            let mut results: Results = [
                ("innodb_file_data_write_bytes_per_s", 3e6),
                ("innodb_file_redo_write_bytes_per_s", 1e6),
                ("innodb_file_doublewrite_write_bytes_per_s", 0.0),
                ("disk_write_bytes_per_s", device),
                ("innodb_fsyncs_per_s", fsyncs),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
            results.extend(binlog.map(|bytes| ("sql_binlog_write_bytes_per_s".to_owned(), bytes)));
            results
        };
        // A journal commit for each of 200 fsyncs, as measured.
        assert_eq!(bytes_mark(&results(4e6 + 200.0 * 25.7e3, 200.0, None)), None);
        let mark = bytes_mark(&results(4e6 + 200.0 * 25.7e3, 10.0, None)).unwrap();
        assert!(mark.contains("9.1 MB/s") && mark.contains("something else wrote to it"), "{mark}");
        assert_eq!(bytes_mark(&results(7e6, 10.0, Some(1.5e6))), None);
        assert!(bytes_mark(&results(7e6, 10.0, None)).is_some(), "the binary log explains it");
        let mark = bytes_mark(&results(3e6, 200.0, Some(1.5e6))).unwrap();
        assert!(mark.contains("stayed in memory"), "{mark}");
        assert_eq!(bytes_mark(&Results::new()), None);
    }

    #[test]
    fn a_drive_and_its_device_agree_or_the_cell_is_marked() {
        let results = |told: f64| -> Results {
            [("drive_write_bytes_host_per_s", told), ("disk_write_bytes_per_s", 10e6)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        assert_eq!(drive_mark(&results(10.4e6)), None);
        assert!(drive_mark(&results(7e6)).is_some());
        assert_eq!(drive_mark(&results(0.0)), None, "there is none");
        assert_eq!(drive_mark(&Results::new()), None);
    }

    #[test]
    fn a_model_that_is_kept_from_its_time_is_marked() {
        let results = |late: f64| -> Results { [("model_late_percent".to_owned(), late)].into() };
        assert_eq!(model_mark(&results(0.9)), None);
        assert!(model_mark(&results(1.1)).unwrap().starts_with("not comparable: "));
        assert_eq!(model_mark(&Results::new()), None);
        let added = |shown_ms: f64| -> Results {
            let figures = [
                ("model_late_per_s", 0.0),
                ("model_commands_per_s", 100.0),
                ("model_reads_per_s", 50.0),
                ("model_read_latency_ms", 1.0),
                ("model_read_shown_latency_ms", 1.0),
                ("model_writes_per_s", 50.0),
                ("model_write_latency_ms", 0.2),
                ("model_write_shown_latency_ms", shown_ms),
            ];
            let mut results: Results = figures.map(|(name, value)| (name.to_owned(), value)).into();
            results.extend(derived(&results));
            results
        };
        assert_eq!(model_mark(&added(0.25)), None, "4 % of the time of all");
        let mark = model_mark(&added(0.3)).unwrap();
        assert!(mark.contains("took 8.3 % longer"), "{mark}");
    }

    #[test]
    fn what_breaks_littles_law_is_marked_and_what_keeps_it_is_not() {
        let results = |tps: f64| -> Results {
            [("tps", tps), ("latency_ms_mean", 10.0), ("transactions", tps * 10.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        };
        let schedule = Schedule { threads: 8, ..Schedule::default() };
        assert_eq!(little_mark(&results(790.0), &schedule), None);
        assert!(little_mark(&results(700.0), &schedule).is_some());
    }
}
