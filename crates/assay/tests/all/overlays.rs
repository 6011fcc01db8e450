//! Tests a plan with overlays on a real server: the server gets the settings, and every view of the
//! study names them.

use std::fs;

use crate::common::{DIRECTORY, World, has_server, small_plan};
use serde_json::Value;

const PAPER: &str = r#"
[paper]
title = "A paper"
[[paper.comparisons]]
table = "Table 1"
config = "off"
against = "on"
printed = [{ workload = "write_only", percent = 44 }]
"#;

#[test]
fn production_settings_reach_the_server_and_are_named() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &(small_plan(DIRECTORY) + PAPER));
    world.write("shorter.toml", "threads = [1]\nseconds = 1\n");
    let words = ["run", "plan.toml", "--overlay", "production", "--overlay", "shorter.toml"];
    let output = world.run(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let study = world.path("plan-production-shorter");
    let json: Value =
        serde_json::from_slice(&fs::read(study.join("results.json")).unwrap()).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "one thread count in place of two");
    let page = fs::read_to_string(study.join("report.html")).unwrap();
    for text in [
        "binary log on",
        "Overlay production (binary log;",
        "sync_binlog = 1 (before: not set)",
        "skip_log_bin = false (before: true)",
        "Overlay shorter: seconds = 1 (before: 2)",
        "These are not the conditions of A paper",
    ] {
        assert!(page.contains(text), "`{text}` is not in the page");
    }
    // The study's own plan is the merged one: with it the study resumes, and the overlays are named
    // again.
    world.write("again.toml", json["plan_toml"].as_str().unwrap());
    let output = world.run(&["run", "again.toml", "--out", "plan-production-shorter"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("nothing to do"), "{told}");
    let page = fs::read_to_string(study.join("report.html")).unwrap();
    assert!(page.contains("Overlay production"), "as its plan keeps it");
}

#[test]
fn an_overlay_that_does_not_fit_changes_nothing() {
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY));
    let refused = |overlay: &str| {
        let output = world.run(&["run", "plan.toml", "--overlay", overlay]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let told = refused("producton");
    assert!(told.contains("there is no such overlay; did you mean `production`?"), "{told}");
    world.write("wrong.toml", "[settings]\nport = 3306\n");
    let told = refused("wrong.toml");
    assert!(told.contains("server setting `port` is set by the rig"), "{told}");
    assert!(!world.path("plan-wrong").exists() && !world.path("plan-producton").exists());
}
