//! Tests `assay powercut`: everything survives on a drive with atomic writes, and losses on other
//! disks are found.

use std::process::Command;

use assay_testing::skip;
use serde_json::Value;

use crate::common::{World, has_loop_devices, has_server};

fn can_cut() -> bool {
    let is_there = has_server() && has_loop_devices();
    if is_there && !std::path::Path::new("/dev/fuse").exists() {
        skip("/dev/fuse");
        return false;
    }
    is_there
}

/// Cuts the power of a configuration of the built-in plan; returns exit code and JSON.
fn cut(world: &World, config: &str, more: &[&str]) -> (i32, Value) {
    let words =
        [&["powercut", "powercut", "--config", config, "--out", "study", "--json"], more].concat();
    let output = world.run(&words);
    let code = output.status.code().unwrap();
    let told = serde_json::from_slice(&output.stdout);
    (code, told.unwrap_or_else(|_| panic!("{config}: {}", String::from_utf8_lossy(&output.stderr))))
}

/// Kinds of the losses found.
fn losses(told: &Value) -> Vec<String> {
    let cuts = told["cuts"].as_array().unwrap();
    let losses = cuts.iter().flat_map(|cut| cut["losses"].as_array().unwrap());
    losses.map(|loss| loss.as_object().unwrap().keys().next().unwrap().clone()).collect()
}

#[test]
#[ignore = "in --full: power cuts by the handful"]
fn a_drive_that_writes_whole_commands_loses_nothing_without_the_doublewrite_buffer() {
    if !can_cut() {
        return;
    }
    let world = World::new();
    let config = "atomic drive, doublewrite off";
    let (code, told) = cut(&world, config, &["--cuts", "4"]);
    assert_eq!((code, losses(&told)), (0, vec![]), "{told}");
    let one = &told["configs"][0];
    assert!(one["acknowledged_commits"].as_u64().unwrap() > 0, "{one}");
    // Cuts that the study has are not repeated.
    let (code, again) = cut(&world, config, &["--cuts", "5"]);
    assert_eq!(code, 0);
    assert_eq!(again["cuts"].as_array().unwrap()[..4], told["cuts"].as_array().unwrap()[..]);
    assert_eq!(again["configs"][0]["cuts"], 5);
    assert_eq!(world.leftovers(), [""; 0]);
}

#[test]
#[ignore = "in --full: up to fifty power cuts"]
fn pages_that_are_torn_are_found_and_what_is_lost_with_copies_of_them_is_named() {
    if !can_cut() {
        return;
    }
    let world = World::new();
    let (code, told) =
        cut(&world, "tears at 4K, doublewrite off", &["--cuts", "50", "--until-loss"]);
    assert_eq!(code, 1, "{told}");
    let last = told["cuts"].as_array().unwrap().last().unwrap();
    assert!(!last["survival"]["torn_pages"].as_array().unwrap().is_empty(), "{last}");
    // Repeated from the kept disk: the loss is the same.
    let kept = world.path("study").join(last["kept_in"].as_str().unwrap());
    let repeated =
        world.run(&["powercut", "powercut", "--out", "again", "--repeat", kept.to_str().unwrap()]);
    assert_eq!(repeated.status.code(), Some(1), "{repeated:?}");
    assert!(!repeated.stdout.is_empty());
    // Without the doublewrite buffer a page has a copy only from before the buffer was off.
    let aftermath = &last["aftermath"];
    let mut pages = aftermath["pages"].as_array().into_iter().flatten();
    let has_copies = pages.any(|page| page["newest"].is_object());
    assert_eq!(aftermath["put_back"].is_null(), !has_copies, "{last}");
    // MySQL may lose data with the doublewrite buffer on, too. Every torn page has a whole copy
    // then, and with the newest of them nothing is lost.
    let (code, told) = cut(&world, "tears at 4K, doublewrite on, fsync", &["--cuts", "4"]);
    assert_eq!(code, i32::from(!losses(&told).is_empty()), "{told}");
    let cuts = told["cuts"].as_array().unwrap();
    for lost in cuts.iter().filter(|cut| !cut["losses"].as_array().unwrap().is_empty()) {
        let aftermath = &lost["aftermath"];
        let pages = aftermath["pages"].as_array().unwrap();
        assert!(!pages.is_empty() && pages.iter().all(|page| page["newest"].is_object()), "{lost}");
        assert_eq!(aftermath["put_back"], serde_json::json!([]), "{lost}");
    }
    assert_eq!(world.leftovers(), [""; 0]);
}

#[test]
fn commits_that_a_disk_did_not_flush_are_found_missing() {
    if !can_cut() {
        return;
    }
    let world = World::new();
    let (code, told) =
        cut(&world, "ignores flushes, doublewrite on, fsync", &["--cuts", "20", "--until-loss"]);
    assert_eq!(code, 1, "{told}");
    assert!(!losses(&told).is_empty());
    assert_eq!(world.leftovers(), [""; 0]);
}

#[test]
#[ignore = "in --full: power cuts by the handful"]
fn configurations_are_cut_in_turn_and_a_study_goes_on_where_it_ended() {
    if !can_cut() {
        return;
    }
    let world = World::new();
    let cut = |cuts: &str| -> Value {
        let words = ["powercut", "powercut", "--out", "study", "--json", "--cuts", cuts];
        let configs = ["atomic drive, doublewrite off", "ignores flushes, doublewrite on, fsync"];
        let configs = configs.into_iter().flat_map(|name| ["--config", name]);
        let output = world.run(&words.into_iter().chain(configs).collect::<Vec<&str>>());
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
    };
    let blocks = |told: &Value| -> Vec<(u64, u64)> {
        let cuts = told["cuts"].as_array().unwrap();
        let of = |cut: &Value| {
            (cut["number"].as_u64().unwrap(), cut["block_began_ms"].as_u64().unwrap())
        };
        cuts.iter().map(of).collect()
    };
    let told = cut("2");
    let [a, b, c, d] = blocks(&told)[..] else { panic!("two cuts of each: {told}") };
    assert_eq!(([a, b], a.0, b.0), ([c, d], 1, 2), "{told}");
    assert!(a.1 < b.1, "one block after the other: {told}");
    let again = cut("3");
    let all = blocks(&again);
    assert_eq!((all[..2].to_vec(), all[3..5].to_vec()), (vec![a, b], vec![c, d]), "{again}");
    assert_eq!((all.len(), all[2]), (6, all[5]), "{again}");
    assert_eq!(world.leftovers(), [""; 0]);
}

/// A primary that does not flush commits, with a semisynchronous replica, and one that flushes with
/// an asynchronous replica.
const PAIRS: &str = r#"
title = "pairs"
threads = [4]
seconds = 1
[settings]
innodb_buffer_pool_size = "16M"
innodb_redo_log_capacity = "8M"
performance_schema = false
skip_log_bin = true
[rig]
kind = "image"
size = "768M"
mount_options = ["nobh", "noatime"]
[workloads.w]
recipe = "oltp_write_only"
[power_cut]
replica_delay_ms = 20
[power_cut.replicas]
semi-sync = "semi-sync"
async = "async"
[configs.semi-sync.settings]
skip_log_bin = false
log_bin = "binlog"
innodb_flush_log_at_trx_commit = 2
sync_binlog = 0
[configs.async.settings]
skip_log_bin = false
log_bin = "binlog"
"#;

#[test]
#[ignore = "in --full: up to twenty power cuts of a pair"]
fn a_semi_synchronous_replica_has_what_its_primary_acknowledged() {
    if !can_cut() {
        return;
    }
    let world = World::new();
    let plan = world.write("pair.toml", PAIRS);
    let plan = plan.to_str().unwrap();
    let cut = |config: &str, cuts: &str| {
        let words = ["powercut", plan, "--config", config, "--out", "study", "--json"];
        let output = world.run(&[&words[..], &["--cuts", cuts]].concat());
        // Ext4 has ignored `nobh` since Linux 2.6.
        let said = String::from_utf8_lossy(&output.stderr);
        let without = format!("configuration {config}: the file system was mounted without nobh");
        assert!(said.contains(&without) && !said.contains("noatime"), "{said}");
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{config}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!((output.status.code(), losses(&told)), (Some(0), vec![]), "{config}: {told}");
        let one = &told["configs"][0];
        assert!(one["acknowledged_commits"].as_u64().unwrap() > 0, "{one}");
        assert!(one["recovery_ms"][1].as_f64().unwrap() > 0.0, "{one}");
        one["lost_commits"].as_u64().unwrap()
    };
    assert_eq!(cut("semi-sync", "3"), 0);
    // An asynchronous replica lags sooner or later: its losses are counted, and permitted.
    let is_behind = (1..=10).any(|cuts: u32| cut("async", &(cuts * 2).to_string()) > 0);
    assert!(is_behind, "no commit was lost in 20 cuts, though nobody waited for the replica");
    assert_eq!(world.leftovers(), [""; 0]);
}

#[test]
fn what_cannot_be_cut_is_refused_in_a_line() {
    let world = World::new();
    for (words, says) in [
        (
            &["powercut", "demo"][..],
            "power cuts need a rig of kind \"image\", or \"drive\" with capacity",
        ),
        (&["powercut", "powercut", "--config", "none"], "no configuration is called `none`"),
        (&["powercut", "powercut", "--repeat", "."], "holds no power cut that was kept"),
        (&["powercut", "powercut", "--cuts", "0"], "invalid value '0' for '--cuts <N>'"),
    ] {
        let said = world.refused(words);
        assert!(said.contains(says), "{words:?}: {said}");
    }
    assert_eq!(world.leftovers(), [""; 0]);
}

#[test]
#[ignore = "in --full: starts a study twice"]
fn a_cut_that_is_interrupted_leaves_nothing_behind() {
    if !can_cut() {
        return;
    }
    for signal in ["INT", "KILL"] {
        let world = World::new();
        let words = [
            "powercut",
            "powercut",
            "--config",
            "tears at 4K, doublewrite on, fsync",
            "--out",
            "study",
        ];
        let mut child = world.command(&words).spawn().unwrap();
        // The first cut has been stored.
        let store = world.path("study/study.sqlite");
        while !is_begun(&store) {
            assert!(child.try_wait().unwrap().is_none(), "it has ended early");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let status = child.wait().unwrap();
        if signal == "INT" {
            assert_eq!(status.code(), Some(2), "{status}");
        } else {
            assert!(world.run(&["clean"]).status.success());
        }
        assert_eq!(world.leftovers(), [""; 0], "after SIG{signal}");
        assert!(world.servers().is_empty());
    }
}

fn is_begun(store: &std::path::Path) -> bool {
    let Ok(db) =
        rusqlite::Connection::open_with_flags(store, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
    else {
        return false;
    };
    let count = db.query_row("SELECT COUNT(*) FROM power_cuts", [], |row| row.get::<_, i64>(0));
    count.is_ok_and(|count| count > 0)
}
