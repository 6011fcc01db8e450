//! Makes pools: replicated ones, and erasure-coded ones with a small replicated pool for the
//! images' metadata.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use assay_base::protection::{PoolCompression, Protection};
use assay_ports::rbd::{Cluster, CommandTarget, PoolIo};
use serde_json::{Value, json};

/// Placement groups of a pool: a few for each store, since each needs memory.
const GROUPS: u32 = 16;

/// The option of an image's pool that names the pool for its data (Ceph's `rbd_default_data_pool`).
const DATA_POOL_KEY: &str = "conf_rbd_default_data_pool";

/// A pool that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPool {
    /// The name that images use.
    pub name: String,
    pub protection: Protection,
    /// `None`: data are not compressed.
    pub compression: Option<PoolCompression>,
    /// Limit of its space.
    pub quota_bytes: Option<u64>,
}

/// Copies of the images' metadata, to survive the loss of as many stores as the data do.
fn copies_of_metadata(protection: Protection) -> u16 {
    match protection {
        Protection::Replicated { copies } => copies,
        Protection::ErasureCoded { coding, .. } => (coding + 1).min(3),
    }
}

/// Makes the pool; after an error there is no such pool.
pub fn create(cluster: &Arc<Cluster>, new: &NewPool) -> Result<()> {
    let maker = Maker { cluster };
    maker.check(new)?;
    let made = maker.make(new);
    if made.is_err() {
        new.pools().iter().for_each(|pool| maker.delete(pool));
    }
    made
}

/// Deletes the pool with its contents.
pub fn delete(cluster: &Arc<Cluster>, new: &NewPool) -> Result<()> {
    let maker = Maker { cluster };
    new.pools().iter().try_for_each(|pool| maker.try_delete(pool))
}

/// Sets the option `key` for every client that opens an image of the pool, e.g. a limit (Ceph,
/// "Block Device Configuration Reference").
pub fn set_image_option(cluster: &Arc<Cluster>, pool: &str, key: &str, value: &str) -> Result<()> {
    Ok(PoolIo::open(cluster, pool)?.set_metadata(&format!("conf_{key}"), value)?)
}

/// The value of an option for clients of the pool; `None` if it is not set.
pub fn image_option(cluster: &Arc<Cluster>, pool: &str, key: &str) -> Result<Option<String>> {
    Ok(PoolIo::open(cluster, pool)?.metadata(&format!("conf_{key}"))?)
}

/// The pool's settings under Ceph's names (`osd pool get … all`): its own, and those of its
/// erasure-code profile.
pub fn options(cluster: &Arc<Cluster>, new: &NewPool) -> Result<BTreeMap<String, String>> {
    let maker = Maker { cluster };
    let told = maker.ask(json!({
        "prefix": "osd pool get",
        "pool": new.data_pool(),
        "var": "all",
        "format": "json",
    }))?;
    let mut options = kept(&told);
    if let Some(profile) = options.remove("erasure_code_profile") {
        let prefix = "osd erasure-code-profile get";
        let told = maker.ask(json!({ "prefix": prefix, "name": profile, "format": "json" }))?;
        options.extend(kept(&told));
    }
    Ok(options)
}

/// The settings that a plan can choose, and those that follow from them.
const KEPT: [&str; 7] = [
    "size",
    "min_size",
    "k",
    "m",
    "erasure_code_profile",
    "compression_mode",
    "compression_algorithm",
];

fn kept(told: &Value) -> BTreeMap<String, String> {
    let all = told.as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    all.filter(|(name, _)| KEPT.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

impl NewPool {
    /// The pool that holds the data.
    #[must_use]
    pub fn data_pool(&self) -> String {
        match self.protection {
            Protection::Replicated { .. } => self.name.clone(),
            Protection::ErasureCoded { .. } => format!("{}.data", self.name),
        }
    }

    fn pools(&self) -> Vec<String> {
        let mut pools = vec![self.name.clone(), self.data_pool()];
        pools.dedup();
        pools
    }
}

struct Maker<'a> {
    cluster: &'a Arc<Cluster>,
}

impl Maker<'_> {
    fn ask(&self, command: Value) -> Result<Value> {
        let said = self.cluster.command(CommandTarget::Monitor, &command.to_string(), &[])?;
        Ok(serde_json::from_slice(&said).unwrap_or(Value::Null))
    }

    fn set(&self, pool: &str, name: &str, value: &str) -> Result<()> {
        self.ask(json!({ "prefix": "osd pool set", "pool": pool, "var": name, "val": value }))?;
        Ok(())
    }

    fn check(&self, new: &NewPool) -> Result<()> {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_".contains(sign);
        ensure!(
            !new.name.is_empty() && new.name.chars().all(is_plain),
            "`{}` is no name for a pool; use letters, digits, - and _",
            new.name
        );
        let names = self.ask(json!({ "prefix": "osd pool ls", "format": "json" }))?;
        let there =
            |pool: &String| names.as_array().is_some_and(|all| all.iter().any(|name| name == pool));
        let taken = new.pools().into_iter().find(there);
        ensure!(
            taken.is_none(),
            "there is a pool {} already; give another name",
            taken.unwrap_or_default()
        );
        let stores = self.ask(json!({ "prefix": "osd stat", "format": "json" }))?;
        let stores = stores["num_in_osds"].as_u64().unwrap_or(0);
        let needed = new.protection.stores();
        ensure!(
            stores >= needed.into(),
            "{} takes {needed} stores, and the cluster has {stores}; start it with --stores \
             {needed}, or protect with less",
            new.protection
        );
        Ok(())
    }

    fn make(&self, new: &NewPool) -> Result<()> {
        let copies = copies_of_metadata(new.protection);
        self.make_replicated(&new.name, copies)?;
        let data_pool = new.data_pool();
        if let Protection::ErasureCoded { data, coding } = new.protection {
            self.make_erasure_coded(&data_pool, data, coding)?;
            let io = PoolIo::open(self.cluster, &new.name)?;
            io.set_metadata(DATA_POOL_KEY, &data_pool)?;
        }
        if let Some(PoolCompression { mode, algorithm }) = new.compression {
            self.set(&data_pool, "compression_algorithm", algorithm.word())?;
            self.set(&data_pool, "compression_mode", mode.word())?;
        }
        if let Some(bytes) = new.quota_bytes {
            self.ask(json!({
                "prefix": "osd pool set-quota",
                "pool": data_pool,
                "field": "max_bytes",
                "val": bytes.to_string(),
            }))?;
        }
        Ok(())
    }

    fn make_replicated(&self, pool: &str, copies: u16) -> Result<()> {
        self.ask(json!({
            "prefix": "osd pool create",
            "pool": pool,
            "pg_num": GROUPS,
            "pgp_num": GROUPS,
            "pool_type": "replicated",
        }))?;
        self.set(pool, "size", &copies.to_string())?;
        // With one copy lost, the pool still accepts writes.
        self.set(pool, "min_size", &(copies - 1).to_string())?;
        self.enable(pool)
    }

    fn make_erasure_coded(&self, pool: &str, data: u16, coding: u16) -> Result<()> {
        let profile = format!("assay-{data}-{coding}");
        let parts = [format!("k={data}"), format!("m={coding}"), "crush-failure-domain=osd".into()];
        self.ask(json!({
            "prefix": "osd erasure-code-profile set",
            "name": profile,
            "profile": parts,
        }))?;
        self.ask(json!({
            "prefix": "osd pool create",
            "pool": pool,
            "pg_num": GROUPS,
            "pgp_num": GROUPS,
            "pool_type": "erasure",
            "erasure_code_profile": profile,
        }))?;
        self.set(pool, "allow_ec_overwrites", "true")?;
        self.enable(pool)
    }

    fn enable(&self, pool: &str) -> Result<()> {
        let command =
            json!({ "prefix": "osd pool application enable", "pool": pool, "app": "rbd" });
        self.ask(command).map(drop)
    }

    /// Removes a pool that was made in vain.
    fn delete(&self, pool: &str) {
        if let Err(error) = self.try_delete(pool) {
            log::warn!("the pool {pool} is left: {error:#}");
        }
    }

    fn try_delete(&self, pool: &str) -> Result<()> {
        let deleted = self.ask(json!({
            "prefix": "osd pool delete",
            "pool": pool,
            "pool2": pool,
            "yes_i_really_really_mean_it": true,
        }));
        deleted.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_cluster_tells_that_is_kept_which_a_plan_can_ask_for() {
        let told = json!({ "pool": "a", "size": 2, "pg_num": 16, "compression_mode": "force" });
        let kept: Vec<(String, String)> = kept(&told).into_iter().collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(kept, [pair("compression_mode", "force"), pair("size", "2")]);
    }

    #[test]
    fn metadata_bear_the_loss_of_as_many_stores_as_data() {
        let copies = |text: &str| copies_of_metadata(text.parse().unwrap());
        assert_eq!([copies("2"), copies("3"), copies("2+1"), copies("4+2")], [2, 3, 2, 3]);
    }
}
