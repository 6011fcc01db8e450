//! Tests the write path per transaction on a real server: the drive's own counts agree with the
//! kernel's, and a configuration's crash safety and cost are next to its figures.

use crate::common::has_server;
use crate::drives::{Drives, has_drives};
use serde_json::Value;

/// A plan with one configuration on a drive over a device of its own, whose bytes the kernel
/// counts.
fn plan(device: &str) -> String {
    format!(
        r#"
title = "write_path"
threads = [4]
warmup_seconds = 2
seconds = 8
[data]
table_size = 30000
[settings]
innodb_buffer_pool_size = "16M"
innodb_flush_method = "O_DIRECT"
skip_log_bin = true
[rig]
kind = "drive"
device = "{device}"
logical = "900M"
mkfs_options = ["-O", "bigalloc", "-C", "16384"]
mount_options = ["noatime"]
[workloads.write_only]
recipe = "oltp_write_only"
[configs.once.settings]
innodb_doublewrite = false
"#
    )
}

fn results(drives: &Drives) -> Value {
    let text = std::fs::read_to_string(drives.path("study/results.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn named<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let all = list.as_array().unwrap();
    all.iter().find(|it| it[key] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
#[ignore = "in --full: takes a minute"]
fn an_amplification_comes_back_as_the_kernel_counted_it() {
    if !has_server() || !has_drives() {
        return;
    }
    // A block device of the test: another drive, without compression.
    let drives = Drives::with(&["--capacity", "1200M", "--logical", "900M", "--codec", "none"]);
    let device = drives.attach(&[]);
    drives.write("plan.toml", &plan(&device));
    drives.done(&["run", "plan.toml", "--out", "study", "--erase", &device]);
    let all = results(&drives);
    let trial = &all["runs"][0];
    let figure =
        |name: &str| trial["results"][name].as_f64().unwrap_or_else(|| panic!("no {name}"));
    let counted = figure("backing_write_bytes_per_s") / figure("disk_write_bytes_per_s");
    let write_path = &all["write_path"][0];
    let boundaries = write_path["amplification"].as_array().unwrap();
    let told = boundaries.iter().find(|it| it["from"] == "drive" && it["to"] == "media").unwrap();
    let told = told["factor"].as_f64().unwrap();
    eprintln!(
        "told {told:.4}, counted below {counted:.4}: {:+.2} %",
        (told / counted - 1.0) * 100.0
    );
    assert!((told / counted - 1.0).abs() < 0.03, "told {told}, counted {counted}");
    let device_bytes =
        named(&write_path["layers"], "name", "device")["write_bytes"].as_f64().unwrap();
    let of_trial = figure("write_bytes_per_transaction");
    assert!((device_bytes / of_trial - 1.0).abs() < 1e-9);
    for spent in ["CPU: server", "CPU: drive", "server waits: redo log", "device: writes"] {
        assert!(
            named(&write_path["spent"], "what", spent)["us"].as_f64().unwrap() > 0.0,
            "{spent}"
        );
    }
    assert_eq!(all["durability"]["once"]["label"], "pages safe · commits safe");
    assert_eq!(all["durability"]["once"]["flushes"], "as_the_device_says");
    prices_are_asked_for_and_taken(&drives);
    drives.detach();
    drives.assert_nothing_left();
}

fn prices_are_asked_for_and_taken(drives: &Drives) {
    let page = std::fs::read_to_string(drives.path("study/report.html")).unwrap();
    assert!(page.contains("For money, give currency, years, server_price and drive_price"));
    drives
        .write("prices.toml", "currency = \"EUR\"\nyears = 3\n[every_config]\nserver_prise = 1\n");
    let line = drives.refused(&["report", "study", "--prices", "prices.toml"]);
    assert!(line.contains("unknown key `server_prise`; did you mean `server_price`?"), "{line}");
    let line = drives.refused(&["report", "study", "--prices", "none.toml"]);
    assert!(line.contains("cannot read none.toml"), "{line}");
    let prices = "currency = \"EUR\"\nyears = 3\n[every_config]\nserver_price = 1000\ndrive_price \
        = 500\nendurance_bytes = 1e15\n";
    drives.write("prices.toml", prices);
    drives.done(&["report", "study", "--prices", "prices.toml"]);
    let all = results(drives);
    let (cost, tps) = (&all["costs"][0], all["runs"][0]["results"]["tps"].as_f64().unwrap());
    let per_tps = cost["cost_per_tps"]["mid"].as_f64().unwrap();
    assert!((per_tps * tps / 1500.0 - 1.0).abs() < 1e-9, "{cost}");
    assert!(all["endurance"][0]["life_years_host"].as_f64().unwrap() > 0.0);
}
