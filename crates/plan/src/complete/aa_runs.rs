//! The configuration that runs twice.
//!
//! An *A/A run* is another configuration under another name, and shares its preconditioned media,
//! and its base snapshot where all configurations share one. The difference of the two is the noise
//! floor. Unless the plan says otherwise the baseline gets one.

use anyhow::{Result, bail, ensure};

use crate::document::{ConfigSpec, NAME_CHARS_MOST, NoiseFloorSpec, Plan};

/// Suffix of the name of an A/A run.
const AGAIN: &str = ", again";

impl Plan {
    /// Adds the A/A run that the plan asks for, unless it names one itself, and completes A/A runs
    /// with the keys of their configurations.
    ///
    /// # Errors
    /// An A/A run, or a noise floor, of a configuration that is not there.
    pub(super) fn complete_aa_runs(&mut self) -> Result<()> {
        if !self.configs.values().any(|config| config.aa_of.is_some()) {
            self.add_aa_run()?;
        }
        let aa_runs: Vec<(String, String)> = self
            .configs
            .iter()
            .filter_map(|(name, config)| Some((name.clone(), config.aa_of.clone()?)))
            .collect();
        for (aa_run, original) in aa_runs {
            self.complete(&aa_run, &original)?;
        }
        Ok(())
    }

    fn add_aa_run(&mut self) -> Result<()> {
        let original = match &self.noise_floor {
            NoiseFloorSpec::Whether(false) => return Ok(()),
            NoiseFloorSpec::Whether(true) => self.baseline().map(str::to_owned),
            NoiseFloorSpec::Config(name) => Some(name.clone()),
        };
        // A plan without configurations is refused for that.
        let Some(original) = original.filter(|_| !self.configs.is_empty()) else { return Ok(()) };
        let Some(place) = self.configs.get_index_of(&original) else {
            // A baseline that is not there is refused for that.
            ensure!(
                self.noise_floor == NoiseFloorSpec::Whether(true),
                "noise_floor names `{original}`, which is not a configuration; there are {}",
                self.configs.keys().cloned().collect::<Vec<_>>().join(", ")
            );
            return Ok(());
        };
        let short: String = original.chars().take(NAME_CHARS_MOST - AGAIN.len()).collect();
        let aa_run = format!("{short}{AGAIN}");
        let threads = self.aa_run_threads(&original);
        let config = ConfigSpec { aa_of: Some(original), threads, ..ConfigSpec::default() };
        ensure!(
            !self.configs.contains_key(&aa_run),
            "there is already a configuration `{aa_run}`; rename it, or set noise_floor = false"
        );
        self.configs.shift_insert(place + 1, aa_run, config);
        Ok(())
    }

    /// Lowest and highest of the configuration's thread counts, unless the plan names others: noise
    /// is seldom the same at both.
    fn aa_run_threads(&self, original: &str) -> Vec<u32> {
        let own = self.configs.get(original).map_or(&[][..], |config| &config.threads);
        let its = || if own.is_empty() { &self.threads[..] } else { own }.iter().copied();
        if !self.noise_floor_threads.is_empty() {
            return its().filter(|one| self.noise_floor_threads.contains(one)).collect();
        }
        let mut both: Vec<u32> = its().min().into_iter().chain(its().max()).collect();
        both.dedup();
        both
    }

    fn complete(&mut self, aa_run: &str, original: &str) -> Result<()> {
        let Some(model) = self.configs.get(original).cloned() else {
            bail!(
                "configuration `{aa_run}`: aa_of names `{original}`, which is not a configuration"
            );
        };
        ensure!(
            model.aa_of.is_none(),
            "configuration `{aa_run}` repeats an A/A run; name the original configuration, `{}`",
            model.aa_of.unwrap_or_default()
        );
        for set in self.data_profiles.values_mut() {
            let is_on = set.configs.iter().any(|config| config == original);
            if is_on && !set.configs.iter().any(|config| config == aa_run) {
                set.configs.push(aa_run.to_owned());
            }
        }
        let Some(config) = self.configs.get_mut(aa_run) else { return Ok(()) };
        let bare = ConfigSpec {
            threads: config.threads.clone(),
            aa_of: config.aa_of.clone(),
            ..ConfigSpec::default()
        };
        let whole =
            ConfigSpec { threads: config.threads.clone(), aa_of: config.aa_of.clone(), ..model };
        ensure!(
            *config == bare || *config == whole,
            "configuration `{aa_run}` is the A/A run of `{original}` but differs from it; keep \
            only threads, or remove aa_of"
        );
        *config = whole;
        Ok(())
    }
}
