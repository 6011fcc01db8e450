//! Options of a pool and of its images as they were asked for, against those that the cluster tells.

use std::collections::BTreeMap;

use assay_base::protection::Protection;
use assay_plan::PoolSpec;
use assay_study::{Asked, Differing};

use super::super::pool::{BYTES_LIMIT, IOPS_LIMIT};

/// Every option that is not as it was asked for; none where the cluster told nothing.
pub(super) fn differing(spec: &PoolSpec, told: &BTreeMap<String, String>) -> Vec<Differing> {
    if told.is_empty() {
        return Vec::new();
    }
    let of_one = |(name, asked): (&str, String)| {
        let effective = told.get(name);
        (effective != Some(&asked)).then(|| {
            let effective = effective.map(|effective| format!("{name} = {effective}"));
            Differing::new(Asked::PoolOption, format!("{name} = {asked}"), effective)
        })
    };
    asked(spec).into_iter().filter_map(of_one).collect()
}

/// By Ceph's names.
fn asked(spec: &PoolSpec) -> Vec<(&'static str, String)> {
    let mut all = match spec.protection() {
        Protection::Replicated { copies } => vec![("size", copies.to_string())],
        Protection::ErasureCoded { data, coding } => {
            vec![("k", data.to_string()), ("m", coding.to_string())]
        }
    };
    if let Some(compression) = spec.compressed() {
        all.push(("compression_mode", compression.mode.word().to_owned()));
        all.push(("compression_algorithm", compression.algorithm.word().to_owned()));
    }
    all.extend(spec.image_iops.map(|most| (IOPS_LIMIT, most.to_string())));
    all.extend(spec.image_bytes_per_s.map(|most| (BYTES_LIMIT, most.0.to_string())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_plan::Plan;

    #[test]
    fn a_pool_is_as_asked_where_the_cluster_says_so() {
        let plan = Plan::parse(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n[rig]\nkind = \"pool\"\n\
             pool = { size = \"2G\", protect = \"2+1\", compression = \"force\", image_iops = 500 }\n\
             [workloads.w]\nrecipe = \"oltp_read_only\"\n[configs.a]\n",
        );
        let spec = plan.unwrap().rig.pool.unwrap();
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
        assert_eq!(differing(&spec, &all), []);
        all.insert("compression_mode".into(), "none".into());
        all.remove(IOPS_LIMIT);
        let differs = |asked: &str, effective: Option<&str>| {
            Differing::new(Asked::PoolOption, asked, effective.map(str::to_owned))
        };
        assert_eq!(
            differing(&spec, &all),
            [
                differs("compression_mode = force", Some("compression_mode = none")),
                differs("rbd_qos_iops_limit = 500", None)
            ]
        );
        assert_eq!(differing(&spec, &BTreeMap::new()), [], "nothing was told");
    }
}
