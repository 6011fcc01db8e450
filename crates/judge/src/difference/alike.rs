//! Conditions under which two sides may be compared, besides equal durability: the same workload
//! and the same scale.

use std::collections::{BTreeMap, BTreeSet};

use assay_study::power_cut::Replication;
use assay_study::{Config, DeviceDivisors, Model, Study, Tables, Trial, WorkloadRecord};

use crate::difference::studies::shared_workloads;

/// Says how events of a rate are spaced; nothing without a rate, which differs then itself.
const ARRIVALS: &str = "arrivals";

/// Something that both sides should share and do not, as it is on each; nothing where a side has
/// none.
#[derive(Debug, Clone, PartialEq)]
pub enum Unlike {
    /// An option of a workload.
    Option {
        /// The workload.
        workload: String,
        /// The option.
        option: String,
        /// Its values.
        values: [Option<String>; 2],
    },
    /// How many rows of what the tables hold.
    Tables([Option<Tables>; 2]),
    /// Divisors of the models.
    Scale([Option<DeviceDivisors>; 2]),
    /// Power cuts that took something from one side alone, or after which a replica took over on
    /// one alone.
    PowerCuts([CutsOfSide; 2]),
}

/// Power cuts of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutsOfSide {
    /// All of them.
    pub cuts: u64,
    /// Those that lost something.
    pub with_loss: u64,
    /// How the replica followed that took over; nothing where the server itself came up again.
    pub replica: Option<Replication>,
}

/// In what two configurations differ that makes their figures no answer to one question, each thing
/// once; empty if in nothing.
pub fn scale_differences(a: (&Study, &Config), b: (&Study, &Config)) -> Vec<Unlike> {
    let mut found = Vec::new();
    for ours in shared_workloads(a.0, b.0) {
        let Some(theirs) = b.0.workloads.iter().find(|one| one.name == ours.name) else { continue };
        let is_kept_by_both = |option: &str| {
            option != ARRIVALS
                || [&ours, &theirs].iter().all(|one| one.options.contains_key(option))
        };
        let options = differing(&ours.options, &theirs.options).into_iter();
        let options = options.filter(|(option, _)| is_kept_by_both(option));
        found.extend(options.map(|(option, values)| Unlike::Option {
            workload: ours.name.clone(),
            option,
            values: values.map(|value| value.cloned()),
        }));
    }
    for workload in shared_workloads(a.0, b.0).filter(|one| is_run(a, one) && is_run(b, one)) {
        let both =
            [a.1, b.1].map(|config| config.rig.tables(workload.data_profile.as_deref()).cloned());
        let is_alike = match &both {
            [Some(ours), Some(theirs)] => ours.are_as_many(theirs),
            [ours, theirs] => ours.is_none() && theirs.is_none(),
        };
        let unlike = Unlike::Tables(both);
        if !is_alike && !found.contains(&unlike) {
            found.push(unlike);
        }
    }
    let scales = [a.1, b.1].map(|config| config.rig.model().map(Model::scale));
    found.extend((scales[0] != scales[1]).then_some(Unlike::Scale(scales)));
    found
}

/// Whether the configuration has runs of the workload; of a study without runs all have all.
fn is_run(side: (&Study, &Config), workload: &WorkloadRecord) -> bool {
    side.0.trials.is_empty() || trials(side, workload).next().is_some()
}

fn trials<'a>(
    (study, config): (&'a Study, &'a Config),
    workload: &'a WorkloadRecord,
) -> impl Iterator<Item = &'a Trial> {
    let is_its =
        |trial: &&Trial| trial.key.config == config.name && trial.key.workload == workload.name;
    study.trials.iter().filter(is_its)
}

/// Names whose values differ, those that one side alone has included, with both values.
pub(super) fn differing<'a, V: PartialEq>(
    a: &'a BTreeMap<String, V>,
    b: &'a BTreeMap<String, V>,
) -> Vec<(String, [Option<&'a V>; 2])> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let all = names.into_iter().map(|name| (name.clone(), [a.get(name), b.get(name)]));
    all.filter(|(_, [a, b])| a != b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::study;
    use assay_study::{Data, DiskRecord, Media, Model, RigRecord};

    fn tables(rows: u64, create_options: &str) -> Tables {
        Tables { count: 2, rows, create_options: create_options.into(), ..Tables::default() }
    }

    fn config_with(media: Media, data: &[(Option<&str>, Tables)]) -> Config {
        let data = data.iter().map(|(set, tables)| Data {
            data_profile: set.map(str::to_owned),
            tables: tables.clone(),
            fill: None,
        });
        let disk = Some(DiskRecord { media, ..DiskRecord::default() });
        let rig = RigRecord { disk, data: data.collect(), ..RigRecord::default() };
        Config { name: "a".into(), rig, settings: [].into() }
    }

    fn config(device: &str, tables: Tables) -> Config {
        config_with(Media::Device { path: device.into() }, &[(None, tables)])
    }

    fn values(a: &str, b: &str) -> [Option<String>; 2] {
        [a, b].map(|one| Some(one.to_owned()))
    }

    fn option(option: &str, values: [Option<String>; 2]) -> Unlike {
        Unlike::Option { workload: "w".into(), option: option.into(), values }
    }

    #[test]
    fn what_is_not_alike_is_named() {
        let whole = study(&["a"], &[]);
        let plain = config("/dev/sda", tables(1000, ""));
        let differs = |other: &Config| scale_differences((&whole, &plain), (&whole, other));
        assert!(differs(&config("/dev/sdb", tables(1000, "COMPRESSION='zlib'"))).is_empty());
        assert_eq!(
            differs(&config("/dev/sda", tables(9000, ""))),
            [Unlike::Tables([Some(tables(1000, "")), Some(tables(9000, ""))])]
        );
        let model =
            Media::Model(Model { capacity_scale: 40.0, parallel_scale: 4.0, ..Model::default() });
        let model = config_with(model, &[(None, tables(1000, ""))]);
        let scale = DeviceDivisors { capacity: 40.0, parallel: 4.0 };
        assert_eq!(differs(&model), [Unlike::Scale([None, Some(scale)])]);
        let mut other = study(&["a"], &[]);
        other.workloads[0].options.insert("rand_type".into(), "zipf".into());
        let found = scale_differences((&other, &plain), (&whole, &plain));
        assert_eq!(found, [option("rand_type", [Some("zipf".into()), None])]);
        let found = scale_differences((&whole, &plain), (&other, &plain));
        let of_b = option("rand_type", [None, Some("zipf".into())]);
        assert_eq!(found, [of_b], "that b alone has");
    }

    #[test]
    fn tables_are_those_of_the_data_profiles_that_both_are_run_on() {
        let mut both = study(&["a"], &[]);
        both.workloads[0].data_profile = Some("full".into());
        let device = Media::Device { path: "/dev/sda".into() };
        let sets = [(Some("empty"), tables(100, "X")), (Some("full"), tables(9000, "X"))];
        let many = config_with(device, &sets);
        let one = config("/dev/sda", tables(9000, ""));
        let other = config("/dev/sda", tables(100, ""));
        let found = |a: &Config, b: &Config| scale_differences((&both, a), (&both, b));
        assert_eq!(found(&many, &one), Vec::new());
        assert_eq!(found(&one, &many), Vec::new());
        let rows = Unlike::Tables([Some(tables(9000, "X")), Some(tables(100, ""))]);
        assert_eq!(found(&many, &other), [rows]);
    }

    #[test]
    fn studies_of_different_rates_are_not_alike() {
        let plain = config("/dev/sda", tables(1000, ""));
        let paced = |rate: &str, arrivals: &str| {
            let mut study = study(&["a"], &[]);
            let options = [("rate", rate), ("arrivals", arrivals)];
            study.workloads[0].options = options.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
            study
        };
        let found = |a: &Study, b: &Study| scale_differences((a, &plain), (b, &plain));
        let open = study(&["a"], &[]);
        let (slow, fast) = (paced("100", "poisson"), paced("250", "poisson"));
        let rates = option("rate", values("100", "250"));
        assert_eq!(found(&slow, &slow), Vec::new());
        assert_eq!(found(&slow, &fast), std::slice::from_ref(&rates));
        assert_eq!(found(&open, &fast), [option("rate", [None, Some("250".into())])]);
        let even = paced("100", "even");
        assert_eq!(found(&slow, &even), [option("arrivals", values("poisson", "even"))]);
    }
}
