//! Prices of servers, drives and power: a file for `assay report --prices`, or the plan's
//! `[prices]`.
//!
//! Guarantees: an invalid price is refused in one line that names its key; a missing price stays
//! unknown.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use assay_base::suggest::nearest;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::DiskRecord;
use assay_base::one_line;
use assay_base::text_file;

/// Upper limit of amounts, rates, years and counts: far above any real one, and small enough that
/// no product of them overflows.
const AMOUNT_MAX: f64 = 1e15;

/// Upper limit of bytes: a hundred times the world's storage, for the same reason.
const BYTES_MAX: f64 = 1e24;

/// Longest name of a currency: it is printed in the heads of tables.
const CURRENCY_MAX: usize = 12;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    /// Currency of all amounts, e.g. `USD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Years that the costs cover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub years: Option<f64>,
    /// Price of electric energy; absent: energy costs nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_per_kwh: Option<f64>,
    /// Number of servers that each hold all of the data, the first included; absent: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Prices of every configuration's server.
    #[serde(skip_serializing_if = "is_default")]
    pub every_config: Each,
    /// Differing prices of single configurations, by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub configs: IndexMap<String, Each>,
}

/// The load and the data that servers are counted for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// Transactions per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps: Option<f64>,
    /// Bytes of data files before compression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_bytes: Option<f64>,
}

macro_rules! each {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Prices and properties of a server and its drives.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Each {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<f64>,
            )+
        }

        impl Each {
            /// The values given here, and for the others those of `other`.
            pub fn or(&self, other: &Each) -> Each {
                Each { $($name: self.$name.or(other.$name),)+ }
            }

            fn figures(&self) -> Vec<(&'static str, Option<f64>)> {
                vec![$((stringify!($name), self.$name),)+]
            }
        }
    };
}

each! {
    /// List price of a server without drives.
    server_price,
    /// Power of a server without drives.
    server_power_w,
    /// Operating costs of a year without energy.
    operating_per_year,
    /// List price of a drive.
    drive_price,
    /// Power of a drive.
    drive_power_w,
    /// Number of drives in a server; absent: one.
    drives,
    /// Total capacity of a server's drives; absent: the sold capacity of the preset's device.
    capacity_bytes,
    /// Discount on both list prices.
    discount_percent,
    /// Rated host writes of a server's drives over their life, together.
    endurance_bytes,
    /// Rated flash writes of a server's drives over their life, together, if the maker rates these:
    /// compared with bytes to media, never with host writes.
    endurance_media_bytes,
    /// Rated full writes of the capacity per day.
    drive_writes_per_day,
    /// Years of that rating.
    warranty_years,
}

fn is_default(each: &Each) -> bool {
    *each == Each::default()
}

impl Prices {
    /// Reads a file. The error names the line and the reason.
    pub fn read(path: &Path) -> Result<Prices> {
        let shown = path.display();
        let text = text_file::read(path, "prices")?;
        Prices::parse(&text).with_context(|| shown.to_string())
    }

    /// Parses a text. The error names the line and the reason.
    pub fn parse(text: &str) -> Result<Prices> {
        let prices: Prices =
            toml::from_str(text).map_err(|error| anyhow!(one_line(&error, text)))?;
        prices.check()?;
        Ok(prices)
    }

    /// Checks everything that does not depend on a study. The error names the key.
    pub fn check(&self) -> Result<()> {
        let target = self.target.unwrap_or_default();
        for (key, value) in [
            ("years", self.years),
            ("target.tps", target.tps),
            ("target.data_bytes", target.data_bytes),
        ] {
            let is_there = value.is_none_or(|value| value > 0.0);
            ensure!(is_there, "{key} is {}; give a number above 0", value.unwrap_or_default());
            check_amount(key, value)?;
        }
        let currency = self.currency.as_deref().unwrap_or("-");
        let is_word = (1..=CURRENCY_MAX).contains(&currency.chars().count())
            && !currency.contains(|sign: char| sign.is_control() || sign.is_whitespace());
        ensure!(is_word, "currency is {currency:?}; give a short word such as \"USD\"");
        ensure!(self.replicas != Some(0), "replicas is 0; give 1 for a single server");
        check_amount("price_per_kwh", self.price_per_kwh)?;
        self.every_config.check("every_config")?;
        self.configs.iter().try_for_each(|(name, each)| each.check(&format!("configs.{name}")))
    }

    /// Checks that configurations with prices exist. The error names the most similar one that
    /// does.
    pub fn check_configs<'a>(&self, known: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
        for name in self.configs.keys() {
            if known.clone().any(|config| config == name) {
                continue;
            }
            match nearest(name, known.clone()) {
                Some(near) => {
                    bail!("prices: there is no configuration `{name}`; did you mean `{near}`?")
                }
                None => bail!(
                    "prices: there is no configuration `{name}`; there are {}",
                    known.collect::<Vec<_>>().join(", ")
                ),
            }
        }
        Ok(())
    }

    /// Gives each A/A run the prices of the configuration that it repeats, under its own.
    pub fn with_aa_runs(&self, aa_runs: &BTreeMap<String, String>) -> Prices {
        let mut all = self.clone();
        for (aa_run, original) in aa_runs {
            let Some(of_original) = self.configs.get(original) else { continue };
            let own = self.configs.get(aa_run).cloned().unwrap_or_default();
            all.configs.insert(aa_run.clone(), own.or(of_original));
        }
        all
    }

    /// The prices of a configuration: its own, then those of every configuration, then those of its
    /// device's preset, which are in USD.
    pub fn of_config(&self, config: &str, disk: Option<&DiskRecord>) -> Each {
        let own = self.configs.get(config).cloned().unwrap_or_default().or(&self.every_config);
        let Some(disk) = disk else { return own };
        let worth = |name: &str| {
            let value = disk.worth.get(name).map(|worth| worth.value);
            value.filter(|value| (0.0..=AMOUNT_MAX).contains(value))
        };
        let is_usd = self.currency.as_deref() == Some("USD");
        own.or(&Each {
            drives: Some(disk.devices()).filter(|devices| *devices > 1.0),
            drive_price: worth("price_usd").filter(|_| is_usd),
            drive_power_w: worth("power_active_w"),
            ..Each::default()
        })
    }
}

impl Each {
    fn check(&self, place: &str) -> Result<()> {
        for (key, value) in self.figures() {
            check_amount(&format!("{place}.{key}"), value)?;
        }
        for (key, value) in [
            ("drives", self.drives),
            ("capacity_bytes", self.capacity_bytes),
            ("endurance_bytes", self.endurance_bytes),
            ("drive_writes_per_day", self.drive_writes_per_day),
            ("warranty_years", self.warranty_years),
        ] {
            ensure!(value != Some(0.0), "{place}.{key} is 0; give a number above 0");
        }
        let is_whole = self.drives.is_none_or(|drives| drives.fract() == 0.0);
        ensure!(is_whole, "{place}.drives is not a whole number");
        let discount = self.discount_percent.unwrap_or_default();
        ensure!(discount <= 100.0, "{place}.discount_percent is {discount}; give at most 100");
        Ok(())
    }
}

fn check_amount(key: &str, value: Option<f64>) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    ensure!(value >= 0.0, "{key} is {value}; give 0 or more");
    let most = if key.ends_with("_bytes") { BYTES_MAX } else { AMOUNT_MAX };
    ensure!(value <= most, "{key} is {value:e}; give at most {most:e}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Worth;

    const TEXT: &str = "currency = \"USD\"\nyears = 3\n[every_config]\nserver_price = 9999\n\
        drive_price = 1570\n[configs.flash]\ndrive_price = 11414\n";

    #[test]
    fn a_configs_own_price_goes_before_that_of_all_and_the_presets_comes_last() {
        let prices = Prices::parse(TEXT).unwrap();
        assert_eq!(prices.of_config("flash", None).drive_price, Some(11_414.0));
        assert_eq!(prices.of_config("disks", None).drive_price, Some(1570.0));
        assert_eq!(prices.of_config("flash", None).server_price, Some(9999.0));
        let worth = |value: f64| Worth { value, mark: "published".into(), source: String::new() };
        let disk = DiskRecord {
            worth: [
                ("price_usd".to_owned(), worth(7.0)),
                ("power_active_w".to_owned(), worth(20.0)),
            ]
            .into(),
            ..DiskRecord::default()
        };
        assert_eq!(prices.of_config("disks", Some(&disk)).drive_price, Some(1570.0));
        assert_eq!(prices.of_config("disks", Some(&disk)).drive_power_w, Some(20.0));
        let bare = |currency: &str| Prices { currency: Some(currency.into()), ..Prices::default() };
        assert_eq!(bare("USD").of_config("disks", Some(&disk)).drive_price, Some(7.0));
        assert_eq!(bare("EUR").of_config("disks", Some(&disk)).drive_price, None, "it is in USD");
    }

    #[test]
    fn what_is_no_price_is_refused_by_name() {
        for (wrong, says) in [
            ("years = 0", "years is 0; give a number above 0"),
            ("years = inf", "years is inf; give at most 1e15"),
            ("years = nan", "years is NaN; give a number above 0"),
            ("replicas = 0", "replicas is 0"),
            ("currency = \"\"", "currency is \"\"; give a short word such as \"USD\""),
            ("currency = \"U\\u001bD\"", "currency is \"U\\u{1b}D\"; give"),
            (
                "[every_config]\nserver_price = 1e308",
                "every_config.server_price is 1e308; give at most",
            ),
            (
                "[configs.a]\ncapacity_bytes = 1e25",
                "configs.a.capacity_bytes is 1e25; give at most 1e24",
            ),
            ("price_per_kwh = -1", "price_per_kwh is -1"),
            ("[every_config]\ndrive_price = nan", "every_config.drive_price is NaN"),
            ("[configs.a]\ndiscount_percent = 120", "configs.a.discount_percent is 120"),
            ("[configs.a]\ndrives = 1.5", "configs.a.drives is not a whole number"),
            ("[configs.a]\ncapacity_bytes = 0", "configs.a.capacity_bytes is 0"),
            ("[target]\ntps = -5", "target.tps is -5"),
            (
                "[configs.a]\ndrive_prise = 5",
                "line 2: unknown key `drive_prise`; did you mean `drive_price`?",
            ),
            ("year = 3", "line 1: unknown key `year`; did you mean `years`?"),
        ] {
            let error = Prices::parse(wrong).unwrap_err().to_string();
            assert!(error.starts_with(says), "{wrong}: {error}");
        }
    }

    #[test]
    fn an_aa_run_has_the_prices_of_its_config_but_for_its_own() {
        let aa_runs = BTreeMap::from([("flash, again".to_owned(), "flash".to_owned())]);
        let prices = Prices::parse(TEXT).unwrap();
        assert_eq!(
            prices.of_config("flash, again", None).drive_price,
            Some(1570.0),
            "every configuration's"
        );
        let with = prices.with_aa_runs(&aa_runs);
        assert_eq!(with.of_config("flash, again", None), prices.of_config("flash", None));
        let own =
            Prices::parse(&format!("{TEXT}[configs.\"flash, again\"]\ndrives = 2\n")).unwrap();
        let again = own.with_aa_runs(&aa_runs).of_config("flash, again", None);
        assert_eq!((again.drive_price, again.drives), (Some(11_414.0), Some(2.0)));
    }

    #[test]
    fn configs_that_are_none_are_found() {
        let prices = Prices::parse(TEXT).unwrap();
        assert!(prices.check_configs(["flash", "disks"].into_iter()).is_ok());
        let error = prices.check_configs(["flask", "disks"].into_iter()).unwrap_err().to_string();
        assert_eq!(error, "prices: there is no configuration `flash`; did you mean `flask`?");
    }
}
