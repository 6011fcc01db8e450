//! The pool under the data: counters of its cluster, read over a connection of the monitor. They
//! are a few seconds old.

use anyhow::Result;
use assay_pool::{Watched, watch};
use assay_ports::rbd::Cluster;

use super::probe::{Notes, Probe};
use super::sheet::{Field, Sheet};
use crate::rig::pool::PoolTarget;
use assay_study::Unmonitored;
use assay_study::metrics::metric;

pub(super) struct PoolProbe {
    sheet: Sheet,
    cluster: Cluster,
    data_pool: String,
    fields: Fields,
}

struct Fields {
    stores_up: Field,
    degraded: Field,
    recovery: Field,
    stored: Field,
    used: Field,
    compressed_from: Field,
    compressed_to: Field,
    commit: Field,
    stores: Vec<(u64, Field)>,
}

impl PoolProbe {
    /// Connects and lists the stores.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub(super) fn open(target: &PoolTarget) -> Result<PoolProbe> {
        let cluster = Cluster::connect(&target.access)?;
        let first = watch(&cluster, &target.data_pool)?;
        let stores: Vec<u64> = first.commit_latency_ms.iter().map(|(store, _)| *store).collect();
        let (sheet, fields) = declare(&stores);
        Ok(PoolProbe { sheet, cluster, data_pool: target.data_pool.clone(), fields })
    }
}

fn declare(stores: &[u64]) -> (Sheet, Fields) {
    let mut sheet = Sheet::default();
    let fields = Fields {
        stores_up: sheet.gauge(metric!("pool_stores_up"), ""),
        degraded: sheet.gauge(metric!("pool_degraded_percent"), ""),
        recovery: sheet.gauge(metric!("pool_recovery_bytes_per_s"), ""),
        stored: sheet.gauge(metric!("pool_stored_bytes"), ""),
        used: sheet.gauge(metric!("pool_used_bytes"), ""),
        compressed_from: sheet.gauge(metric!("pool_compressed_from_bytes"), ""),
        compressed_to: sheet.gauge(metric!("pool_compressed_to_bytes"), ""),
        commit: sheet.gauge(metric!("pool_commit_latency_ms"), ""),
        stores: stores
            .iter()
            .map(|store| {
                let metric = metric!("pool_store{}_commit_latency_ms");
                (*store, sheet.gauge(metric, &store.to_string()))
            })
            .collect(),
    };
    (sheet, fields)
}

impl Fields {
    fn fill(&self, pool: &Watched, reading: &mut [f64]) {
        reading[self.stores_up] = pool.stores_up as f64;
        reading[self.degraded] = pool.degraded_share * 100.0;
        reading[self.recovery] = pool.recovery_bytes_per_s as f64;
        reading[self.stored] = pool.stored_bytes as f64;
        reading[self.used] = pool.used_bytes as f64;
        reading[self.compressed_from] = pool.compressed_from_bytes as f64;
        reading[self.compressed_to] = pool.compressed_to_bytes as f64;
        let told = &pool.commit_latency_ms;
        let sum: f64 = told.iter().map(|(_, ms)| ms).sum();
        reading[self.commit] = sum / told.len() as f64;
        for (store, field) in &self.stores {
            let its = told.iter().find(|(number, _)| number == store);
            reading[*field] = its.map_or(f64::NAN, |(_, ms)| *ms);
        }
    }
}

impl Probe for PoolProbe {
    fn sheet(&self) -> &Sheet {
        &self.sheet
    }

    fn read(&mut self, reading: &mut [f64], notes: &mut Notes) {
        match watch(&self.cluster, &self.data_pool) {
            Ok(pool) => self.fields.fill(&pool, reading),
            Err(error) => notes.unmonitored(Unmonitored::Pool { error: format!("{error:#}") }),
        }
    }
}

#[cfg(test)]
pub(super) fn whole_sheet() -> Sheet {
    declare(&[0]).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_does_not_tell_is_a_gap_and_no_part_of_the_mean() {
        let pool = Watched {
            stores_up: 2,
            degraded_share: 0.25,
            recovery_bytes_per_s: 0,
            is_clean: false,
            stored_bytes: 100,
            used_bytes: 150,
            compressed_from_bytes: 0,
            compressed_to_bytes: 0,
            commit_latency_ms: vec![(0, 2.0), (2, 4.0)],
        };
        let (sheet, fields) = declare(&[0, 1, 2]);
        let mut reading = sheet.blank();
        fields.fill(&pool, &mut reading);
        assert_eq!((reading[fields.commit], reading[fields.degraded]), (3.0, 25.0));
        let of_stores: Vec<f64> = fields.stores.iter().map(|(_, field)| reading[*field]).collect();
        assert!(of_stores[0] == 2.0 && of_stores[1].is_nan() && of_stores[2] == 4.0);
        let names: Vec<&str> = sheet.infos().map(|info| info.name.as_str()).collect();
        assert!(names.contains(&"pool_store1_commit_latency_ms"), "{names:?}");
    }
}
