//! Under what conditions the figures of the first screen hold, in some words each: which server on
//! what machine, how many data for how large a buffer pool, whether there is a binary log, how far
//! emulated drives are scaled down, and when it was.
//!
//! Only what was measured or stored is told; where configurations differ, all values are.

use std::collections::BTreeMap;

use assay_base::Size;
use assay_study::metrics::{MetricEntry, metric};
use assay_study::{Config, Study, Trial};

use crate::comparisons::questions::is_aa_run;
use crate::figures::format::{bytes, figure};
use crate::words::rig::UNSEEN;

/// Sets of server variables seen in each configuration.
pub(crate) type Variables = [Vec<BTreeMap<String, String>>];

/// One condition each.
pub(crate) fn conditions(study: &Study, variables: &Variables) -> Vec<String> {
    [
        server(study, variables),
        somebody_elses(study),
        machine(study),
        data(study, variables),
        binary_log(study, variables),
        scale(study),
        steal(study),
        when(study),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Each value once, in the order of the configurations.
fn once<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, one| {
        if !all.contains(&one) {
            all.push(one);
        }
        all
    })
}

fn configs(study: &Study) -> impl Iterator<Item = (usize, &Config)> {
    study.configs.iter().enumerate().filter(|(_, config)| !is_aa_run(study, config))
}

/// By the server's own number, else as the rig calls it.
fn server(study: &Study, variables: &Variables) -> Option<String> {
    let numbers = values(study, variables, "version");
    if !numbers.is_empty() {
        let named: Vec<String> = numbers.into_iter().map(named).collect();
        return Some(named.join(" and "));
    }
    let named = configs(study).map(|(_, config)| config.rig.server.as_str());
    let all = once(named.filter(|name| !name.is_empty()));
    (!all.is_empty()).then(|| all.join(", "))
}

/// A version with its product: MariaDB's has the word in it, as in `10.11.19-MariaDB`.
fn named(version: &str) -> String {
    match version.split_once("-MariaDB") {
        Some((number, _)) => format!("MariaDB {number}"),
        None => format!("MySQL {version}"),
    }
}

/// Facts that are unknown because somebody else runs the servers.
fn somebody_elses(study: &Study) -> Option<String> {
    let servers = configs(study).filter_map(|(_, config)| config.rig.existing.as_ref());
    let all = once(servers.map(|server| server.address.as_str()));
    (!all.is_empty())
        .then(|| format!("on a server that somebody else runs ({}): {UNSEEN}", all.join(" and ")))
}

/// `2 CPUs (AMD EPYC)`.
fn machine(study: &Study) -> Option<String> {
    let count = study.facts.get("cpus").filter(|count| !count.is_empty())?;
    let cpus = if count == "1" { "CPU" } else { "CPUs" };
    let model = study.facts.get("cpu").map_or_else(String::new, |model| format!(" ({model})"));
    Some(format!("{count} {cpus}{model}"))
}

/// A server variable of each configuration, as the server told it, else as the plan sets it.
fn values<'a>(study: &'a Study, variables: &'a Variables, name: &str) -> Vec<&'a str> {
    let of = |(place, config): (usize, &'a Config)| {
        let told = variables.get(place).and_then(|sets| sets.first()?.get(name));
        told.or_else(|| config.settings.get(name)).map(String::as_str)
    };
    once(configs(study).filter_map(of))
}

/// `328 MB of data, buffer pool 32 MiB (a tenth)`.
fn data(study: &Study, variables: &Variables) -> Option<String> {
    let pools =
        once(values(study, variables, "innodb_buffer_pool_size").into_iter().filter_map(size_of));
    let files = files(study);
    let pool = match pools.as_slice() {
        [] => None,
        [one] => Some(format!("buffer pool {}", Size(*one))),
        several => {
            let all: Vec<String> = several.iter().map(|one| Size(*one).to_string()).collect();
            Some(format!("buffer pool {}", all.join(" and ")))
        }
    };
    match (files, pool, pools.as_slice()) {
        (Some(files), Some(pool), [one]) if *one > 0 => {
            let percent = 100.0 * *one as f64 / files;
            let share = match percent >= 100.0 {
                true => "all of it fits".to_owned(),
                false => format!("{percent:.0} % of it"),
            };
            Some(format!("{} of data, {pool} ({share})", bytes(files)))
        }
        (Some(files), Some(pool), _) => Some(format!("{} of data, {pool}", bytes(files))),
        (Some(files), None, _) => Some(format!("{} of data", bytes(files))),
        (None, pool, _) => pool,
    }
}

/// Sizes are told in bytes by a server, and as one writes them by a plan.
fn size_of(text: &str) -> Option<u64> {
    Size::parse(text).ok().map(|size| size.0)
}

/// The largest tables of a server in any run; of a study that did not tell them apart, all of the
/// server's files.
fn files(study: &Study) -> Option<f64> {
    let of_server = |results: &BTreeMap<String, f64>| {
        let figure = |metric: &MetricEntry| results.get(metric.name).copied();
        figure(metric!("space_tables_file_bytes")).or_else(|| figure(metric!("space_file_bytes")))
    };
    let of = |trial: &Trial| match &trial.servers[..] {
        [] => of_server(&trial.results),
        several => several.iter().filter_map(|one| of_server(&one.results)).reduce(f64::max),
    };
    study.trials.iter().filter_map(of).filter(|bytes| *bytes > 0.0).reduce(f64::max)
}

fn binary_log(study: &Study, variables: &Variables) -> Option<String> {
    let skips = |config: &Config| {
        let of = |name: &str| config.settings.get(name).map(|value| is_on(value));
        of("skip_log_bin").or_else(|| of("skip-log-bin")).unwrap_or(false)
    };
    let of = |(place, config): (usize, &Config)| {
        let told = variables.get(place).and_then(|sets| sets.first()?.get("log_bin"));
        told.map(|value| is_on(value)).or_else(|| skips(config).then_some(false))
    };
    match once(configs(study).filter_map(of)).as_slice() {
        [] => None,
        [true] => Some("binary log on".into()),
        [false] => Some("binary log off".into()),
        _ => Some("binary log on in some configurations".into()),
    }
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "on" | "1" | "true" | "")
}

/// How far rates of emulated drives are from those of the whole ones.
fn scale(study: &Study) -> Option<String> {
    let models = configs(study).filter_map(|(_, config)| config.rig.model());
    let all = once(models.map(|model| model.parallel_scale).filter(|scale| *scale != 1.0));
    match all.as_slice() {
        [] => None,
        [scale] => Some(format!(
            "drives emulated at 1/{scale} of the real ones, which do about {scale} times these \
            rates at {scale} times the threads"
        )),
        _ => Some(
            "drives emulated at a part of the real ones, which do higher rates at more threads"
                .into(),
        ),
    }
}

/// CPU time that the hypervisor took in the worst run; `None` if too little to mention.
fn steal(study: &Study) -> Option<String> {
    let of = |trial: &Trial| trial.results.get(metric!("cpu_steal_percent").name).copied();
    let most = study.trials.iter().filter_map(of).reduce(f64::max)?;
    (most >= STEAL_PERCENT_TOLD).then(|| format!("CPU steal up to {} %", figure(most)))
}

/// Less steal than this is on every machine that is shared.
const STEAL_PERCENT_TOLD: f64 = 0.5;

/// The day or days.
fn when(study: &Study) -> Option<String> {
    let began = study.trials.iter().filter_map(|trial| trial.started_at.as_deref());
    let mut days: Vec<&str> = began.filter_map(|time| time.get(..10)).collect();
    days.sort_unstable();
    let (first, last) = (days.first()?, days.last()?);
    Some(if first == last {
        format!("measured on {first}")
    } else {
        format!("measured from {first} to {last}")
    })
}
