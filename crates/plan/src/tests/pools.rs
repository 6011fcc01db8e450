//! Pools, their stores, and several servers: what a plan may ask of them, and what no plan may.

use super::*;
use assay_base::protection::{CompressionAlgorithm, CompressionMode, Protection};

/// The plan with this rig, these phases in the place of its seconds, and more of its configuration.
fn with(pool: &str, phases: &str, more: &str) -> String {
    let seconds = if phases.is_empty() { "seconds = 10" } else { "" };
    format!(
        "title = \"t\"\nthreads = [2]\n{seconds}\nnoise_floor = false\n[rig]\nkind = \"pool\"\n\
         pool = {{ size = \"2G\"{pool} }}\n{phases}\n[workloads.w]\nrecipe = \"oltp_read_write\"\n\
         [workloads.noise]\nrecipe = \"oltp_write_only\"\n[configs.a]\n{more}"
    )
}

fn refused(text: &str) -> String {
    format!("{:#}", Plan::parse(text).unwrap_err())
}

#[test]
fn a_pool_is_private_unless_a_cluster_is_named() {
    let plan = |pool: &str| Plan::parse(&with(pool, "", "")).unwrap();
    let of = |plan: &Plan| PlannedPool::of(plan.rig.pool.as_ref().unwrap()).unwrap();
    let pool = of(&plan(""));
    let pool = pool.private().unwrap();
    assert_eq!((pool.protection, pool.compression), (Protection::Replicated { copies: 2 }, None));
    assert_eq!((pool.cluster.stores, pool.cluster.store_size), (3, Size(10 << 30)));
    let wide =
        of(&plan(", protect = \"4+2\", compression = \"force\", compression_algorithm = \"lz4\""));
    let wide = wide.private().unwrap();
    assert_eq!(wide.cluster.stores, 6, "as many as its parts take");
    let compressed = wide.compression.unwrap();
    assert_eq!(compressed.mode, CompressionMode::Force);
    assert_eq!(compressed.algorithm, CompressionAlgorithm::Lz4);
    let theirs = plan(", ceph_conf = \"/c\", ceph_user = \"me\", name = \"db\"");
    let PoolPlace::Existing { user, pool, .. } = of(&theirs).place else { panic!("it is there") };
    assert_eq!((user.as_deref(), pool.as_str()), (Some("me"), "db"));
    // Written out again it is the same plan.
    assert_eq!(Plan::parse(&toml::to_string(&theirs).unwrap()).unwrap(), theirs);
}

#[test]
fn keys_of_a_pool_that_do_not_go_together_are_refused() {
    for (pool, says) in [
        (
            ", protect = \"4+2\", stores = 3",
            "erasure-coded 4+2 takes 6 stores, and the cluster has 3",
        ),
        (", protect = 5", "neither a number of copies"),
        (", compression_algorithm = \"lz4\"", "compression_algorithm needs compression"),
        (", ceph_conf = \"/c\"", "needs both ceph_conf and name"),
        (", ceph_user = \"me\"", "ceph_user asks an existing cluster"),
        (
            ", ceph_conf = \"/c\", name = \"db\", protect = 2",
            "protect is for pools that are made for the study, and db is there",
        ),
        (", image_iops = 0", "image_iops is 0"),
    ] {
        let line = refused(&with(pool, "", ""));
        assert!(line.contains(says), "{line}");
    }
    let small = with("", "", "").replace("2G", "100M");
    assert!(refused(&small).contains("give pool.size = \"512M\" or more"), "{}", refused(&small));
    let both =
        with("", "", "rig = { kind = \"drive\", capacity = \"1G\", pool = { size = \"1G\" } }\n");
    assert!(refused(&both).contains("keep one of capacity, pool"), "{}", refused(&both));
}

#[test]
fn stores_die_and_return_only_where_there_are_any_and_writing_goes_on() {
    let phase = |name: &str, happening: &str| {
        format!("[[phases]]\nname = \"{name}\"\nseconds = 1\nhappening = {{ {happening} = 1 }}\n")
    };
    let (kill, back) = (phase("lost", "kill_store"), phase("back", "return_store"));
    assert!(Plan::parse(&with("", &(kill.clone() + &back), "")).is_ok());
    let other = kill.replace("lost", "other").replace("= 1 }", "= 2 }");
    for (pool, phases, more, says) in [
        ("", back.clone(), "", "phase `back`: store 1 is not down by then"),
        (
            "",
            kill.clone() + &other,
            "",
            "2 stores would be down, but with 2 copies writes continue with at most 1 down",
        ),
        (
            "",
            kill.replace("= 1 }", "= 3 }"),
            "",
            "there is no store 3; they are numbered from 0 to 2",
        ),
        (
            ", ceph_conf = \"/c\", name = \"db\"",
            kill.clone(),
            "",
            "there is no private pool below this one",
        ),
        (
            "",
            kill.clone(),
            "[configs.b]\nrig = { kind = \"directory\" }\n",
            "configuration `b`: a phase kills",
        ),
    ] {
        let line = refused(&with(pool, &phases, more));
        assert!(line.contains(says), "{line}");
    }
    // With two parts more than needed a second store may go.
    let wide = with(", protect = \"4+3\"", &(kill + &other), "");
    assert!(Plan::parse(&wide).is_ok());
}

#[test]
fn several_servers_and_a_neighbour_are_part_of_what_a_run_is_made_under() {
    let noisy = "servers = 3\nneighbour = { workload = \"noise\", threads = 8 }\n";
    let plan = Plan::parse(&with("", "", noisy)).unwrap();
    assert_eq!(plan.servers_of("a"), 3);
    let runs = trials(&plan);
    assert_eq!(runs.len(), 1, "a neighbour's workload is not run by itself");
    let print =
        |more: &str| trials(&Plan::parse(&with("", "", more)).unwrap())[0].fingerprint.clone();
    let (one, three) = (print(""), print("servers = 3\n"));
    assert_eq!(print("servers = 1\n"), one);
    assert!(one != three && three != print(noisy));
    assert_ne!(print(noisy), print(&noisy.replace('8', "9")));
}

#[test]
fn servers_that_cannot_be_are_refused() {
    for (more, says) in [
        ("servers = 0\n", "servers is 0; give from 1 to 64"),
        ("neighbour = { workload = \"noise\" }\n", "give servers = 2 or more"),
        ("servers = 2\nneighbour = { workload = \"nose\" }\n", "nose"),
        ("servers = 2\nneighbour = { workload = \"noise\", rate = 0 }\n", "rate is 0"),
        (
            "servers = 2\nrig = { kind = \"device\", device = \"/dev/x\" }\n",
            "the rig has one device",
        ),
    ] {
        let line = refused(&with("", "", more));
        assert!(line.contains(says), "{line}");
    }
    let steady = with("", "", "servers = 2\n")
        .replace("seconds = 10", "seconds = 10\nwarmup_seconds = 5\nwarmup_until_steady = true");
    assert!(refused(&steady).contains("all are measured in one window"), "{}", refused(&steady));
    let every = with("", "", "servers = 2\nneighbour = { workload = \"w\" }\n")
        .replace("[workloads.noise]\nrecipe = \"oltp_write_only\"\n", "");
    assert!(refused(&every).contains("none is run by itself"), "{}", refused(&every));
}
