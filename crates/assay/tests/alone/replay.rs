//! Tests recording a model and replaying the trace: the replay predicts the recorded latencies, and
//! invalid input is refused in a line.

use crate::common::has_server;
use crate::drives::{Drives, has_drives, has_fio, system};
use assay_testing::calm;
use serde_json::Value;

/// Largest deviation of the mean predicted latency from the recorded model's, as a share.
const MARGIN: f64 = 0.1;

const P4610: &str = include_str!("../../../../models/p4610-3.2.toml");

fn attach(drives: &Drives, model: &[&str]) -> String {
    let rest = ["--attach", "vol.img", "--trace", "a.trace"];
    let said = drives.done(&[&["models"], model, &rest].concat());
    said.lines().last().unwrap().to_owned()
}

/// Fills the area, then reads and overwrites it randomly.
fn load(device: &str) {
    let filename = format!("--filename={device}");
    let common = [&filename, "--direct=1", "--ioengine=libaio", "--size=48M"];
    let fill = ["--name=fill", "--rw=write", "--bs=64k", "--iodepth=4"];
    system("fio", &[&common[..], &fill].concat());
    let mix = ["--name=mix", "--rw=randrw", "--rwmixread=70", "--bs=4k", "--iodepth=2"];
    system("fio", &[&common[..], &mix, &["--runtime=4", "--norandommap", "--time_based"]].concat());
}

fn replay(drives: &Drives, words: &[&str]) -> Value {
    let told = drives.done(&[&["replay", "a.trace", "--json"], words].concat());
    serde_json::from_str(&told).unwrap()
}

fn mean_us(told: &Value, kind: &str, which: &str) -> f64 {
    told["kinds"][kind][which]["mean_us"].as_f64().unwrap()
}

fn commands(told: &Value) -> u64 {
    told["replayed_commands"].as_u64().unwrap()
}

#[test]
#[ignore = "in --full: measures"]
fn a_model_that_is_asked_the_same_again_answers_the_same() {
    calm(|| {
        let _shared = crate::shared();
        if !has_fio() {
            return;
        }
        for model in ["p4610-3.2", "csd2000-3.2"] {
            let drives = Drives::new();
            let scale = ["--capacity-scale", "12800", "--parallel-scale", "24"];
            load(&attach(&drives, &[&[model][..], &scale].concat()));
            drives.detach();
            let told = replay(&drives, &[]);
            assert!(commands(&told) > 2000, "{told}");
            for kind in ["read", "write"] {
                let of = |which: &str| mean_us(&told, kind, which);
                let predicted = of("predicted");
                let (modelled, shown) = (of("recorded_modelled"), of("recorded_achieved"));
                eprintln!(
                    "{model} {kind}: predicted {predicted:.1} µs, ÷ modelled {:.3}, ÷ shown {:.3}",
                    predicted / modelled,
                    predicted / shown
                );
                assert!((predicted / modelled - 1.0).abs() < MARGIN, "{model} {kind}: {told}");
            }
            if model == "p4610-3.2" {
                ask_others(&drives, &told);
            }
            drives.assert_nothing_left();
        }
    });
}

/// Replays on other devices: one with flash three times as slow is slower, one with the same
/// numbers is not; a part of a trace is a part.
fn ask_others(drives: &Drives, told: &Value) {
    drives.write("same.toml", P4610);
    let slower = P4610.replace("read_us = { value = 54,", "read_us = { value = 162,");
    assert_ne!(slower, P4610);
    drives.write("slower.toml", &slower);
    let read = |told: &Value| mean_us(told, "read", "predicted");
    let same = replay(drives, &["--model", "./same.toml"]);
    assert!((read(&same) / read(told) - 1.0).abs() < 1e-6, "{same}");
    let slower = replay(drives, &["--model", "./slower.toml"]);
    assert!(read(&slower) > read(told) + 90.0, "{slower}");
    let part = replay(drives, &["--from", "0.5", "--to", "1.5"]);
    assert!(commands(&part) < commands(told), "{part}");
    assert_eq!(part["from_s"], 0.5);
    assert!(part["to_s"].as_f64().unwrap() <= 1.5, "{part}");
    let text = drives.done(&["replay", "a.trace", "--model", "csd2000-3.2", "--ratio", "2"]);
    assert!(text.contains("compression ratio 2, as given"), "{text}");
    assert!(text.contains("÷ modelled") && text.contains("times real time"), "{text}");
}

#[test]
#[ignore = "in --full: measures"]
fn a_server_that_is_killed_leaves_a_trace_that_can_be_replayed() {
    calm(|| {
        let _shared = crate::shared();
        if !has_fio() {
            return;
        }
        let drives = Drives::new();
        let device = attach(&drives, &["gp3", "--capacity-scale", "4096"]);
        let filename = format!("--filename={device}");
        let words = ["--name=j", &filename, "--direct=1", "--ioengine=libaio", "--iodepth=16"];
        system("fio", &[&words[..], &["--rw=randread", "--bs=4k", "--size=16M"]].concat());
        drives.kill_server();
        drives.done(&["clean"]);
        // The last of 4096 reads were not written to the trace yet.
        let told = replay(&drives, &[]);
        assert!((2000..4096).contains(&commands(&told)), "{told}");
        drives.assert_nothing_left();
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_plan_records_its_trials_and_tells_what_of_them_was_measured() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() || !has_server() {
            return;
        }
        let drives = Drives::new();
        drives.write("plan.toml", PLAN);
        drives.done(&["run", "plan.toml", "--out", "study"]);
        let trace = "study/traces/001-one-write_only-1-1.trace";
        let told = drives.done(&["replay", trace, "--json"]);
        let told: Value = serde_json::from_str(&told).unwrap();
        let (from_s, to_s) = (told["from_s"].as_f64().unwrap(), told["to_s"].as_f64().unwrap());
        // File system, base snapshot and the server's start come before the window.
        assert!(from_s > 0.5 && (1.5..2.1).contains(&(to_s - from_s)), "{from_s} {to_s}");
        let measured = told["kinds"]["write"]["commands"].as_u64().unwrap();
        assert!(measured > 20 && measured < commands(&told), "{told}");
        let all = drives.done(&["replay", trace, "--json", "--from", "0"]);
        let all: Value = serde_json::from_str(&all).unwrap();
        assert!(all["to_s"].as_f64().unwrap() > to_s, "{all}");
        drives.assert_nothing_left();
    });
}

const PLAN: &str = r#"
title = "recorded"
noise_floor = false
threads = [1]
seconds = 2
[data]
table_size = 2000
[settings]
innodb_buffer_pool_size = "16M"
skip_log_bin = true
[rig]
kind = "model"
model = { preset = "gp3", capacity_scale = 1000, trace = true }
[workloads.write_only]
recipe = "oltp_write_only"
[configs.one]
"#;

#[test]
#[ignore = "in --full: measures"]
fn what_cannot_be_replayed_is_said_in_a_line() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        let scale = ["--capacity-scale", "12800", "--parallel-scale", "72"];
        let device = attach(&drives, &[&["p4610-3.2"][..], &scale].concat());
        system(
            "dd",
            &["if=/dev/zero", &format!("of={device}"), "bs=1M", "count=64", "oflag=direct"],
        );
        drives.detach();

        let refused = |words: &[&str]| drives.refused(&[&["replay", "a.trace"], words].concat());
        let line = refused(&["--model", "p4160-3.2"]);
        assert!(
            line.contains("there is no model `p4160-3.2`; did you mean `p4610-3.2`?"),
            "{line}"
        );
        let line = refused(&["--model", "gp3", "--capacity-scale", "30000"]);
        assert!(
            line.contains("the trace writes to 64.0 MiB of address space, and gp3 at"),
            "{line}"
        );
        let fits = line.rsplit(' ').next().unwrap();
        replay(&drives, &["--model", "gp3", "--capacity-scale", fits]);
        let line = refused(&["--from", "5000"]);
        assert!(line.contains("no command arrived after 5000.0 s; the trace covers"), "{line}");
        let line = refused(&["--from", "3", "--to", "2"]);
        assert!(line.contains("--from must come before --to"), "{line}");
        let line = refused(&["--ratio", "2"]);
        assert!(line.contains("p4610-3.2 does not compress; omit --ratio"), "{line}");

        drives.write("b.trace", "0123456789abcdef");
        let line = drives.refused(&["replay", "b.trace"]);
        assert!(
            line.contains("b.trace: this is no trace; name a file that was recorded"),
            "{line}"
        );
        let bytes = std::fs::read(drives.path("a.trace")).unwrap();
        std::fs::write(drives.path("b.trace"), &bytes[..100]).unwrap();
        let line = drives.refused(&["replay", "b.trace"]);
        assert!(line.contains("the trace is cut off in its text"), "{line}");
        let mut other = bytes;
        other[8] = 9;
        std::fs::write(drives.path("b.trace"), &other).unwrap();
        let line = drives.refused(&["replay", "b.trace"]);
        assert!(line.contains("another version made this trace"), "{line}");
        let line = drives.refused(&["replay", "none.trace"]);
        assert!(line.contains("cannot read none.trace"), "{line}");

        // An existing trace is not overwritten, and nothing else is created then.
        let again = ["models", "gp3", "--capacity-scale", "4096", "--attach", "new.img"];
        let line = drives.refused(&[&again[..], &["--trace", "a.trace"]].concat());
        assert!(line.contains("a.trace already exists; give a new file"), "{line}");
        assert!(!drives.path("new.img").exists());
        drives.assert_nothing_left();
    });
}
