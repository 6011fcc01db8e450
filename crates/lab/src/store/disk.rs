//! What an arm's disk promises and what it is worth: kept with the study, so that a report judges by what was run and not by
//! presets as they have become since.
//!
//! In the table `study` under `disk.ARM`, as JSON. A study from before has none: then nothing is known.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::Store;

/// The disk under an arm's server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// What it is: `folder`, `image`, `device`, `drive` or `model`.
    pub kind: String,
    /// Bytes that a power cut leaves whole or not there, and who says so; nothing where nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atomic_write_bytes: Option<Atomic>,
    /// Whether the file system gives a page of 16 KiB room in one piece, so that it comes down as one write.
    pub keeps_pages_together: bool,
    /// What a completed write survives, of a model: `volatile`, `protected` or `writethrough`. Of other disks the device alone
    /// knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// What the kernel believes of the device's cache (`queue/write_cache`): `write back` or `write through`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_cache: Option<String>,
    /// How its file system is mounted, as far as it was asked for; of a folder as the kernel tells it.
    pub mount_options: Vec<String>,
    /// The preset of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// What a model's capacity is divided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_scale: Option<f64>,
    /// What a model's parallelism, and so its rates, are divided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_scale: Option<f64>,
    /// Bytes that the whole device is sold with, a model's not divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_bytes: Option<f64>,
    /// Bytes of flash for each of those, of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_per_user: Option<f64>,
    /// What the preset says that the whole device costs and how long it lasts, by name with the unit last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub worth: BTreeMap<String, Worth>,
}

/// A size that is written all or nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Atomic {
    /// In bytes.
    pub bytes: u64,
    /// Whether our own drive's format keeps it, and not a device's word.
    pub by_format: bool,
}

/// A figure of a preset with where it is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// In the unit that its name ends with.
    pub value: f64,
    /// How it came to be: `published`, `computed`, `recalled` or `fitted`.
    pub mark: String,
    /// Where it is from.
    pub source: String,
}

/// Where in the study's head.
const PREFIX: &str = "disk.";

impl Store {
    /// Keeps the disks of arms, by the arms' names.
    ///
    /// # Errors
    /// A store that cannot be written.
    pub fn write_disks(&mut self, disks: &BTreeMap<String, Disk>) -> Result<()> {
        self.change(|transaction| {
            for (arm, disk) in disks {
                let json = serde_json::to_string(disk).context("cannot write JSON")?;
                transaction.execute(
                    "INSERT OR REPLACE INTO study (key, value) VALUES (?1, ?2)",
                    params![format!("{PREFIX}{arm}"), json],
                )?;
            }
            Ok(())
        })
    }

    /// The disks of arms, by the arms' names; nothing of arms that were run before disks were kept.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn disks(&self) -> Result<BTreeMap<String, Disk>> {
        let parsed = |(arm, json): (String, String)| {
            let disk = serde_json::from_str(&json)
                .with_context(|| format!("the study holds a disk of {arm} that does not parse"))?;
            Ok((arm, disk))
        };
        self.named(PREFIX)?.into_iter().map(parsed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_read_as_they_were_written_and_are_no_facts() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(folder.path()).unwrap();
        assert!(store.disks().unwrap().is_empty(), "a study from before has none");
        let worth = Worth { value: 1570.0, mark: "published".into(), source: "a paper".into() };
        let disk = Disk {
            kind: "model".into(),
            atomic_write_bytes: Some(Atomic { bytes: 16 << 10, by_format: false }),
            cache: Some("volatile".into()),
            parallel_scale: Some(36.0),
            worth: [("price_usd".to_owned(), worth)].into(),
            ..Disk::default()
        };
        let disks: BTreeMap<String, Disk> = [("an arm. with dots".to_owned(), disk)].into();
        store.write_disks(&disks).unwrap();
        store.write_disks(&disks).unwrap();
        assert_eq!(store.disks().unwrap(), disks);
        assert!(store.study().unwrap().facts.is_empty());
    }

    #[test]
    fn what_later_versions_do_not_know_is_as_if_nobody_had_said() {
        let disk: Disk = serde_json::from_str("{\"kind\":\"drive\",\"colour\":\"red\"}").unwrap();
        assert_eq!(disk, Disk { kind: "drive".into(), ..Disk::default() });
    }
}
