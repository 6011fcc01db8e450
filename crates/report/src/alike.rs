//! Settings by which configurations were to differ, and which their servers ran alike.
//!
//! A comparison of such configurations is none of what was asked.

use std::collections::{BTreeMap, BTreeSet};

use assay_study::effective::is_as_asked;
use assay_study::switches::canonical;
use assay_study::{Config, Study, Warning};

use super::leading;

/// A sentence for each such setting.
pub(super) fn sentences(study: &Study) -> Vec<String> {
    let configs: Vec<&Config> =
        study.configs.iter().filter(|config| !leading::is_aa_run(study, config)).collect();
    let names: BTreeSet<&String> = configs.iter().flat_map(|one| one.settings.keys()).collect();
    names.into_iter().filter_map(|name| of_setting(study, &configs, name)).collect()
}

/// Nothing where all ask for the same, or where any two ran with something else.
fn of_setting(study: &Study, configs: &[&Config], name: &str) -> Option<String> {
    let asked: Vec<&String> =
        configs.iter().map(|config| config.settings.get(name)).collect::<Option<_>>()?;
    let (first, rest) = asked.split_first()?;
    if rest.iter().all(|one| is_as_asked(one, first)) {
        return None;
    }
    let changed: BTreeMap<&str, &str> =
        configs.iter().filter_map(|one| changed(study, one, name)).collect();
    let ran = configs.iter().zip(&asked).map(|(config, asked)| {
        changed.get(config.name.as_str()).copied().unwrap_or(asked.as_str())
    });
    let ran: Vec<&str> = ran.collect();
    let value = changed.values().next()?;
    let are_alike = ran.iter().all(|one| is_as_asked(one, value));
    are_alike.then(|| {
        format!(
            "the configurations ask for different values of {name}, but all of them ran with {value}: this study does not compare {name}"
        )
    })
}

/// The configuration and the value that its server took in place of the one asked for.
fn changed<'a>(study: &'a Study, config: &'a Config, name: &str) -> Option<(&'a str, &'a str)> {
    let its = study.trials.iter().filter(|trial| trial.key.config == config.name);
    let name = canonical(name);
    its.flat_map(|trial| &trial.warnings).find_map(|one| match one {
        Warning::SettingDiffers { name: one, effective, .. } if *one == name => {
            Some((config.name.as_str(), effective.as_str()))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use assay_study::{Trial, TrialKey};

    use super::*;

    fn study(values: [(&str, Option<&str>); 2]) -> Study {
        let mut study = Study::default();
        for (name, (asked, ran)) in ["a", "b"].into_iter().zip(values) {
            let config = Config {
                name: name.into(),
                rig: assay_study::Rig::default(),
                settings: [("innodb_buffer_pool_instances".into(), asked.into())].into(),
            };
            let key =
                TrialKey { config: name.into(), workload: "rw".into(), threads: 1, repeat: 1 };
            let mut trial = Trial::done(key, &[]);
            trial.warnings.extend(ran.map(|ran| Warning::SettingDiffers {
                name: "innodb_buffer_pool_instances".into(),
                asked: asked.into(),
                effective: ran.into(),
            }));
            study.trials.push(trial);
            study.configs.push(config);
        }
        study
    }

    #[test]
    fn what_ran_alike_is_no_comparison() {
        let told = sentences(&study([("1", None), ("8", Some("1"))]));
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("all of them ran with 1"), "{told:?}");
        assert_eq!(sentences(&study([("1", None), ("8", None)])), [""; 0]);
        assert_eq!(sentences(&study([("8", Some("1")), ("8", Some("1"))])), [""; 0]);
        assert_eq!(sentences(&study([("16", Some("4")), ("8", Some("2"))])), [""; 0]);
    }
}
