//! Time in which a CPU quota stops threads: `cpu.stat` of this process's control groups.
//!
//! A quota may be set at any level, so all levels are added up. The kernel counts the time of each
//! CPU (`throttled_usec`, "Control Group v2"; `throttled_time` in nanoseconds of version 1, "CFS
//! Bandwidth Control"), so all CPUs together may be throttled for more than a second each second.

use std::path::{Path, PathBuf};

use super::probe::number;
use super::procfile::ProcFile;
use super::sheet::{Field, Formula, Sheet};
use assay_study::metrics::metric;

const ROOT: &str = "/sys/fs/cgroup";

/// The key of each version, and its unit in seconds.
const KEYS: [(&str, f64); 2] = [("throttled_usec ", 1e-6), ("throttled_time ", 1e-9)];

/// Quotas of this process's control groups.
pub(super) struct Throttle {
    files: Vec<ProcFile>,
    field: Field,
}

impl Throttle {
    /// `None` if no control group reports its quota.
    pub(super) fn declare(sheet: &mut Sheet) -> Option<Throttle> {
        let open = |path: PathBuf| {
            let mut file = ProcFile::open(path).ok()?;
            file.read().ok().filter(|text| seconds(text).is_finite())?;
            Some(file)
        };
        let files: Vec<ProcFile> = own_stat_files()?.into_iter().filter_map(open).collect();
        (!files.is_empty()).then(|| Throttle { files, field: declare(sheet) })
    }

    pub(super) fn fill(&mut self, reading: &mut [f64]) {
        let read = |file: &mut ProcFile| file.read().map_or(f64::NAN, |text| seconds(&text));
        reading[self.field] = self.files.iter_mut().map(read).sum();
    }
}

pub(super) fn declare(sheet: &mut Sheet) -> Field {
    let field = sheet.field();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let formula = Formula::Rate { field, scale: 100.0 / cpus as f64 };
    sheet.series(metric!("cpu_throttled_percent"), "", formula);
    field
}

/// Time in which quotas have stopped this process's threads, in seconds, summed over CPUs; `None`
/// if no control group reports it.
pub(crate) fn throttled_s() -> Option<f64> {
    let of = |path: PathBuf| std::fs::read_to_string(path).ok().map(|text| seconds(&text));
    let told: Vec<f64> =
        own_stat_files()?.into_iter().filter_map(of).filter(|told| told.is_finite()).collect();
    (!told.is_empty()).then(|| told.iter().sum())
}

/// The smallest quota, in CPUs (`cpu.max` of version 2: quota and period, or "max";
/// `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1, where -1 is none).
pub(crate) fn quota_cpus() -> Option<f64> {
    let of = |stat: PathBuf| {
        let read = |name: &str| std::fs::read_to_string(stat.with_file_name(name)).ok();
        let words = read("cpu.max")
            .or_else(|| Some(read("cpu.cfs_quota_us")? + " " + &read("cpu.cfs_period_us")?))?;
        quota(&words)
    };
    own_stat_files()?.into_iter().filter_map(of).reduce(f64::min)
}

pub(super) fn quota(words: &str) -> Option<f64> {
    let mut numbers = words.split_ascii_whitespace().map(|word| word.parse::<f64>().ok());
    let (quota_us, period_us) = (numbers.next()??, numbers.next()??);
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

fn own_stat_files() -> Option<Vec<PathBuf>> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    Some(stat_files(Path::new(ROOT), &groups))
}

/// The control group of `/proc/self/cgroup` and those above it, without the root.
pub(super) fn stat_files(root: &Path, groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let base = match controllers {
            "" => root.to_owned(),
            // An absolute path would leave `root`.
            of if !of.contains('/') && of.split(',').any(|controller| controller == "cpu") => {
                root.join(of)
            }
            _ => continue,
        };
        let group = base.join(path.trim_start_matches('/'));
        let above = group.ancestors().take_while(|group| group.starts_with(&base));
        files.extend(above.map(|group| group.join("cpu.stat")));
    }
    files
}

pub(super) fn seconds(text: &str) -> f64 {
    let of = |(key, unit): (&str, f64)| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(number(Some(line.trim())) * unit)
    };
    KEYS.into_iter().find_map(of).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_above_us_is_asked_in_both_versions() {
        let files = |groups| {
            let files = stat_files(Path::new("/c"), groups).into_iter();
            files.map(|file| file.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(files("0::/a/b\n"), ["/c/a/b/cpu.stat", "/c/a/cpu.stat", "/c/cpu.stat"]);
        assert_eq!(files("0::/\n"), ["/c/cpu.stat"]);
        let first = "5:memory:/x\n4:cpu,cpuacct:/x\n1:name=systemd:/x\n";
        assert_eq!(files(first), ["/c/cpu,cpuacct/x/cpu.stat", "/c/cpu,cpuacct/cpu.stat"]);
    }

    #[test]
    fn quotas_are_read_in_both_versions_and_none_is_none() {
        assert_eq!(quota("150000 100000\n"), Some(1.5));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(quota("-1\n 100000\n"), None);
    }

    #[test]
    fn throttled_time_is_read_in_seconds() {
        let second = "usage_usec 77\nnr_throttled 4\nthrottled_usec 2500000\n";
        assert_eq!(seconds(second), 2.5);
        assert_eq!(seconds("nr_periods 1\nthrottled_time 1500000000\n"), 1.5);
        assert!(seconds("usage_usec 77\n").is_nan(), "the root has no quota");
    }
}
