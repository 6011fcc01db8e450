//! A study read from its store and judged: made once for everything that a command shows of it.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::words;
use assay_judge::durability::Durability;
use assay_judge::power_cuts::PowerCuts;
use assay_judge::summary;
use assay_judge::worth::{Assumption, CostOfLoad};
use assay_judge::{Appraisal, Judgement, Supplied};
use assay_study::{Config, Store, Study};

/// A study with all that the judge finds of it.
#[derive(Debug)]
pub struct Analysis {
    pub(crate) study: Study,
    /// For each configuration, the distinct sets of its servers' variables.
    pub(crate) variables: Vec<Vec<BTreeMap<String, String>>>,
    pub(crate) judgement: Judgement,
    pub(crate) appraisal: Appraisal,
    /// The crash safety shown next to figures of each configuration.
    labels: Vec<String>,
}

impl Analysis {
    /// Reads and judges the study in `store`.
    ///
    /// # Errors
    /// Fails if the store cannot be read or prices name an unknown configuration.
    pub fn of(store: &Store, supplied: Supplied<'_>) -> Result<Analysis> {
        let mut study = store.study()?;
        study.trials = study.trials.into_iter().map(assay_judge::sound_trial).collect();
        let variables = variables(store, &study)?;
        let judgement = assay_judge::judgement(store, &study)?;
        let groups = summary::groups(&study);
        let appraisal = Appraisal::of((&study, &groups, &judgement), &variables, supplied)?;
        let labels = labels(&study, &appraisal.durability);
        Ok(Analysis { study, variables, judgement, appraisal, labels })
    }

    /// The crash safety shown next to figures of the configuration at this place.
    pub(crate) fn label(&self, config: usize) -> &str {
        self.labels.get(config).map_or("", String::as_str)
    }

    /// Prices that are missing: a line for all configurations that lack the same keys.
    pub(crate) fn lacking(&self) -> Vec<String> {
        let keys = |cost: &CostOfLoad| (!cost.missing.is_empty()).then(|| cost.missing.join(", "));
        let lines = self.by_configs(keys).into_iter().map(|(keys, configs)| {
            format!("No costs of {}: give {keys}; see docs/cost.md.", configs.join("; "))
        });
        lines.collect()
    }

    /// Assumptions in costs: a line for all configurations with the same assumption.
    pub(crate) fn assumed(&self) -> Vec<String> {
        let events = self.study.events();
        let text = |assumption: Assumption| words::worth::assumption(events, assumption);
        let lines = self.by_configs(|cost| cost.assumption.map(text)).into_iter();
        lines.map(|(assumed, configs)| format!("{}: {assumed}", configs.join("; "))).collect()
    }

    /// Configurations by a remark on their costs, each once.
    fn by_configs(
        &self,
        remark: impl Fn(&CostOfLoad) -> Option<String>,
    ) -> BTreeMap<String, Vec<&str>> {
        let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for cost in self.appraisal.costs.iter().flatten() {
            let Some(remark) = remark(cost) else { continue };
            let configs = found.entry(remark).or_default();
            if !configs.contains(&cost.config.as_str()) {
                configs.push(&cost.config);
            }
        }
        found
    }
}

/// Crash safety of each configuration by settings and disk, followed by the result of power cuts.
fn labels(study: &Study, durability: &[Durability]) -> Vec<String> {
    let all = PowerCuts::of_all(&study.power_cuts);
    let of_config = |(config, durability): (&Config, &Durability)| {
        let label = words::durability::label(durability);
        match all.iter().find(|cuts| cuts.config == config.name) {
            None => label,
            // A replica's cuts say nothing of the server alone, which throughput describes.
            Some(cuts) if cuts.with_loss > 0 && cuts.replica.is_none() => {
                words::power_cuts::short(cuts)
            }
            Some(cuts) => format!("{label}; {}", words::power_cuts::short(cuts)),
        }
    };
    study.configs.iter().zip(durability).map(of_config).collect()
}

/// For each configuration, the distinct sets of server variables of its runs.
fn variables(store: &Store, study: &Study) -> Result<Vec<Vec<BTreeMap<String, String>>>> {
    let mut sets: Vec<Vec<BTreeMap<String, String>>> = vec![Vec::new(); study.configs.len()];
    for trial in &study.trials {
        let config = study.configs.iter().position(|config| config.name == trial.key.config);
        let Some(of_config) = config.and_then(|config| sets.get_mut(config)) else { continue };
        let set = store.variables(trial.id)?;
        if !set.is_empty() && !of_config.contains(&set) {
            of_config.push(set);
        }
    }
    Ok(sets)
}
