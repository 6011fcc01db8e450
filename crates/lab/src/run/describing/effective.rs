//! Settings of a plan that its server, its rig and its processes run without.

use std::collections::BTreeMap;

use assay_plan::settings::{Settings, canonical};
use assay_study::effective::is_as_asked;
use assay_study::{Differing, InEffect, Warning};

/// A warning for each thing that the machine gave otherwise.
pub(crate) fn of_machine(in_effect: &InEffect, placed: Vec<Differing>) -> Vec<Warning> {
    in_effect.differing.iter().cloned().chain(placed).map(Warning::GivenDiffers).collect()
}

/// Returns a warning for each setting whose variable has another value than the plan asks for, and
/// for each line of the server's log about another setting. Options without a variable are skipped.
pub(crate) fn warnings(
    settings: &Settings,
    variables: &BTreeMap<String, String>,
    log_lines: Vec<String>,
) -> Vec<Warning> {
    let mut warnings: Vec<Warning> =
        settings.iter().filter_map(|setting| differing(setting, variables)).collect();
    let is_told = |line: &String| warnings.iter().any(|one| is_about(one, line));
    let others: Vec<String> = log_lines.into_iter().filter(|line| !is_told(line)).collect();
    warnings.extend(others.into_iter().map(|line| Warning::SettingAdjusted { line }));
    warnings
}

fn differing(
    (name, asked): (&String, &String),
    variables: &BTreeMap<String, String>,
) -> Option<Warning> {
    let name = canonical(name);
    let effective = variables.get(&name)?.clone();
    let asked = asked.clone();
    (!is_as_asked(&asked, &effective)).then_some(Warning::SettingDiffers { name, asked, effective })
}

/// Returns true if a line of the server's log is about the same setting.
fn is_about(differing: &Warning, line: &str) -> bool {
    matches!(differing, Warning::SettingDiffers { name, .. } if canonical(line).contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_the_server_changes_is_told_once() {
        let pairs = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let asked = pairs(&[
            ("innodb-buffer-pool-instances", "8"),
            ("innodb_buffer_pool_size", "32M"),
            ("skip_log_bin", "1"),
        ]);
        let told = pairs(&[
            ("innodb_buffer_pool_instances", "1"),
            ("innodb_buffer_pool_size", "33554432"),
        ]);
        let lines = ["option 'innodb-buffer-pool-instances' adjusted to 1", "'x' adjusted to 2"];
        let found = warnings(&asked, &told, lines.map(str::to_owned).to_vec());
        let differs = Warning::SettingDiffers {
            name: "innodb_buffer_pool_instances".into(),
            asked: "8".into(),
            effective: "1".into(),
        };
        assert_eq!(found, [differs, Warning::SettingAdjusted { line: lines[1].into() }]);
    }
}
