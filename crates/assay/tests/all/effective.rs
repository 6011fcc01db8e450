//! Tests options of a plan that a real file system ignores: the program warns before the first run,
//! the report shows both values, and configurations that differ in nothing else are not compared.

use rusqlite::Connection;

use crate::common::{World, has_loop_devices, trials};

/// Three configurations: one option that the kernel ignores (`nobh`, removed from ext4 in Linux
/// 2.6), one that it applies, and one that is mkfs's default anyway.
const PLAN: &str = r#"
title = "files"
noise_floor = false
extra_runs = 0
threads = [1]
seconds = 1
[workloads.mix]
recipe = "fileio"
file_test_mode = "rndrw"
file_num = 2
file_total_size = "16M"
[rig]
kind = "image"
size = "600M"
[configs.plain]
[configs.nobh.rig]
kind = "image"
size = "600M"
mount_options = ["nobh"]
[configs.blocks.rig]
kind = "image"
size = "600M"
mkfs_options = ["-b", "4096"]
[configs.writeback.rig]
kind = "image"
size = "600M"
mount_options = ["noatime", "data=writeback"]
mkfs_options = ["-O", "bigalloc", "-C", "16384"]
[[compare]]
config = "nobh"
against = "plain"
[[compare]]
config = "blocks"
against = "plain"
[[compare]]
config = "writeback"
against = "plain"
"#;

#[test]
fn an_option_that_took_no_effect_is_told_before_and_after_and_makes_no_comparison() {
    if !has_loop_devices() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", PLAN);
    let output = world.run(&["run", "plan.toml", "--out", "study", "--no-live"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let told =
        "configuration nobh: the file system was mounted without nobh, which the plan asks for";
    let (warned, first_run) = (said.find(told), said.find("[1/4]"));
    assert!(warned.is_some() && warned < first_run, "{said}");
    assert_eq!(said.matches("as the plan asks").count(), 0, "{said}");
    assert_eq!(said.matches("warn: configuration ").count(), 1, "{said}");

    let study = world.path("study");
    assert!(trials(&study).iter().all(|(_, state, _, _)| state == "done"));
    let db = Connection::open(study.join("study.sqlite")).unwrap();
    let sql = "SELECT config || ' ' || warnings.facts_json FROM warnings JOIN runs ON runs.id = \
        run_id WHERE kind = 'given_differs'";
    let mut statement = db.prepare(sql).unwrap();
    let kept = statement.query_map([], |row| row.get(0)).unwrap();
    let kept: Vec<String> = kept.map(Result::unwrap).collect();
    assert_eq!(kept, [r#"nobh {"asked":"nobh","what":"mount_option"}"#]);

    let report = world.run(&["report", "study", "--markdown"]);
    let report = String::from_utf8(report.stdout).unwrap();
    let headline = report.lines().find(|line| line.starts_with("**")).unwrap_or_default();
    let alike = |config: &str, what: &str| {
        format!(
            "{config} and plain ran alike in all that the plan asks them to differ in ({what}), so \
             they are no comparison of it. "
        )
    };
    let first = alike("nobh", "mount options nobh against none")
        + &alike("blocks", "mkfs -b 4096 against none");
    assert!(headline.starts_with(&format!("**{first}")), "{headline}");
    assert!(!headline.contains("writeback and plain ran alike"), "{headline}");
    let page = std::fs::read_to_string(study.join("report.html")).unwrap();
    assert!(page.contains("ext4, mounted nobh (not in effect: nobh)"));
    assert_eq!(world.leftovers(), Vec::<String>::new());
}
