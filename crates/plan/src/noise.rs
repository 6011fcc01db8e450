//! The baseline, the margin, and the configuration that runs twice.
//!
//! A *twin* is a configuration like any other but that it is another one under another name, and shares its base
//! snapshot and worn media. What the two differ by is the noise floor. Unless the plan says otherwise the baseline gets
//! one.

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{Config, Plan};

/// Names become folders and table columns, so they have an end.
const NAME_CHARS_MOST: usize = 64;

/// What is put behind a name for its twin's.
const AGAIN: &str = ", again";

/// Which configuration runs twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NoiseFloor {
    /// The baseline, or none.
    Whether(bool),
    /// The configuration of this name.
    Config(String),
}

impl Default for NoiseFloor {
    fn default() -> NoiseFloor {
        NoiseFloor::Whether(true)
    }
}

impl Plan {
    /// The configuration that others are measured by: the plan's `baseline`; else the configuration that the first
    /// comparison of its paper measures by; else its first.
    #[must_use]
    pub fn baseline(&self) -> Option<&str> {
        let named = self.baseline.as_deref();
        let of_paper = || self.paper.as_ref()?.comparisons.first().map(|one| one.against.as_str());
        named.or_else(of_paper).or_else(|| self.configs.keys().next().map(String::as_str))
    }

    /// Puts in the twin that the plan asks for, unless it names one itself, and gives twins what their configurations have.
    ///
    /// # Errors
    /// A twin, or a noise floor, of a configuration that is not there.
    pub(super) fn complete_twins(&mut self) -> Result<()> {
        if !self.configs.values().any(|config| config.twin_of.is_some()) {
            self.add_twin()?;
        }
        let twins: Vec<(String, String)> = self
            .configs
            .iter()
            .filter_map(|(name, config)| Some((name.clone(), config.twin_of.clone()?)))
            .collect();
        for (twin, original) in twins {
            self.complete(&twin, &original)?;
        }
        Ok(())
    }

    fn add_twin(&mut self) -> Result<()> {
        let original = match &self.noise_floor {
            NoiseFloor::Whether(false) => return Ok(()),
            NoiseFloor::Whether(true) => self.baseline().map(str::to_owned),
            NoiseFloor::Config(name) => Some(name.clone()),
        };
        // A plan without configurations is refused for that.
        let Some(original) = original.filter(|_| !self.configs.is_empty()) else { return Ok(()) };
        let Some(place) = self.configs.get_index_of(&original) else {
            // A baseline that is not there is refused for that.
            ensure!(
                self.noise_floor == NoiseFloor::Whether(true),
                "noise_floor names `{original}`, which is no configuration; there are {}",
                self.configs.keys().cloned().collect::<Vec<_>>().join(", ")
            );
            return Ok(());
        };
        let short: String = original.chars().take(NAME_CHARS_MOST - AGAIN.len()).collect();
        let twin = format!("{short}{AGAIN}");
        let threads = self.twin_threads(&original);
        let config = Config { twin_of: Some(original), threads, ..Config::default() };
        ensure!(
            !self.configs.contains_key(&twin),
            "there is a configuration `{twin}` already; call it something else, or set noise_floor = false"
        );
        self.configs.shift_insert(place + 1, twin, config);
        Ok(())
    }

    /// Lowest and highest of the configuration's thread counts, unless the plan names others: noise is seldom the same
    /// at both.
    fn twin_threads(&self, original: &str) -> Vec<u32> {
        let own = self.configs.get(original).map_or(&[][..], |config| &config.threads);
        let its = || if own.is_empty() { &self.threads[..] } else { own }.iter().copied();
        if !self.noise_floor_threads.is_empty() {
            return its().filter(|one| self.noise_floor_threads.contains(one)).collect();
        }
        let mut both: Vec<u32> = its().min().into_iter().chain(its().max()).collect();
        both.dedup();
        both
    }

    fn complete(&mut self, twin: &str, original: &str) -> Result<()> {
        let Some(model) = self.configs.get(original).cloned() else {
            bail!("configuration `{twin}`: twin_of names `{original}`, which is no configuration");
        };
        ensure!(
            model.twin_of.is_none(),
            "configuration `{twin}` is the twin of a twin; name the configuration itself, `{}`",
            model.twin_of.unwrap_or_default()
        );
        for set in self.data_profiles.values_mut() {
            let is_on = set.configs.iter().any(|config| config == original);
            if is_on && !set.configs.iter().any(|config| config == twin) {
                set.configs.push(twin.to_owned());
            }
        }
        let Some(config) = self.configs.get_mut(twin) else { return Ok(()) };
        let bare = Config {
            threads: config.threads.clone(),
            twin_of: config.twin_of.clone(),
            ..Config::default()
        };
        let whole =
            Config { threads: config.threads.clone(), twin_of: config.twin_of.clone(), ..model };
        ensure!(
            *config == bare || *config == whole,
            "configuration `{twin}` is the twin of `{original}` and differs from it; drop its keys but threads, or twin_of"
        );
        *config = whole;
        Ok(())
    }
}

/// Checks the baseline and the margin.
///
/// # Errors
/// One line naming the key.
pub(super) fn check(plan: &Plan) -> Result<()> {
    if let Some(name) = &plan.baseline {
        ensure!(
            plan.configs.contains_key(name),
            "baseline names `{name}`, which is no configuration; there are {}",
            plan.configs.keys().cloned().collect::<Vec<_>>().join(", ")
        );
    }
    let margin = plan.margin_percent;
    ensure!(
        margin.is_finite() && margin > 0.0 && margin < 100.0,
        "margin_percent is {margin}; give more than 0 and less than 100"
    );
    let unknown = plan.noise_floor_threads.iter().find(|one| !plan.threads.contains(one));
    if let Some(unknown) = unknown {
        bail!("noise_floor_threads has {unknown}, which the plan's threads have not");
    }
    Ok(())
}
