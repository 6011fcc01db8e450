//! How long drives last, of each run whose writes were counted: at the rate that was tested, at one
//! that somebody has, and measured by the baseline.

use serde::Serialize;

use crate::baseline_of;
use crate::worth::endurance::{self, Endurance, Life};
use crate::worth::flash_life;
use assay_study::prices::Each;
use assay_study::{Study, Trial, TrialKey};

/// How long the drive of one run lasts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveLife {
    /// Which run.
    #[serde(flatten)]
    pub key: TrialKey,
    #[serde(flatten)]
    pub endurance: Endurance,
    /// How long it lasts at a rate that somebody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_rate: Option<AtRate>,
    /// How many times as long the same flash lasts under the same transactions as with the
    /// baseline, in the same repeat.
    #[serde(rename = "life_on_equal_flash", skip_serializing_if = "Option::is_none")]
    pub on_equal_flash: Option<f64>,
}

/// The life of a drive at another rate than the one tested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtRate {
    /// Bytes that the whole device is given in a day.
    pub host_bytes_per_day: f64,
    /// From where that is.
    pub rate: RateOrigin,
    /// So long it lasts.
    #[serde(flatten)]
    pub life: Life,
}

/// From where a rate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateOrigin {
    /// The given daily writes of the baseline; for another configuration as much as the same
    /// transactions write.
    Asked,
    /// One drive write a day.
    OneDriveWriteADay,
}

impl RateOrigin {
    /// As tables have it.
    pub fn word(self) -> &'static str {
        match self {
            RateOrigin::Asked => "asked",
            RateOrigin::OneDriveWriteADay => "one_drive_write_a_day",
        }
    }
}

/// Drive lives of each run; `own` has facts about a configuration's drives from outside the study,
/// `writes_per_day` is what the baseline writes to its device, in bytes.
pub(crate) fn of_runs(
    study: &Study,
    own: impl Fn(&str) -> Each,
    writes_per_day: Option<f64>,
) -> Vec<DriveLife> {
    let of_run = |trial: &Trial| {
        let config = &trial.key.config;
        let endurance = endurance::of_results(&trial.results, study.disk(config), &own(config))?;
        Some(DriveLife { key: trial.key.clone(), endurance, at_rate: None, on_equal_flash: None })
    };
    let mut all: Vec<DriveLife> = study.trials.iter().filter_map(of_run).collect();
    let baseline = baseline_of(study);
    add_rates(&mut all, baseline.as_deref(), writes_per_day);
    add_flash_lives(&mut all, baseline.as_deref());
    all
}

/// Puts beside each what its drive lasts at the rate that was asked for, else at one drive write a
/// day.
fn add_rates(all: &mut [DriveLife], baseline: Option<&str>, writes_per_day: Option<f64>) {
    let of_baseline = of_config(all, baseline);
    for one in all {
        let base = of_same_load(&of_baseline, &one.key);
        let own = one.endurance.host_bytes_per_transaction;
        let times = base.map_or(1.0, |base| own / base.host_bytes_per_transaction);
        let (rate, bytes) = match (writes_per_day, one.endurance.capacity_bytes) {
            (Some(bytes), _) => (RateOrigin::Asked, bytes * times),
            (None, Some(bytes)) => (RateOrigin::OneDriveWriteADay, bytes),
            (None, None) => continue,
        };
        let life = one.endurance.life_at(bytes);
        let is_known = life.host_years.is_some() || life.media_years.is_some();
        one.at_rate = (is_known && bytes.is_finite()).then_some(AtRate {
            host_bytes_per_day: bytes,
            rate,
            life,
        });
    }
}

/// Puts beside each how long the same flash lasts, measured by the baseline; nothing where nobody
/// can be measured by it.
fn add_flash_lives(all: &mut [DriveLife], baseline: Option<&str>) {
    let of_baseline = of_config(all, baseline);
    let is_other = |one: &DriveLife| Some(one.key.config.as_str()) != baseline;
    let life = |one: &DriveLife| {
        flash_life::on_equal_flash(&one.endurance, of_same_load(&of_baseline, &one.key)?)
    };
    if all.iter().any(|one| is_other(one) && life(one).is_some()) {
        all.iter_mut().for_each(|one| one.on_equal_flash = life(one));
    }
}

/// The runs of a configuration.
fn of_config(all: &[DriveLife], config: Option<&str>) -> Vec<(TrialKey, Endurance)> {
    let its = all.iter().filter(|one| Some(one.key.config.as_str()) == config);
    its.map(|one| (one.key.clone(), one.endurance.clone())).collect()
}

/// That of the same workload, threads and repeat.
fn of_same_load<'a>(runs: &'a [(TrialKey, Endurance)], key: &TrialKey) -> Option<&'a Endurance> {
    let is_it = |other: &TrialKey| {
        (&other.workload, other.threads, other.repeat) == (&key.workload, key.threads, key.repeat)
    };
    runs.iter().find(|(other, _)| is_it(other)).map(|(_, found)| found)
}
