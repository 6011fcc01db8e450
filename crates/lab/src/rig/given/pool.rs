//! Options of a pool and of its images as they were asked for, against those that the cluster
//! tells.

use std::collections::BTreeMap;

use assay_base::protection::Protection;
use assay_plan::{PlannedPool, PrivatePool};
use assay_study::{Asked, Differing};

use super::super::pool::{BYTES_LIMIT, IOPS_LIMIT};

/// Every option that differs from the plan's; none of a pool that was there, or if the cluster
/// reported nothing.
pub(super) fn differing(pool: &PlannedPool, told: &BTreeMap<String, String>) -> Vec<Differing> {
    let Some(pool) = pool.private().filter(|_| !told.is_empty()) else { return Vec::new() };
    let of_one = |(name, asked): (&str, String)| {
        let effective = told.get(name);
        (effective != Some(&asked)).then(|| {
            let effective = effective.map(|effective| format!("{name} = {effective}"));
            Differing::new(Asked::PoolOption, format!("{name} = {asked}"), effective)
        })
    };
    asked(pool).into_iter().filter_map(of_one).collect()
}

/// The asked options, by Ceph's names.
fn asked(pool: &PrivatePool) -> Vec<(&'static str, String)> {
    let mut all = match pool.protection {
        Protection::Replicated { copies } => vec![("size", copies.to_string())],
        Protection::ErasureCoded { data, coding } => {
            vec![("k", data.to_string()), ("m", coding.to_string())]
        }
    };
    if let Some(compression) = pool.compression {
        all.push(("compression_mode", compression.mode.word().to_owned()));
        all.push(("compression_algorithm", compression.algorithm.word().to_owned()));
    }
    all.extend(pool.image_iops.map(|most| (IOPS_LIMIT, most.to_string())));
    all.extend(pool.image_bytes_per_s.map(|most| (BYTES_LIMIT, most.0.to_string())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::planned_rig;

    #[test]
    fn a_pool_is_as_asked_where_the_cluster_says_so() {
        let rig = planned_rig(
            "kind = \"pool\"\n\
             pool = { size = \"2G\", protect = \"2+1\", compression = \"force\", image_iops = \
                 500 }",
        );
        let spec = rig.pool().unwrap();
        let told = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        let mut all = told(&[
            ("k", "2"),
            ("m", "1"),
            ("min_size", "2"),
            ("compression_mode", "force"),
            ("compression_algorithm", "zstd"),
            (IOPS_LIMIT, "500"),
        ]);
        assert_eq!(differing(spec, &all), []);
        all.insert("compression_mode".into(), "none".into());
        all.remove(IOPS_LIMIT);
        let differs = |asked: &str, effective: Option<&str>| {
            Differing::new(Asked::PoolOption, asked, effective.map(str::to_owned))
        };
        assert_eq!(
            differing(spec, &all),
            [
                differs("compression_mode = force", Some("compression_mode = none")),
                differs("rbd_qos_iops_limit = 500", None)
            ]
        );
        assert_eq!(differing(spec, &BTreeMap::new()), [], "nothing was told");
    }
}
