//! The options of a YCSB workload: YCSB's properties, from a plan or a property file.

use serde::{Deserialize, Serialize};

use super::{Mix, RequestDistribution, THETA};
use crate::error::{Error, Result};
use crate::mode::Mode;
use crate::recipe::Recipe;

/// Options of YCSB's recipes. Those not given are those of the letter's published workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct YcsbOptions {
    /// Shares of the operations (`readproportion` and its kin).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// Popularity of records (`requestdistribution`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_distribution: Option<RequestDistribution>,
    /// θ of zipfian and latest in mode `strict`; YCSB's is fixed.
    pub zipfian_exp: f64,
    /// Records in the longest scan (`maxscanlength`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scan_length: Option<u64>,
    /// Lengths of scans (`scanlengthdistribution`).
    pub scan_length_distribution: ScanLengths,
    /// True if an update writes all fields instead of a random one (`writeallfields`).
    pub write_all_fields: bool,
    /// Expected operations of the run (`operationcount`): scrambled zipfian also draws from twice
    /// the records that inserts will add.
    pub operation_count: u64,
    /// Retries of a load's failed insert before its thread ends
    /// (`core_workload_insertion_retry_limit`).
    #[serde(skip_serializing_if = "is_default")]
    pub insertion_retry_limit: u32,
    /// Seconds between retries, of which 0.8 to 1.2 are waited
    /// (`core_workload_insertion_retry_interval`).
    #[serde(skip_serializing_if = "is_interval")]
    pub insertion_retry_interval: f64,
}

/// YCSB's default, in seconds.
const RETRY_INTERVAL_S: f64 = 3.0;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_default(number: &u32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_interval(seconds: &f64) -> bool {
    *seconds == RETRY_INTERVAL_S
}

impl Default for YcsbOptions {
    fn default() -> YcsbOptions {
        YcsbOptions {
            mix: None,
            request_distribution: None,
            zipfian_exp: THETA,
            max_scan_length: None,
            scan_length_distribution: ScanLengths::default(),
            write_all_fields: false,
            operation_count: 0,
            insertion_retry_limit: 0,
            insertion_retry_interval: RETRY_INTERVAL_S,
        }
    }
}

/// The distribution of the lengths of scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanLengths {
    /// All lengths from 1 to the longest with equal probability.
    #[default]
    Uniform,
    /// Mostly short scans.
    Zipfian,
}

/// YCSB's default limit of a scan; the published workload E has 100.
const SCAN_LENGTH_MAX: u64 = 1000;
const SCAN_LENGTH_MAX_OF_E: u64 = 100;
/// YCSB counts records in 32 bits.
const COMPAT_RECORDS_MAX: u64 = i32::MAX as u64;

impl YcsbOptions {
    /// Returns true if nothing is given.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == YcsbOptions::default()
    }

    /// The mix of `recipe`: the given one, or the letter's. All zero for [`Recipe::Ycsb`] without
    /// one.
    #[must_use]
    pub fn mix(&self, recipe: Recipe) -> Mix {
        let of_letter = || match recipe {
            Recipe::YcsbLoad => Mix { insert: 1.0, ..Mix::default() },
            _ => letter(recipe).and_then(Mix::of).unwrap_or_default(),
        };
        self.mix.unwrap_or_else(of_letter)
    }

    /// The popularity of records under `recipe`.
    #[must_use]
    pub fn request_distribution(&self, recipe: Recipe) -> RequestDistribution {
        self.request_distribution.unwrap_or(match recipe {
            Recipe::YcsbD => RequestDistribution::Latest,
            // A custom mix starts with the defaults of YCSB's code.
            Recipe::Ycsb | Recipe::YcsbLoad => RequestDistribution::Uniform,
            _ => RequestDistribution::Zipfian,
        })
    }

    /// Records in the longest scan of `recipe`.
    #[must_use]
    pub fn max_scan_length(&self, recipe: Recipe) -> u64 {
        let own = if recipe == Recipe::YcsbE { SCAN_LENGTH_MAX_OF_E } else { SCAN_LENGTH_MAX };
        self.max_scan_length.unwrap_or(own)
    }

    /// Checks the options of `recipe`.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check(&self, recipe: Recipe, mode: Mode) -> Result<()> {
        let refuse = |message: String| Err(Error::Config(message));
        let mix = self.mix(recipe);
        for (operation, share) in mix.shares() {
            if !(0.0..=1e9).contains(&share) {
                return refuse(format!(
                    "the share of {} is {share}; give 0 or more",
                    operation.name()
                ));
            }
        }
        if mix.shares().iter().all(|(_, share)| *share == 0.0) {
            return refuse(
                "the workload has no operations; give `mix` a share above 0, such as mix = \
                 { read = 0.5, update = 0.5 }"
                    .into(),
            );
        }
        if !(self.zipfian_exp > 0.0 && self.zipfian_exp < 100.0) {
            return refuse(format!("`zipfian_exp` is {}; give more than 0", self.zipfian_exp));
        }
        if mode == Mode::Compat && self.zipfian_exp != THETA {
            return refuse(format!(
                "`zipfian_exp` is {}, but YCSB's is fixed at {THETA}; leave it out, or set mode to \
                 strict",
                self.zipfian_exp
            ));
        }
        if !(0.0..=1e6).contains(&self.insertion_retry_interval) {
            return refuse(format!(
                "`insertion_retry_interval` is {}; give 0 or more seconds",
                self.insertion_retry_interval
            ));
        }
        if !(1..=1_000_000).contains(&self.max_scan_length(recipe)) {
            return refuse("`max_scan_length` must be 1 to 1000000".into());
        }
        Ok(())
    }

    /// Checks that YCSB could count the records, in mode `compat`.
    ///
    /// # Errors
    /// [`Error::Config`] with what to change.
    pub fn check_records(mode: Mode, records: u64) -> Result<()> {
        if mode == Mode::Compat && records > COMPAT_RECORDS_MAX {
            return Err(Error::Config(format!(
                "YCSB counts at most {COMPAT_RECORDS_MAX} records; lower table_size, or set mode \
                 to strict"
            )));
        }
        Ok(())
    }
}

/// The letter of a published workload.
fn letter(recipe: Recipe) -> Option<char> {
    let letter = recipe.name().strip_prefix("ycsb_")?;
    letter.chars().next().filter(|_| letter.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_as_published_and_options_go_before_them() {
        let options = YcsbOptions::default();
        assert_eq!(options.mix(Recipe::YcsbB), Mix { read: 0.95, update: 0.05, ..Mix::default() });
        assert_eq!(options.request_distribution(Recipe::YcsbD), RequestDistribution::Latest);
        assert_eq!(options.max_scan_length(Recipe::YcsbE), 100);
        assert_eq!(options.max_scan_length(Recipe::Ycsb), 1000);
        let given = YcsbOptions {
            mix: Some(Mix { scan: 1.0, ..Mix::default() }),
            request_distribution: Some(RequestDistribution::Uniform),
            max_scan_length: Some(7),
            ..options
        };
        assert_eq!(given.mix(Recipe::YcsbE).insert, 0.0);
        assert_eq!(given.request_distribution(Recipe::YcsbE), RequestDistribution::Uniform);
        assert_eq!(given.max_scan_length(Recipe::YcsbE), 7);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |options: &YcsbOptions, recipe, mode| {
            options.check(recipe, mode).map_err(|error| error.to_string())
        };
        let plain = YcsbOptions::default();
        assert!(check(&plain, Recipe::YcsbA, Mode::Compat).is_ok());
        let refusal = check(&plain, Recipe::Ycsb, Mode::Strict).unwrap_err();
        assert!(refusal.contains("mix"), "{refusal}");
        let steep = YcsbOptions { zipfian_exp: 1.2, ..plain.clone() };
        assert!(check(&steep, Recipe::YcsbA, Mode::Strict).is_ok());
        assert!(check(&steep, Recipe::YcsbA, Mode::Compat).unwrap_err().contains("strict"));
        let negative = Mix { read: -1.0, ..Mix::default() };
        let negative = YcsbOptions { mix: Some(negative), ..plain.clone() };
        assert!(check(&negative, Recipe::Ycsb, Mode::Strict).unwrap_err().contains("read"));
        let endless = YcsbOptions { max_scan_length: Some(0), ..plain };
        assert!(check(&endless, Recipe::YcsbE, Mode::Strict).is_err());
        assert!(YcsbOptions::check_records(Mode::Compat, 1 << 31).is_err());
        assert!(YcsbOptions::check_records(Mode::Strict, 1 << 31).is_ok());
    }
}
