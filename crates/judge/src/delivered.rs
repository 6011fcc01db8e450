//! How much of what a database or files read the device delivered. The rest came from memory on the
//! way, the kernel's page cache first: speed under such reads is not the device's.

use std::collections::BTreeSet;

use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Study, Trial};

use super::summary::{RepeatGroup, groups, result};

/// Fewer bytes a second are no reading that speed hangs on.
const ASKED_LEAST: f64 = 1e6;

/// A larger share from memory is told.
const FROM_MEMORY_LEAST_PERCENT: f64 = 10.0;

/// Two configurations whose shares are as far apart compare a disk with memory.
const APART_LEAST_PERCENT: f64 = 50.0;

/// A configuration of whose reads memory delivered a part worth telling.
#[derive(Debug, Clone, PartialEq)]
pub struct FromMemory {
    /// Name of the configuration.
    pub config: String,
    /// The workload under which the share is largest.
    pub workload: String,
    /// That share of the bytes read, in percent.
    pub percent: f64,
    /// A configuration under the same workload that the device delivered much more to, with the
    /// share that memory did.
    pub unlike: Option<(String, f64)>,
}

/// Configurations of which memory delivered a part worth telling, in the study's order.
pub fn from_memory(study: &Study) -> Vec<FromMemory> {
    let shares: Vec<Share> =
        groups(study).iter().filter_map(|group| Share::of(study, group)).collect();
    let configs = study.configs.iter().map(|config| config.name.as_str());
    let of_config = |config: &str| {
        let its = shares.iter().filter(|one| one.config == config);
        let most = its.max_by(|a, b| a.percent.total_cmp(&b.percent))?;
        let others = shares.iter().filter(|one| one.is_under_the_load_of(most));
        let least = others.min_by(|a, b| a.percent.total_cmp(&b.percent));
        let unlike = least.filter(|one| most.percent - one.percent >= APART_LEAST_PERCENT);
        Some(FromMemory {
            config: config.to_owned(),
            workload: most.workload.clone(),
            percent: most.percent,
            unlike: unlike.map(|one| (one.config.clone(), one.percent)),
        })
    };
    let told = configs.filter_map(of_config);
    told.filter(|one| one.percent >= FROM_MEMORY_LEAST_PERCENT).collect()
}

/// A configuration whose drive moved next to nothing on its media, for what it was given or asked
/// for holds nothing: zeroes, or blocks that nobody wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct WithoutMedia {
    /// Name of the configuration.
    pub config: String,
    /// The workload.
    pub workload: String,
    /// Bytes a second that the host read and wrote.
    pub host_bytes_per_s: f64,
}

/// A smaller share of the host's bytes is next to nothing: no data that a database writes compress
/// so far.
const ON_MEDIA_LEAST_PERCENT: f64 = 1.0;

/// Configurations under workloads whose drives moved next to nothing on their media, in the study's
/// order.
pub fn without_media(study: &Study) -> Vec<WithoutMedia> {
    let of_group = |group: &RepeatGroup<'_>| {
        let of = |metric: &'static MetricEntry| {
            group.figure(|trial| figure(trial, metric)).map_or(0.0, |figure| figure.mean)
        };
        let read = (
            of(metric!("drive_read_bytes_host_per_s")),
            of(metric!("drive_read_bytes_media_per_s")),
        );
        let written = (
            of(metric!("drive_write_bytes_host_per_s")),
            of(metric!("drive_write_bytes_media_per_s")),
        );
        let is_nothing = |(host, media): (f64, f64)| {
            host >= ASKED_LEAST && media < host * ON_MEDIA_LEAST_PERCENT / 100.0
        };
        (is_nothing(read) || is_nothing(written)).then_some(())?;
        Some(WithoutMedia {
            config: study.configs.get(group.config)?.name.clone(),
            workload: study.workloads.get(group.workload)?.name.clone(),
            host_bytes_per_s: read.0 + written.0,
        })
    };
    let mut found: Vec<WithoutMedia> = groups(study).iter().filter_map(of_group).collect();
    // Other configurations lie between the thread counts of one.
    let mut seen = BTreeSet::new();
    found.retain(|one| seen.insert((one.config.clone(), one.workload.clone())));
    found
}

/// How much of a group's reads memory delivered.
struct Share {
    config: String,
    workload: String,
    threads: u32,
    percent: f64,
}

impl Share {
    /// Nothing of a group that reads little, or whose device nobody counted.
    fn of(study: &Study, group: &RepeatGroup<'_>) -> Option<Share> {
        let asked = group.figure(asked_bytes_per_s)?.mean;
        let delivered = group.figure(delivered_bytes_per_s)?.mean;
        (asked >= ASKED_LEAST).then_some(Share {
            config: study.configs.get(group.config)?.name.clone(),
            workload: study.workloads.get(group.workload)?.name.clone(),
            threads: group.threads,
            percent: (100.0 * (1.0 - delivered / asked)).max(0.0),
        })
    }

    fn is_under_the_load_of(&self, other: &Share) -> bool {
        (&self.workload, self.threads) == (&other.workload, other.threads)
    }
}

/// Bytes that the load read from its files per second, else those that InnoDB read from its own.
fn asked_bytes_per_s(trial: &Trial) -> Option<f64> {
    figure(trial, metric!("file_read_bytes_per_s"))
        .or_else(|| figure(trial, metric!("innodb_data_read_bytes_per_s")))
}

/// Bytes that the device delivered to the process that asked, as the kernel counts them for the
/// process (`read_bytes` of `/proc/PID/io`); else those delivered to all processes.
fn delivered_bytes_per_s(trial: &Trial) -> Option<f64> {
    let is_of_files = figure(trial, metric!("file_read_bytes_per_s")).is_some();
    let of_process = match is_of_files {
        true => figure(trial, metric!("load_read_bytes_per_s")),
        false => figure(trial, metric!("server_read_bytes_per_s")),
    };
    of_process.or_else(|| figure(trial, metric!("disk_read_bytes_per_s")))
}

fn figure(trial: &Trial, metric: &MetricEntry) -> Option<f64> {
    result(trial, metric.name).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::{Config, RigRecord, TrialKey, WorkloadRecord};

    /// Bytes a second that InnoDB read and that the device delivered.
    fn study(sides: &[(&str, f64, Option<f64>)]) -> Study {
        let mut study = Study::default();
        study.workloads.push(WorkloadRecord {
            name: "rw".into(),
            workload: "rw".into(),
            data_profile: None,
            recipe: "oltp_read_write".into(),
            options: [].into(),
        });
        for (name, asked, delivered) in sides {
            let config =
                Config { name: (*name).into(), rig: RigRecord::default(), settings: [].into() };
            study.configs.push(config);
            let key =
                TrialKey { config: (*name).into(), workload: "rw".into(), threads: 4, repeat: 1 };
            let mut trial = Trial::done(key, &[("innodb_data_read_bytes_per_s", *asked)]);
            trial
                .results
                .extend(delivered.map(|bytes| ("disk_read_bytes_per_s".to_owned(), bytes)));
            study.trials.push(trial);
        }
        study
    }

    #[test]
    fn a_disk_beside_memory_is_told_and_a_disk_beside_a_disk_is_not() {
        let sides = [("fsync", 120e6, Some(0.1e6)), ("direct", 110e6, Some(109e6))];
        let found = from_memory(&study(&sides));
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.config.as_str(), one.percent.round()), ("fsync", 100.0));
        assert_eq!(one.unlike.as_ref().unwrap().0, "direct");
        let both = from_memory(&study(&[("a", 120e6, Some(1e6)), ("b", 110e6, Some(1e6))]));
        assert_eq!(both.len(), 2);
        assert!(both.iter().all(|one| one.unlike.is_none()), "{both:?}");
        assert_eq!(from_memory(&study(&[("a", 120e6, Some(119e6)), ("b", 9e6, Some(20e6))])), []);
    }

    #[test]
    fn what_others_read_of_the_same_disk_is_nobodys_delivery() {
        let mut busy = study(&[("a", 120e6, Some(400e6)), ("b", 120e6, Some(2e6))]);
        for trial in &mut busy.trials {
            trial.results.insert("server_read_bytes_per_s".into(), 2e6);
        }
        let found = from_memory(&busy);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|one| one.unlike.is_none()), "{found:?}");
    }

    #[test]
    fn blocks_that_take_nothing_on_the_media_are_no_data() {
        let drive = |host: f64, media: f64| {
            let mut study = study(&[("csd", 0.0, None)]);
            let results = &mut study.trials[0].results;
            results.insert("drive_read_bytes_host_per_s".into(), host);
            results.insert("drive_read_bytes_media_per_s".into(), media);
            without_media(&study)
        };
        let found = drive(600e6, 0.0);
        assert_eq!((found.len(), found[0].host_bytes_per_s), (1, 600e6));
        assert_eq!(drive(600e6, 60e6), [], "ten to one is much, and data");
        assert_eq!(drive(0.5e6, 0.0), [], "hardly anything was read");
        let mut two = study(&[("csd", 0.0, None), ("other", 0.0, None), ("csd", 0.0, None)]);
        two.trials[2].key.threads = 8;
        for trial in &mut two.trials {
            trial.results.insert("drive_read_bytes_host_per_s".into(), 6e6);
        }
        let named: Vec<String> = without_media(&two).into_iter().map(|one| one.config).collect();
        assert_eq!(named, ["csd", "other"], "each once, whatever the thread counts");
    }

    #[test]
    fn what_nobody_counted_or_hardly_anybody_read_is_not_told() {
        assert_eq!(from_memory(&study(&[("a", 120e6, None), ("b", 0.2e6, Some(0.0))])), []);
    }
}
