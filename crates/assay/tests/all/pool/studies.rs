//! Tests studies on pools: a private cluster that loses a store under servers that share it, and an
//! existing pool, in which nothing is left.

use std::path::PathBuf;
use std::time::Instant;

use assay_ports::child::Process;
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, has_server};
use crate::drives::has_drives;
use crate::pool::cluster::{Cluster, PATIENCE, cluster, has_ceph, turn};
use crate::runs::{server_under_load, start_run};

/// Head of all plans here.
const HEAD: &str = r#"
title = "on pools"
threads = [2]
warmup_seconds = 1
noise_floor = false
extra_runs = 0
[data]
table_size = 2000
[settings]
innodb_buffer_pool_size = "16M"
innodb_flush_method = "O_DIRECT"
skip_log_bin = true
[workloads.w]
recipe = "oltp_read_write"
"#;

fn results(study: &Connection, run: i64) -> std::collections::BTreeMap<String, f64> {
    let mut rows = study.prepare("SELECT name, value FROM results WHERE run_id = ?1").unwrap();
    let rows = rows.query_map([run], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Runs a study of these phases and configurations on a private cluster; `None`, with a SKIPPED
/// line, if the machine cannot. Asserts that the study leaves nothing behind.
fn ran_on_a_private_pool(more: &str) -> Option<(World, Connection)> {
    if !has_server() || !has_drives() || !has_ceph() {
        return None;
    }
    // Two busy clusters would slow each other down.
    let _turn = turn();
    let world = World::new();
    world.write("plan.toml", &format!("{HEAD}{more}"));
    let ran = world.run(&["run", "plan.toml", "--out", "study"]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
    assert_eq!(world.leftovers(), Vec::<String>::new());
    let left = std::fs::read_dir(world.path("state/writers")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "notes on images that are gone");
    let study = Connection::open(world.path("study/study.sqlite")).unwrap();
    Some((world, study))
}

#[test]
fn a_study_on_a_private_pool_is_monitored_and_reported_and_leaves_nothing() {
    let more = r#"
[[phases]]
name = "all"
seconds = 2
[configs.pool]
rig = { kind = "pool", file_system = "xfs", pool = { size = "1G" } }
"#;
    let Some((world, study)) = ran_on_a_private_pool(more) else { return };
    let figures = results(&study, 1);
    assert!(figures["tps"] > 0.0);
    assert_eq!(figures["pool_stores_up"], 3.0);
    assert!(figures["pool_used_ratio"] > 0.0 && figures["pool_cpu_percent"] > 1.0, "{figures:?}");
    let page = std::fs::read_to_string(world.path("study/report.html")).unwrap();
    let told = "RBD image of 1G on a private Ceph cluster of 3 stores on this machine: 2 copies";
    assert!(page.contains(told), "{told}");
}

#[test]
#[ignore = "in --full: a study on a private pool is shown once, by another test"]
fn a_private_pool_loses_a_store_under_two_servers_and_the_report_tells() {
    let more = r#"
[[phases]]
name = "calm"
seconds = 3
[[phases]]
name = "lost"
seconds = 6
happening = { kill_store = 1 }
[[phases]]
name = "back"
seconds = 12
happening = { return_store = 1 }
[configs.pool]
servers = 2
rig = { kind = "pool", file_system = "xfs", pool = { size = "1G", compression = "aggressive" } }
"#;
    let Some((world, study)) = ran_on_a_private_pool(more) else { return };
    let figures = results(&study, 1);
    let [stores, degraded] = ["pool_stores_up", "pool_degraded_percent"].map(|name| figures[name]);
    assert!((2.0..3.0).contains(&stores) && degraded > 0.0, "{stores} {degraded}");
    // Two copies, less what compression saves.
    let used = figures["pool_used_ratio"];
    assert!((0.3..2.0).contains(&used), "{used}");
    assert!(figures["pool_compressed_to_bytes"] < figures["pool_compressed_from_bytes"]);
    assert!(figures["pool_cpu_percent"] > 1.0);
    assert_eq!(figures["servers"], 2.0);

    let happened = "SELECT happened_json FROM phases WHERE name = ?1";
    let happened = |phase: &str| -> Value {
        let text: String = study.query_row(happened, [phase], |row| row.get(0)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (lost, back) = (happened("lost"), happened("back"));
    assert!(lost["ended_s"].is_number() && lost["error"].is_null(), "{lost}");
    assert!(back["error"].is_null(), "{back}");
    let each = "SELECT count(*) FROM servers WHERE json_extract(results_json, '$.tps') > 0";
    assert_eq!(study.query_row(each, [], |row| row.get::<_, i64>(0)).unwrap(), 2);

    let page = std::fs::read_to_string(world.path("study/report.html")).unwrap();
    for told in [
        "Pools in this study belong to a private Ceph cluster on the machine",
        "store 1 killed",
        "store 1 returned",
        "Several servers",
        "2 at once",
        "RBD image of 1G on a private Ceph cluster of 3 stores on this machine: 2 copies, \
         compression aggressive, zstd",
    ] {
        assert!(page.contains(told), "{told}");
    }
}

/// Path of the configuration file of the cluster that the tests share.
fn conf(cluster: &Cluster) -> PathBuf {
    let pools = std::fs::read_dir(cluster.path("state/pools")).unwrap();
    let confs = pools.map(|entry| entry.unwrap().path().join("ceph.conf"));
    confs.into_iter().find(|conf| conf.is_file()).unwrap()
}

fn images(cluster: &Cluster) -> Vec<String> {
    let listed = cluster.done(&["pool", "run", "rbd", "ls", "rep"]);
    listed.lines().filter(|line| line.starts_with("assay-")).map(str::to_owned).collect()
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_study_in_somebodys_pool_leaves_no_image_there_killed_or_not() {
    if !has_server() {
        return;
    }
    let Some(cluster) = cluster() else { return };
    let world = World::new();
    let plan = format!(
        r#"{HEAD}
[configs.pool]
rig = {{ kind = "pool", pool = {{ size = "1G", ceph_conf = "{}", name = "rep" }} }}
"#,
        conf(&cluster).display()
    );
    let with = |seconds: u32| plan.replacen("threads", &format!("seconds = {seconds}\nthreads"), 1);
    world.write("plan.toml", &with(2));
    let ran = world.run(&["run", "plan.toml", "--out", "done"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(images(&cluster), Vec::<String>::new());

    world.write("plan.toml", &with(600));
    let mut run = start_run(&world);
    server_under_load(&world, 1);
    assert_eq!(images(&cluster).len(), 1, "its image");
    run.kill().unwrap();
    run.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !world.servers().is_empty() {
        // Servers die with the run; unmounting waits for the process that serves the image.
        for (pid, _) in world.servers() {
            if let Some(process) = Process::open(pid).unwrap() {
                let _ = process.signal(Signal::KILL);
            }
        }
        assert!(Instant::now() < deadline, "{:?}", world.servers());
        std::thread::yield_now();
    }
    let clean = world.run(&["clean"]);
    let told = String::from_utf8_lossy(&clean.stdout).into_owned();
    assert!(told.contains("removed image rbd:rep/assay-"), "{clean:?}");
    assert_eq!(images(&cluster), Vec::<String>::new());
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// Asserts that a plan with this pool is refused with a line that contains `says`.
fn refused(pool: &str, says: &str) {
    let world = World::new();
    let head = HEAD.replacen("threads", "seconds = 1\nthreads", 1);
    let rig = format!("kind = \"pool\", pool = {{ size = \"1G\", {pool} }}");
    world.write("plan.toml", &format!("{head}[configs.pool]\nrig = {{ {rig} }}\n"));
    let line = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(line.contains(says), "{line}");
    assert!(!world.path("study").exists());
}

#[test]
fn a_plan_that_no_cluster_can_carry_out_is_refused_without_one() {
    refused("stores = 17", "a cluster cannot have 17 stores; give 3 to 16");
    if has_drives() && has_ceph() {
        let pool = "ceph_conf = \"/no/such.conf\", name = \"rep\"";
        refused(pool, "cannot be used as a Ceph configuration");
    }
}

#[test]
#[ignore = "in --full: takes the shared cluster"]
fn a_plan_that_names_a_pool_which_is_not_there_is_refused() {
    let Some(cluster) = cluster() else { return };
    let pool = format!("ceph_conf = \"{}\", name = \"nowhere\"", conf(&cluster).display());
    refused(&pool, "there is no pool nowhere in this cluster");
}
