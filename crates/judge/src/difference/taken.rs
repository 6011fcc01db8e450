//! Bytes that runs wrote for each transaction, compared by repeat.

use std::collections::{BTreeMap, BTreeSet};

use crate::difference::contrast::{Contrast, WeightedStratum};
use crate::difference::steps::WeightedStep;
use crate::interval::LEVEL;
use crate::trial::measured::is_comparable;
use assay_study::metrics::metric;
use assay_study::{RunState, Study};

/// Bytes of one configuration for each byte of another, both for a transaction: the geometric mean
/// over repeats and thread counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// The ratio; below 1 the judged one takes fewer.
    pub ratio: f64,
    /// Its 95 % interval; `None` with a single repeat.
    pub interval: Option<(f64, f64)>,
    /// Whether they went to the media of a drive or a model; else to the device.
    pub is_to_media: bool,
}

impl Taken {
    pub(crate) fn of(found: &Contrast, is_to_media: bool) -> Taken {
        let interval = found.spread().map(|spread| spread.interval(LEVEL));
        Taken {
            ratio: found.value().exp(),
            interval: interval.map(|(low, high)| (low.exp(), high.exp())),
            is_to_media,
        }
    }
}

/// Logarithms of the bytes for a transaction under one workload.
pub(crate) struct CountedBytes<'a> {
    threads: &'a BTreeSet<u32>,
    /// By configuration, thread count and repeat.
    logs: BTreeMap<(&'a str, u32, u32), f64>,
    is_to_media: bool,
}

impl<'a> CountedBytes<'a> {
    /// Bytes to media if all of these configurations count them at each thread count, else those to
    /// the device; `None` if not all count these either.
    pub(crate) fn of(
        study: &'a Study,
        workload: &str,
        threads: &'a BTreeSet<u32>,
        configs: &BTreeSet<&str>,
    ) -> Option<CountedBytes<'a>> {
        let to_media = metric!("media_write_bytes_per_transaction").name;
        let to_device = metric!("write_bytes_per_transaction").name;
        let counted =
            [(to_media, true), (to_device, false)].into_iter().map(|(name, is_to_media)| {
                CountedBytes { threads, logs: logs(study, workload, name), is_to_media }
            });
        counted.into_iter().find(|one| one.has_all(configs))
    }

    /// Returns true if both count bytes at the same place.
    pub(crate) fn is_like(&self, other: &CountedBytes<'_>) -> bool {
        self.is_to_media == other.is_to_media
    }

    fn has_all(&self, configs: &BTreeSet<&str>) -> bool {
        let is_counted = |config: &str, threads: u32| {
            self.logs.keys().any(|key| (key.0, key.1) == (config, threads))
        };
        configs.iter().all(|config| self.threads.iter().all(|threads| is_counted(config, *threads)))
    }

    /// The weighted sum of steps, over the thread counts.
    pub(crate) fn contrast(&self, steps: &[WeightedStep]) -> Option<Contrast> {
        let share = 1.0 / self.threads.len() as f64;
        let strata = steps.iter().flat_map(|step| {
            self.threads.iter().map(move |threads| WeightedStratum {
                weight: step.weight * share,
                values: self.differences(step, *threads),
            })
        });
        Contrast::of(strata.collect())
    }

    pub(crate) fn taken(&self, steps: &[WeightedStep]) -> Option<Taken> {
        Some(Taken::of(&self.contrast(steps)?, self.is_to_media))
    }

    fn differences(&self, step: &WeightedStep, threads: u32) -> Vec<(u32, f64)> {
        let its = self.logs.iter().filter(|(key, _)| (key.0, key.1) == (&*step.against, threads));
        its.filter_map(|((_, _, repeat), against)| {
            let log = self.logs.get(&(step.config.as_str(), threads, *repeat))?;
            Some((*repeat, log - against))
        })
        .collect()
    }
}

fn logs<'a>(study: &'a Study, workload: &str, name: &str) -> BTreeMap<(&'a str, u32, u32), f64> {
    let its = study.trials.iter().filter(|trial| {
        trial.key.workload == workload && trial.state == RunState::Done && is_comparable(trial)
    });
    its.filter_map(|trial| {
        let bytes = trial.results.get(name).copied().filter(|bytes| *bytes > 0.0)?;
        Some(((trial.key.config.as_str(), trial.key.threads, trial.key.repeat), bytes.ln()))
    })
    .collect()
}
