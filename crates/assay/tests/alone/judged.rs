//! Tests a plan with one configuration on a real server: the configuration runs twice, latencies
//! are stored by second, and the difference of the runs is the noise floor; `assay compare` then
//! judges single repeats.

use crate::common::{DIRECTORY, World, has_server, small_plan, trials};
use assay_testing::calm;
use serde_json::Value;
use std::path::Path;

/// Removes the warnings of all runs: the test is about comparable runs, and whether these are
/// depends on the machine's load.
fn forget_what_the_machine_did(study: &Path) {
    let db = rusqlite::Connection::open(study.join("study.sqlite")).unwrap();
    db.execute("DELETE FROM warnings", []).unwrap();
}

#[test]
#[ignore = "in --full: measures"]
fn one_config_runs_twice_and_shows_the_noise_floor() {
    calm(|| {
        let _alone = crate::alone();
        if !has_server() {
            return;
        }
        let world = World::new();
        let plan = small_plan(DIRECTORY).replace("noise_floor = false\n", "margin_percent = 5\n");
        let plan =
            plan.replace("threads = [1, 2]", "threads = [2]").replace("seconds = 2", "seconds = 6");
        let plan = plan.replace("[configs.off.settings]\ninnodb_doublewrite = false\n", "");
        world.write("plan.toml", &plan);
        let output = world.run(&["run", "plan.toml", "--out", "study"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let study = world.path("study");
        let mut names: Vec<String> = trials(&study).into_iter().map(|trial| trial.0).collect();
        names.sort();
        assert_eq!(names, ["on, again/write_only/2", "on/write_only/2"]);

        forget_what_the_machine_did(&study);
        let again = world.run(&["report", "study"]);
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
        let json: Value =
            serde_json::from_slice(&std::fs::read(study.join("results.json")).unwrap()).unwrap();
        let judged = &json["judgement"];
        assert_eq!(
            (judged["margin_percent"].as_f64(), judged["baseline"].as_str()),
            (Some(5.0), Some("on"))
        );
        assert_eq!(judged["noise_floor"]["configs"][0], serde_json::json!(["on", "on, again"]));
        let seen = judged["noise_floor"]["seen"].as_array().unwrap();
        let throughput = seen.iter().find(|it| it["metric"] == "tps").unwrap();
        assert!(throughput["ratios"][0].as_f64().unwrap() > 0.2, "{throughput}");
        assert!(throughput["spread"]["within"].as_f64().unwrap() > 0.0, "from the seconds");
        assert!(seen.iter().any(|it| it["metric"] == "latency_ms_p95"));
        assert_eq!(judged["comparisons"], serde_json::json!([]), "an A/A run is not judged");
        let began = json["runs"][0]["facts"]["clock began"].as_str().unwrap();
        assert!(began.ends_with('Z') && began.contains('.'), "{began}");

        let compared =
            world.run(&["compare", "study", "on", "on, again", "--json", "--metric", "p50"]);
        let found: Value = serde_json::from_slice(&compared.stdout).unwrap();
        let one = &found["comparisons"][0];
        assert_eq!(one["difference"]["basis"], "one_repeat_and_noise_floor", "{found}");
        assert_eq!(found["exit_code"].as_i64().map(|code| code as i32), compared.status.code());
        assert!(
            world.refused(&["compare", "study", "study"]).contains("both sides are the same study")
        );
    });
}
