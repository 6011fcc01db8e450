//! Reads a cluster's condition: its stores, its pools, and outstanding recovery, all from Ceph's
//! own figures.

use anyhow::Result;
use assay_ports::rbd::{Cluster, CommandTarget};
use serde::Serialize;
use serde_json::{Value, json};

/// The condition of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClusterFigures {
    /// Ceph's own word: `HEALTH_OK`, `HEALTH_WARN`, `HEALTH_ERR`.
    pub health: String,
    /// Ceph's complaints, a line each.
    pub problems: Vec<String>,
    /// True if every object has all its copies or chunks where they belong.
    pub clean: bool,
    /// Missing copies and chunks of objects.
    pub degraded_objects: u64,
    /// Share of all copies and chunks that is missing, from 0 to 1.
    pub degraded_share: f64,
    pub recovery_bytes_per_s: u64,
    /// Capacity of all stores.
    pub total_bytes: u64,
    pub used_bytes: u64,
    /// Ordered by number.
    pub stores: Vec<StoreFigures>,
    /// Ordered by name.
    pub pools: Vec<PoolFigures>,
}

/// An object store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreFigures {
    pub store: u64,
    /// True if the store answers.
    pub up: bool,
    /// True if the store takes part in data placement.
    pub r#in: bool,
    /// Capacity.
    pub total_bytes: u64,
    pub used_bytes: u64,
    /// Latency of its last commit in milliseconds; `None` if not reported.
    pub commit_latency_ms: Option<f64>,
}

/// A pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolFigures {
    pub pool: String,
    /// `replicated` or `erasure`.
    pub kind: String,
    /// Copies or chunks of each object.
    pub size: u64,
    /// Smallest number of copies or chunks with which the pool accepts writes.
    pub min_size: u64,
    /// `None` if data are not compressed.
    pub compression: Option<String>,
    /// Number of objects.
    pub objects: u64,
    /// Bytes stored by clients.
    pub stored_bytes: u64,
    /// Space on all stores.
    pub used_bytes: u64,
    /// Size before compression of the compressed data on all stores.
    pub compressed_from_bytes: u64,
    /// Size after compression of the same data.
    pub compressed_to_bytes: u64,
    /// `None` if there is no limit.
    pub quota_bytes: Option<u64>,
    /// Bytes that clients could still store.
    pub free_bytes: u64,
}

/// Asks the cluster for all figures.
pub fn ask(cluster: &Cluster) -> Result<ClusterFigures> {
    let asked = |target, command: Value| -> Result<Value> {
        let said = cluster.command(target, &command.to_string(), &[])?;
        Ok(serde_json::from_slice(&said)?)
    };
    let status = asked(CommandTarget::Monitor, json!({ "prefix": "status", "format": "json" }))?;
    let map = asked(CommandTarget::Monitor, json!({ "prefix": "osd dump", "format": "json" }))?;
    let space = asked(
        CommandTarget::Monitor,
        json!({ "prefix": "df", "detail": "detail", "format": "json" }),
    )?;
    // If the manager is down, the other figures are still available.
    let from_manager = |prefix: &str| {
        let command = json!({ "prefix": prefix, "format": "json" });
        asked(CommandTarget::Manager, command).unwrap_or_else(|error| {
            log::debug!("{error:#}");
            Value::Null
        })
    };
    let (stores, latency) = (from_manager("osd df"), from_manager("osd perf"));
    Ok(figures(&status, &map, &space, &stores, &latency))
}

fn figures(
    status: &Value,
    map: &Value,
    space: &Value,
    stores: &Value,
    latency: &Value,
) -> ClusterFigures {
    let groups = &status["pgmap"];
    let checks = status["health"]["checks"].as_object();
    let problems = checks
        .into_iter()
        .flatten()
        .filter_map(|(_, check)| Some(check["summary"]["message"].as_str()?.to_owned()));
    ClusterFigures {
        health: text(&status["health"]["status"]),
        problems: problems.collect(),
        clean: is_clean(status),
        degraded_objects: number(&groups["degraded_objects"]),
        degraded_share: groups["degraded_ratio"].as_f64().unwrap_or(0.0),
        recovery_bytes_per_s: number(&groups["recovering_bytes_per_sec"]),
        total_bytes: number(&groups["bytes_total"]),
        used_bytes: number(&groups["bytes_used"]),
        stores: list(&map["osds"]).iter().map(|entry| store(entry, stores, latency)).collect(),
        pools: list(&map["pools"]).iter().map(|entry| pool(entry, space)).collect(),
    }
}

/// Returns true if every object has all its copies or chunks where they belong.
pub(crate) fn is_clean(status: &Value) -> bool {
    let groups = &status["pgmap"];
    let is_clean = |state: &Value| {
        let words: Vec<&str> =
            state["state_name"].as_str().unwrap_or_default().split('+').collect();
        // Scrubbing checks clean data.
        words.contains(&"active") && words.contains(&"clean")
    };
    number(&groups["degraded_objects"]) == 0 && list(&groups["pgs_by_state"]).iter().all(is_clean)
}

/// The entries of `osd perf`, one per store.
pub(crate) fn latencies_of(latency: &Value) -> &Value {
    // Ceph 14 and later nest them.
    match &latency["osdstats"] {
        Value::Null => &latency["osd_perf_infos"],
        nested => &nested["osd_perf_infos"],
    }
}

fn store(entry: &Value, stores: &Value, latency: &Value) -> StoreFigures {
    let id = number(&entry["osd"]);
    let nobody = Value::Null;
    let of = |all: &'_ Value| -> Value {
        list(all).iter().find(|other| number(&other["id"]) == id).unwrap_or(&nobody).clone()
    };
    let space = of(&stores["nodes"]);
    StoreFigures {
        store: id,
        up: number(&entry["up"]) == 1,
        r#in: number(&entry["in"]) == 1,
        total_bytes: number(&space["kb"]) << 10,
        used_bytes: number(&space["kb_used"]) << 10,
        commit_latency_ms: of(latencies_of(latency))["perf_stats"]["commit_latency_ms"].as_f64(),
    }
}

fn pool(entry: &Value, space: &Value) -> PoolFigures {
    let name = text(&entry["pool_name"]);
    let found = list(&space["pools"]).iter().find(|other| other["name"] == name.as_str());
    let stats = found.map_or(Value::Null, |pool| pool["stats"].clone());
    let option = |key: &str| entry["options"][key].as_str();
    let compression = option("compression_mode").filter(|mode| *mode != "none").map(|mode| {
        option("compression_algorithm").map_or(mode.into(), |with| format!("{mode}, {with}"))
    });
    PoolFigures {
        // `TYPE_REPLICATED` and `TYPE_ERASURE` (Ceph's `osd_types.h`).
        kind: match number(&entry["type"]) {
            3 => "erasure".into(),
            _ => "replicated".into(),
        },
        size: number(&entry["size"]),
        min_size: number(&entry["min_size"]),
        compression,
        objects: number(&stats["objects"]),
        stored_bytes: number(&stats["stored"]),
        used_bytes: number(&stats["bytes_used"]),
        compressed_from_bytes: number(&stats["compress_under_bytes"]),
        compressed_to_bytes: number(&stats["compress_bytes_used"]),
        quota_bytes: Some(number(&entry["quota_max_bytes"])).filter(|bytes| *bytes > 0),
        free_bytes: number(&stats["max_avail"]),
        pool: name,
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_lost_a_store_is_not_clean_and_one_that_is_scrubbed_is() {
        let status = |state: &str, degraded: u64| {
            json!({
                "health": { "status": "HEALTH_WARN", "checks": {
                    "OSD_DOWN": { "summary": { "message": "1 osds down" } },
                } },
                "pgmap": {
                    "pgs_by_state": [{ "state_name": state, "count": 16 }],
                    "degraded_objects": degraded,
                    "degraded_ratio": 0.34,
                },
            })
        };
        let told = |status: &Value| {
            figures(status, &Value::Null, &Value::Null, &Value::Null, &Value::Null)
        };
        let lost = told(&status("active+undersized+degraded", 34));
        assert!(!lost.clean && lost.problems == ["1 osds down"] && lost.degraded_share > 0.3);
        assert!(told(&status("active+clean+scrubbing+deep", 0)).clean);
        assert!(!told(&status("active+clean", 1)).clean);
        assert!(!told(&status("creating+peering", 0)).clean);
    }

    #[test]
    fn stores_and_pools_get_their_figures_from_where_ceph_has_them() {
        let map = json!({
            "osds": [{ "osd": 0, "up": 1, "in": 1 }, { "osd": 1, "up": 0, "in": 1 }],
            "pools": [{
                "pool_name": "rep", "type": 1, "size": 2, "min_size": 1, "quota_max_bytes": 0,
                "options": { "compression_mode": "force", "compression_algorithm": "zstd" },
            }],
        });
        let space = json!({ "pools": [{ "name": "rep", "stats": {
            "stored": 100, "bytes_used": 120, "objects": 3, "max_avail": 7,
            "compress_under_bytes": 200, "compress_bytes_used": 50,
        } }] });
        let stores = json!({ "nodes": [{ "id": 1, "kb": 4, "kb_used": 2 }] });
        let latency = json!({ "osdstats": { "osd_perf_infos": [
            { "id": 0, "perf_stats": { "commit_latency_ms": 1.5 } },
        ] } });
        let told = figures(&json!({}), &map, &space, &stores, &latency);
        assert_eq!(told.stores[0].commit_latency_ms, Some(1.5));
        assert!(told.stores[0].up && !told.stores[1].up);
        assert_eq!((told.stores[1].total_bytes, told.stores[1].used_bytes), (4096, 2048));
        let pool = &told.pools[0];
        assert_eq!((pool.stored_bytes, pool.used_bytes, pool.free_bytes), (100, 120, 7));
        assert_eq!((pool.compressed_from_bytes, pool.compressed_to_bytes), (200, 50));
        assert_eq!(pool.compression.as_deref(), Some("force, zstd"));
        assert_eq!((pool.kind.as_str(), pool.quota_bytes), ("replicated", None));
    }
}
