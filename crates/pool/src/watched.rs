//! Samples a pool while a load runs on it, with few requests, so that sampling every second costs
//! little.
//!
//! The figures are Ceph's own: its manager gathers them every few seconds, so that several samples
//! in a row are equal.

use anyhow::Result;
use assay_ports::rbd::{Cluster, CommandTarget};
use serde_json::{Value, json};

use super::figures::{is_clean, latencies_of};

/// The condition of a pool and of its stores.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Number of stores that answer.
    pub stores_up: u64,
    /// Share of all copies and chunks of objects that is missing, from 0 to 1.
    pub degraded_share: f64,
    pub recovery_bytes_per_s: u64,
    /// True if every object has all its copies or chunks where they belong.
    pub is_clean: bool,
    /// Bytes that clients have stored in the pool.
    pub stored_bytes: u64,
    /// Space on all stores.
    pub used_bytes: u64,
    /// Size before compression of the compressed data on all stores.
    pub compressed_from_bytes: u64,
    /// Size after compression of the same data.
    pub compressed_to_bytes: u64,
    /// Number and last commit latency in milliseconds of each store that reports it.
    pub commit_latency_ms: Vec<(u64, f64)>,
}

/// Samples the pool that holds the data.
pub fn watch(cluster: &Cluster, data_pool: &str) -> Result<Watched> {
    let asked = |target, prefix: &str| -> Result<Value> {
        let command = json!({ "prefix": prefix, "detail": "detail", "format": "json" });
        Ok(serde_json::from_slice(&cluster.command(target, &command.to_string(), &[])?)?)
    };
    let status = asked(CommandTarget::Monitor, "status")?;
    let space = asked(CommandTarget::Monitor, "df")?;
    let latency = asked(CommandTarget::Manager, "osd perf").unwrap_or(Value::Null);
    Ok(watched(&status, &space, &latency, data_pool))
}

fn watched(status: &Value, space: &Value, latency: &Value, data_pool: &str) -> Watched {
    let (groups, map) = (&status["pgmap"], &status["osdmap"]);
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let pools = space["pools"].as_array();
    let mut pools = pools.into_iter().flatten();
    let stats = pools.find(|pool| pool["name"] == data_pool).map(|pool| &pool["stats"]);
    let stat = |key: &str| stats.map_or(0, |stats| number(&stats[key]));
    Watched {
        // Ceph 14 and earlier nest it once more.
        stores_up: number(match &map["num_up_osds"] {
            Value::Null => &map["osdmap"]["num_up_osds"],
            flat => flat,
        }),
        degraded_share: groups["degraded_ratio"].as_f64().unwrap_or(0.0),
        recovery_bytes_per_s: number(&groups["recovering_bytes_per_sec"]),
        is_clean: is_clean(status),
        stored_bytes: stat("stored"),
        used_bytes: stat("bytes_used"),
        compressed_from_bytes: stat("compress_under_bytes"),
        compressed_to_bytes: stat("compress_bytes_used"),
        commit_latency_ms: latencies(latency),
    }
}

fn latencies(latency: &Value) -> Vec<(u64, f64)> {
    let stores = latencies_of(latency).as_array();
    let of_one =
        |one: &Value| Some((one["id"].as_u64()?, one["perf_stats"]["commit_latency_ms"].as_f64()?));
    stores.into_iter().flatten().filter_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_the_pool_that_keeps_the_data() {
        let status = json!({
            "osdmap": { "num_up_osds": 2 },
            "pgmap": {
                "pgs_by_state": [{ "state_name": "active+undersized+degraded", "count": 16 }],
                "degraded_objects": 12, "degraded_ratio": 0.25, "recovering_bytes_per_sec": 4096,
            },
        });
        let space = json!({ "pools": [
            { "name": "a", "stats": { "stored": 1, "bytes_used": 1 } },
            { "name": "a.data", "stats": {
                "stored": 100, "bytes_used": 150, "compress_under_bytes": 80,
                "compress_bytes_used": 40,
            } },
        ] });
        let latency = json!({ "osdstats": { "osd_perf_infos": [
            { "id": 0, "perf_stats": { "commit_latency_ms": 2 } },
            { "id": 2, "perf_stats": { "commit_latency_ms": 4 } },
        ] } });
        let told = watched(&status, &space, &latency, "a.data");
        assert_eq!((told.stores_up, told.degraded_share, told.is_clean), (2, 0.25, false));
        assert_eq!((told.stored_bytes, told.used_bytes), (100, 150));
        assert_eq!((told.compressed_from_bytes, told.compressed_to_bytes), (80, 40));
        assert_eq!(told.commit_latency_ms, [(0, 2.0), (2, 4.0)]);
        assert_eq!(watched(&status, &space, &Value::Null, "b").stored_bytes, 0);
    }
}
