//! Names in claims that are nearly those of a study: slips, which would otherwise look like
//! something that was not measured.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use assay_base::suggest::nearest;

use assay_claims::paper::ParsedPaper;
use assay_claims::repeated::{Crossover, Repeated};
use assay_study::Study;

/// That no configuration, workload or data profile that the claims name is nearly one that the
/// study has and they do not name. One that is far from all may be left out of the study.
///
/// # Errors
/// One line: the name and the nearest.
pub fn check(paper: &ParsedPaper, repeated: &Repeated, study: &Study) -> Result<()> {
    let (gains, levels) = (&repeated.comparisons, &repeated.levels);
    let printed = || gains.iter().flat_map(|gain| &gain.printed);
    let configs = gains.iter().flat_map(|gain| [gain.config.as_str(), gain.against.as_str()]);
    let crossovers = &repeated.crossovers;
    let configs = configs.chain(levels.iter().map(|level| level.config.as_str()));
    let configs = configs
        .chain(crossovers.iter().flat_map(|one| [one.config.as_str(), one.against.as_str()]));
    let workloads = printed().map(|one| one.workload.as_str());
    let workloads = workloads.chain(levels.iter().map(|level| level.workload.as_str()));
    let workloads = workloads.chain(crossovers.iter().map(|one| one.workload.as_str()));
    let data_profiles = printed().filter_map(|one| one.data_profile.as_deref());
    let data_profiles =
        data_profiles.chain(levels.iter().filter_map(|level| level.data_profile.as_deref()));
    let of_crossover =
        |one: &'_ Crossover| [one.data_profile.clone(), one.against_data_profile.clone()];
    let crossed: Vec<String> = crossovers.iter().flat_map(of_crossover).flatten().collect();
    let data_profiles = data_profiles.chain(crossed.iter().map(String::as_str));
    // An A/A run has its configuration's name and a word more.
    let is_aa_run = |name: &str| study.judging.aa_runs.contains_key(name);
    let its_configs =
        study.configs.iter().map(|config| config.name.as_str()).filter(|name| !is_aa_run(name));
    let its_workloads = study.workloads.iter().map(|one| one.workload.as_str());
    let its_data_profiles = study.workloads.iter().filter_map(|one| one.data_profile.as_deref());
    for (what, named, known) in [
        ("configuration", configs.collect(), its_configs.collect()),
        ("workload", workloads.collect(), its_workloads.collect()),
        ("data profile", data_profiles.collect(), its_data_profiles.collect()),
    ] {
        no_slip(paper, what, &named, &known)?;
    }
    Ok(())
}

fn no_slip(
    paper: &ParsedPaper,
    what: &str,
    named: &BTreeSet<&str>,
    known: &BTreeSet<&str>,
) -> Result<()> {
    for name in named.difference(known) {
        if let Some(near) = nearest(name, known.difference(named).copied()) {
            bail!(
                "the claims {} name the {what} `{name}`, which the study does not have; did you \
                mean `{near}`?",
                paper.name
            );
        }
    }
    Ok(())
}
