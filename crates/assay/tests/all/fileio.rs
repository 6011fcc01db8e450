//! Tests fileio in plans and on the command line: without a server, on a drive built for it, judged
//! and reported like other workloads.

use crate::common::{World, has_loop_devices, trials};
use crate::drives::has_drives;
use rusqlite::Connection;
use serde_json::Value;

/// Two configurations with the same mix, once without a limit and once at a rate.
fn plan() -> String {
    let mix = r#"
recipe = "fileio"
file_test_mode = "rndrw"
file_num = 4
file_total_size = "32M"
file_extra_flags = ["direct"]
file_fsync_freq = 20
file_data_ratio = 2
"#;
    format!(
        r#"
title = "files"
noise_floor = false
extra_runs = 0
threads = [2]
seconds = 2
workload_rates = {{ "paced mix" = 300 }}
[workloads."random mix"]{mix}
[workloads."paced mix"]{mix}
[rig]
kind = "drive"
capacity = "256M"
logical = "512M"
mkfs_options = ["-N", "512", "-J", "size=4"]
[configs.zstd]
[configs.none.rig]
kind = "drive"
capacity = "512M"
codec = "none"
mkfs_options = ["-N", "512", "-J", "size=4"]
"#
    )
}

/// Results by name of the run of a workload in a configuration.
fn results(db: &Connection, config: &str, workload: &str) -> impl Fn(&str) -> f64 {
    let sql = "SELECT name, value FROM results JOIN runs ON runs.id = run_id WHERE config = ? AND \
        workload = ?";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([config, workload], |row| Ok((row.get(0)?, row.get(1)?)));
    let all: std::collections::BTreeMap<String, f64> = rows.unwrap().map(Result::unwrap).collect();
    move |name| *all.get(name).unwrap_or_else(|| panic!("{name} of {all:?}"))
}

/// The page without the titles of its elements, which have the names of stored results.
fn without_titles(page: &str) -> String {
    let mut parts = page.split(" title=\"");
    let rest = |part: &str| part.split_once('"').map_or("", |(_, rest)| rest).to_owned();
    parts.next().unwrap_or_default().to_owned() + &parts.map(rest).collect::<String>()
}

#[test]
fn a_plan_of_files_runs_on_drives_without_a_server() {
    if !has_drives() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &plan());
    let output = world.run(&["run", "plan.toml", "--out", "study", "--no-live"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains(" operations/s, p99 ") && !said.contains(" tps"), "{said}");
    let study = world.path("study");
    let states: Vec<_> =
        trials(&study).into_iter().map(|(_, state, reason, _)| (state, reason)).collect();
    assert_eq!(states, vec![("done".to_owned(), None); 4]);
    let db = Connection::open(study.join("study.sqlite")).unwrap();
    for config in ["zstd", "none"] {
        let of = results(&db, config, "random mix");
        let operations = of("file_reads_per_s") + of("file_writes_per_s") + of("file_fsyncs_per_s");
        assert!((operations / of("tps") - 1.0).abs() < 1e-9, "each is an event");
        let ratio = of("file_reads_per_s") / of("file_writes_per_s");
        assert!((ratio / 1.5 - 1.0).abs() < 0.02, "{ratio}");
        let fsyncs = (of("file_reads_per_s") + of("file_writes_per_s")) / of("file_fsyncs_per_s");
        assert!((fsyncs / 5.0 - 1.0).abs() < 0.1, "four files after twenty: {fsyncs}");
        assert!((of("file_write_bytes_per_s") / of("file_writes_per_s") - 16_384.0).abs() < 1e-6);
        // Compared at a rate: the disk's seconds need not align with the load's, and on a busy
        // machine one second is not like the next.
        let of = results(&db, config, "paced mix");
        let device = of("disk_write_bytes_per_s") / of("file_write_bytes_per_s");
        assert!((0.8..1.6).contains(&device), "past the page cache: {device}");
    }
    let kinds: Vec<String> = db
        .prepare("SELECT DISTINCT kind FROM histograms ORDER BY kind")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(kinds, ["fsync", "read", "transaction", "write"]);
    // Only runs without disturbances: where threads wait for a CPU between operations, these
    // figures do not hold.
    let warned: Vec<String> = db
        .prepare(
            "SELECT facts_json FROM warnings WHERE kind = 'disagreement' AND run_id NOT IN
             (SELECT run_id FROM warnings WHERE kind IN ('other_programs', 'cpu_taken'))",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(warned, [""; 0], "figures agree with each other");
    let json: Value =
        serde_json::from_slice(&std::fs::read(study.join("results.json")).unwrap()).unwrap();
    assert_eq!(json["workloads"][0]["recipe"], "fileio");
    let page = std::fs::read_to_string(study.join("report.html")).unwrap();
    let text = without_titles(&page);
    assert!(text.contains("operations/s") && !text.contains("transactions"), "operations alone");
    assert!(!page.contains("commits safe") && page.contains("fsyncs "), "there is no server");
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
fn what_does_not_fit_or_cannot_be_is_said_before_anything_is_made() {
    if !has_loop_devices() {
        return;
    }
    let image = "kind = \"image\"\nsize = \"512M\"";
    let plan = |workload: &str, more: &str| {
        format!(
            "title = \"t\"\nthreads = [1]\nseconds = 1\n[rig]\n{image}\n[workloads.w]\nrecipe = \
             \"fileio\"\n{workload}\n\
             [configs.a]\n{more}"
        )
    };
    for (workload, more, says) in [
        (
            "file_test_mode = \"rndrd\"",
            "",
            "the files of workload `w`, 2G, do not fit on a disk of 512M; lower file_total_size",
        ),
        ("file_test_mode = \"rndrd\"\nfile_total_size = \"1M\"", "", "no multiple of 128 files"),
        ("file_test_mode = \"rndx\"", "", "unknown value `rndx`"),
        ("", "", "file_test_mode is missing"),
        ("file_test_mode = \"rndrd\"\nfile_io_mode = \"async\"", "", "`async` is not built"),
        (
            "file_test_mode = \"rndrd\"\nfile_total_size = \"16M\"",
            "settings = { sync_binlog = 1 }",
            "no workload needs a server, but settings",
        ),
    ] {
        let world = World::new();
        world.write("plan.toml", &plan(workload, more));
        let line = world.refused(&["run", "plan.toml", "--out", "study"]);
        assert!(line.contains(says), "{says}: {line}");
        assert_eq!(world.listing(), ["plan.toml"]);
    }
}

#[test]
fn files_that_are_missing_or_too_short_and_slips_are_told_in_one_line() {
    let world = World::new();
    let small = ["load", "fileio", "--file-num=2", "--file-total-size=64K"];
    let with = |more: &[&'static str]| [&small[..], more].concat();
    let line = world.refused(&with(&["--file-test-mode=rndrd", "run"]));
    assert!(line.contains("test_file.0 is missing; run `prepare` first"), "{line}");
    assert!(world.run(&with(&["prepare"])).status.success());
    assert_eq!(world.listing(), ["test_file.0", "test_file.1"]);
    let line = world.refused(&with(&["--file-total-size=128K", "--file-test-mode=rndrd", "run"]));
    assert!(line.contains("test_file.0 has 32K, but 64K are needed; run `prepare`"), "{line}");
    let line = world.refused(&with(&["--file-total-size=900P", "prepare"]));
    assert!(line.contains("no space: the files need"), "{line}");
    let line = world.refused(&with(&["run"]));
    assert!(line.contains("file_test_mode is missing"), "{line}");
    let line = world.refused(&with(&["--file-tset-mode=rndrd", "run"]));
    assert!(line.contains("unknown option `--file-tset-mode`"), "{line}");
    let words = with(&["--file-test-mode=rndrw", "--events=50", "--json=out.json", "run"]);
    let output = world.run(&words);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("File operations:"), "{said}");
    // The page cache holds all files, so no device is read.
    let share = "    read from the device:                0.0 % of ";
    assert!(said.contains(share), "{said}");
    let json: Value =
        serde_json::from_slice(&std::fs::read(world.path("out.json")).unwrap()).unwrap();
    assert_eq!(json["outcome"]["device"]["read_bytes_device"], 0);
    assert_eq!(json["outcome"]["events"], 50);
    assert_eq!(json["outcome"]["fileio"]["file_num"], 2);
    assert!(json["outcome"]["schema"].is_null());
    let old = ["load", "--test=fileio", "--file-num=2", "--file-total-size=64K", "cleanup"];
    assert!(world.run(&old).status.success());
    assert_eq!(world.listing(), ["out.json"]);
}
