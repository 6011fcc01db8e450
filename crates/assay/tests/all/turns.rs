//! Runs in turns on real servers: both are up at once, each has its own figures, and the judge sees
//! which is faster.

use std::fs;

use serde_json::Value;

use crate::common::{World, has_server};

/// One side has its tables in memory, the other reads them from the disk.
const PLAN: &str = r#"
title = "turns"
design = "switchback"
threads = [2]
seconds = 8
warmup_seconds = 2
noise_floor = false
extra_runs = 0
repeats = 2
[data]
tables = 1
table_size = 100000
[settings]
innodb_buffer_pool_size = "64M"
[rig]
kind = "directory"
[workloads.reads]
recipe = "oltp_point_select"
[configs.memory]
[configs.starved]
settings = { innodb_buffer_pool_size = "5M", innodb_flush_method = "O_DIRECT" }
"#;

#[test]
fn both_servers_are_up_and_each_side_is_measured_in_its_own_turns() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", PLAN);
    let output = world.run(&["run", "plan.toml", "--out", "study"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value =
        serde_json::from_slice(&fs::read(world.path("study/results.json")).unwrap()).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    let of = |config: &str, repeat: u64| {
        let is_it = |run: &&Value| run["config"] == config && run["repeat"] == repeat;
        runs.iter().find(is_it).unwrap()
    };
    for repeat in [1, 2] {
        let (memory, starved) = (of("memory", repeat), of("starved", repeat));
        assert_eq!(memory["facts"]["clock began"], starved["facts"]["clock began"]);
        assert_eq!(memory["window_s"], serde_json::json!([2.0, 10.0]), "its own time");
        let figure = |run: &Value, name: &str| run["results"][name].as_f64().unwrap();
        assert!(figure(memory, "tps") > figure(starved, "tps"));
        let reads = |run: &Value| figure(run, "innodb_pages_read_per_s");
        assert!(reads(starved) > 10.0 * reads(memory).max(1.0), "each has its own server's");
        // In a closed loop, threads are throughput times time (Little's law).
        for run in [memory, starved] {
            let threads = figure(run, "tps") * figure(run, "latency_ms_mean") / 1e3;
            assert!((1.6..2.2).contains(&threads), "{threads}");
        }
    }
    assert_eq!(json["judging"]["design"], "switchback");
    let starts = &json["judgement"]["starts"][0];
    assert_eq!((starts["starts"].as_u64(), starts["threads"].as_u64()), (Some(2), Some(2)));
    assert_eq!(world.leftovers(), Vec::<String>::new());
    let page = fs::read_to_string(world.path("study/report.html")).unwrap();
    assert!(page.contains("their loads took turns of 2 s"));
}

#[test]
fn a_plan_that_writes_is_refused_before_anything_is_made() {
    let world = World::new();
    world.write("plan.toml", &PLAN.replace("oltp_point_select", "oltp_write_only"));
    let refused = world.refused(&["run", "plan.toml", "--out", "study"]);
    assert!(refused.contains("workload `reads` writes"), "{refused}");
    assert!(!world.path("study").exists());
}
