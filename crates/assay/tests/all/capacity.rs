//! Tests the search for the highest rate that meets an objective, as runs of a plan on a real
//! server.

use crate::common::{DIRECTORY, World, has_server, small_plan};

/// A plan with one configuration that searches in short runs.
fn plan(objective: &str) -> String {
    let plan = small_plan(DIRECTORY)
        .replace("threads = [1, 2]", "threads = [2]")
        .replace("seconds = 2", "seconds = 1")
        .replace("[configs.off.settings]\ninnodb_doublewrite = false\n", "");
    format!("objective = {objective}\n{plan}")
}

/// Runs the plan, which must succeed; returns its standard error.
fn made(world: &World) -> String {
    let output = world.run(&["run", "plan.toml", "--out", "study"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    told
}

fn results(world: &World) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(world.path("study/results.json")).unwrap()).unwrap()
}

#[test]
#[ignore = "in --full: searches for half a minute"]
fn a_plan_with_an_objective_searches_and_stores_what_it_tried() {
    if !has_server() {
        return;
    }
    let world = World::new();
    // A search in so few runs may not converge, but it ends, with a backup running concurrently.
    world.write("plan.toml", &plan("{ p50_ms = 60000, runs_max = 8, during = \"scan\" }"));
    let told = made(&world);
    assert!(told.contains("probe:") && told.contains("/s asked"), "{told}");
    let results = results(&world);
    let runs = results["runs"].as_array().unwrap();
    for run in runs {
        assert_eq!(run["state"], "done", "{run}");
        let capacity = &run["capacity"];
        assert_eq!(capacity["objective"]["ms"], 60000.0);
        // No latency reaches a minute, so every rate is met that the server can do.
        assert!(capacity["runs"].as_array().unwrap().len() >= 2, "{capacity}");
        assert!(run["facts"]["during the search"].as_str().unwrap().starts_with("scan, ended"));
    }
    let page = std::fs::read_to_string(world.path("study/report.html")).unwrap();
    assert!(page.contains("Rates at which windows keep p50 at or below"), "the headline says what");
    assert!(page.contains("id=\"capacity\""));
}

#[test]
#[ignore = "in --full: searches for half a minute"]
fn an_objective_that_no_rate_meets_is_a_result_with_the_lowest_that_was_tried() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &plan("{ p50_ms = 0.001, runs_max = 60 }"));
    made(&world);
    let results = results(&world);
    for run in results["runs"].as_array().unwrap() {
        assert_eq!(run["capacity"]["outcome"], "none_meets", "{run}");
        assert!(run["results"].get("capacity_per_s").is_none());
    }
    let page = std::fs::read_to_string(world.path("study/report.html")).unwrap();
    assert!(page.contains("no rate met the objective: the lowest that was tried"));
}
