//! Tests a plan with data profiles and a paper, in its quick form: each run uses the tables of its
//! own data profile.

use std::fs;

use crate::common::{DIRECTORY, World, has_server, small_plan, trials};
use serde_json::Value;

const SETS: &str = r#"
[data_profiles.small]
table_size = 1000
[data_profiles.large]
table_size = 6000
configs = ["on"]
[paper]
title = "A paper"
[[paper.comparisons]]
table = "Table 1"
config = "off"
against = "on"
printed = [
  { data_profile = "small", workload = "write_only", percent = 44 },
  { data_profile = "large", workload = "write_only", says = "N/A" },
]
[quick]
threads = [2]
seconds = 1
"#;

fn results(world: &World) -> Value {
    serde_json::from_slice(&fs::read(world.path("study/results.json")).unwrap()).unwrap()
}

#[test]
#[ignore = "in --full: loads tables for each profile"]
fn every_data_profile_has_its_own_tables_and_the_paper_stands_beside_them() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &(small_plan(DIRECTORY) + SETS));
    let output = world.run(&["run", "plan.toml", "--quick", "--out", "study"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let study = world.path("study");
    let mut names: Vec<String> = trials(&study).into_iter().map(|trial| trial.0).collect();
    names.sort();
    let expected = ["off/small: write_only/2", "on/large: write_only/2", "on/small: write_only/2"];
    assert_eq!(names, expected);

    let json = results(&world);
    let table_bytes = |name: &str| {
        let trials = json["runs"].as_array().unwrap();
        let trial =
            trials.iter().find(|trial| trial["config"] == "on" && trial["workload"] == name);
        trial.unwrap()["results"]["space_tables_file_bytes"].as_f64().unwrap()
    };
    assert!(table_bytes("large: write_only") > 2.0 * table_bytes("small: write_only"));
    assert!(
        json["form"].as_str().unwrap().starts_with("Quick profile: 1 s measured in place of 2")
    );
    let rows = json["compared_with_paper"][0]["rows"].as_array().unwrap();
    assert_eq!(
        (rows[0]["data_profile"].as_str(), rows[0]["printed_percent"].as_f64()),
        (Some("small"), Some(44.0))
    );
    assert!(rows[0]["measured"]["mean_percent"].is_f64());
    assert_eq!(rows[1]["remarks"][0], "only on runs on it");
}
