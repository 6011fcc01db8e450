//! Tests models as block devices: they perform as their numbers say, report when they cannot, and
//! leave nothing.

use crate::drives::{Drives, has_drives, has_fio, system};
use assay_testing::calm;
use serde_json::Value;

/// Largest deviation of a measured figure, as a share, and the number of tries: the machine is not
/// idle.
const MARGIN: f64 = 0.1;
const TRIES: usize = 3;

fn json(drives: &Drives, words: &[&str]) -> Value {
    serde_json::from_str(&drives.done(words)).unwrap()
}

/// Measured per derived value, by figure.
fn measured(drives: &Drives, words: &[&str]) -> Vec<(String, f64)> {
    let work = drives.path("");
    let directory = ["--measure", "--json", "--work", work.to_str().unwrap()];
    let told = json(drives, &[words, &directory].concat());
    let figures = told["measured"]["figures"].as_array().unwrap();
    eprintln!("{figures:#?}");
    let ratio =
        |one: &Value| (one["name"].as_str().unwrap().into(), one["ratio"].as_f64().unwrap());
    figures.iter().map(ratio).collect()
}

/// Checks rates, which the model reaches on a busy machine too as long as it keeps up; latencies of
/// single commands depend on the kernel.
#[test]
#[ignore = "in --full: measures"]
fn a_small_model_does_what_follows_from_its_numbers() {
    calm(|| {
        let _shared = crate::shared();
        if !has_fio() {
            return;
        }
        let drives = Drives::new();
        let words = ["models", "p4610-3.2", "--capacity-scale", "12800", "--parallel-scale", "144"];
        let more = ["--fill", "0.5", "--seconds", "4"];
        let mut wrong = Vec::new();
        for _ in 0..TRIES {
            let ratios = measured(&drives, &[&words[..], &more].concat());
            let rates = ratios.iter().filter(|(name, _)| name.ends_with("per_s"));
            let is_off = |(_, ratio): &&(String, f64)| (ratio - 1.0).abs() > MARGIN;
            wrong = rates.filter(is_off).cloned().collect();
            drives.assert_nothing_left();
            if wrong.is_empty() {
                return;
            }
        }
        panic!("{wrong:?}");
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_volume_lets_through_what_was_paid_for() {
    calm(|| {
        let _shared = crate::shared();
        if !has_fio() {
            return;
        }
        let drives = Drives::new();
        let words = ["models", "gp3", "--capacity-scale", "4096", "--seconds", "3"];
        let off = |ratios: &[(String, f64)]| {
            let rates = ratios.iter().filter(|(name, _)| name.ends_with("per_s"));
            rates.filter(|(_, ratio)| (ratio - 1.0).abs() > MARGIN).count()
        };
        assert!((0..TRIES).any(|_| off(&measured(&drives, &words)) == 0));
    });
}

/// Changes that make a preset faster than any machine can show through its kernel.
const TOO_FAST: [(&str, &str); 5] = [
    ("read_us = { value = 54,", "read_us = { value = 0.1,"),
    ("read_firmware_us = { value = 9,", "read_firmware_us = { value = 0.1,"),
    ("write_firmware_us = { value = 17,", "write_firmware_us = { value = 0.1,"),
    ("operations_per_s = { value = 640_000,", "operations_per_s = { value = 60_000_000,"),
    // An instant transfer on the bus.
    ("value = 667_000_000,", "value = 667_000_000_000,"),
];

/// Changes that make a preset slow enough to be shown, with an engine that compresses more than two
/// CPUs can.
const OVERLOADING: [(&str, &str); 1] =
    [("write_firmware_us = { value = 17,", "write_firmware_us = { value = 400,")];

/// Status of the model of `text`, with changes, after fio wrote blocks of `block` to it.
fn after_writes(
    drives: &Drives,
    text: &str,
    changes: &[(&str, &str)],
    block: &str,
) -> serde_json::Value {
    let changed = changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    drives.write("other.toml", &changed);
    let words = ["models", "./other.toml", "--capacity-scale", "6400", "--attach", "vol.img"];
    let said = drives.done(&words);
    let filename = format!("--filename={}", said.lines().last().unwrap());
    let words = ["--name=j", &filename, "--direct=1", "--ioengine=libaio", "--rw=randwrite"];
    let data = ["--iodepth=32", "--size=64M", "--buffer_compress_percentage=50"];
    system("fio", &[&words[..], &data, &[&format!("--bs={block}")]].concat());
    let text = drives.told(&["drive", "status", "vol.img"]);
    assert!(text.contains("results are not comparable"), "{text}");
    let model = drives.status()["model"].take();
    assert_eq!(model["name"], "other");
    assert_eq!(model["comparable"], false, "{model}");
    drives.detach();
    model
}

#[test]
#[ignore = "in --full: measures"]
fn a_model_that_is_faster_than_the_port_says_so() {
    calm(|| {
        let _shared = crate::shared();
        if !has_fio() {
            return;
        }
        let drives = Drives::new();
        let text = include_str!("../../../../models/p4610-3.2.toml");
        let model = after_writes(&drives, text, &TOO_FAST, "4k");
        assert!(model["too_fast_share"].as_f64().unwrap() > 0.9, "{model}");
        assert!(model["added_share"].as_f64().unwrap() > 0.5, "{model}");
        drives.assert_nothing_left();
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_model_that_this_machine_cannot_keep_up_with_says_so() {
    calm(|| {
        let _shared = crate::shared();
        if !has_fio() {
            return;
        }
        let drives = Drives::new();
        let text = include_str!("../../../../models/csd2000-3.2.toml");
        let model = after_writes(&drives, text, &OVERLOADING, "256k");
        // Each command takes several round trips of the port, and our work for it takes longer: the
        // work is the bottleneck.
        let of_writes = |name: &str| model["kinds"]["write"][name].as_f64().unwrap();
        assert!(
            of_writes("modelled_mean_us") > 2.0 * model["port_us"].as_f64().unwrap(),
            "{model}"
        );
        let (missed, too_fast) = (of_writes("missed_deadlines"), of_writes("too_fast"));
        assert!(missed + too_fast > 0.5 * of_writes("commands"), "{model}");
        assert!(model["added_share"].as_f64().unwrap() > 0.05, "{model}");
        drives.assert_nothing_left();
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_model_is_attached_looked_at_and_taken_away_like_a_drive() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        let attach =
            ["models", "csd2000-3.2", "--capacity-scale", "6400", "--parallel-scale", "72"];
        let attach = [&attach[..], &["--attach", "vol.img", "--logical", "1G"]].concat();
        let device = drives.done(&attach).lines().last().unwrap().to_owned();
        assert!(device.starts_with("/dev/loop"), "{device}");
        let files = drives.make_files(&device);
        std::fs::write(files.join("kept"), "of a model").unwrap();
        drives.unmount();
        let status = drives.status();
        assert_eq!(status["codec"], "deflate");
        assert_eq!(status["cache"], "protected", "as its preset says, not the engine");
        let listed = drives.done(&["drive", "list"]);
        assert!(listed.contains("vol.img: model of csd2000-3.2, healthy as"), "{listed}");
        assert_eq!(status["logical_bytes"], 1 << 30);
        assert!(status["model"]["port_us"].as_f64().unwrap() > 1.0, "{status}");
        assert!(status["model"]["kinds"]["write"]["commands"].as_u64().unwrap() > 10, "{status}");
        let line = drives.refused(&attach);
        assert!(line.contains("vol.img"), "{line}");
        drives.detach();
        drives.assert_nothing_left();

        // Written data are present the next time, under the same device only.
        let device = drives.done(&attach).lines().last().unwrap().to_owned();
        let files = drives.mount(&device);
        assert_eq!(std::fs::read_to_string(files.join("kept")).unwrap(), "of a model");
        drives.unmount();
        drives.detach();
        let line = drives.refused(&["drive", "attach", "vol.img"]);
        let words =
            "`assay models csd2000-3.2 --capacity-scale 6400 --parallel-scale 72 --attach vol.img`";
        assert!(line.contains("without its timing") && line.contains(words), "{line}");
        let other = ["models", "p4610-3.2", "--capacity-scale", "6400", "--attach", "vol.img"];
        let line = drives.refused(&other);
        assert!(line.contains("with codec deflate, but this model has"), "{line}");
        let line =
            drives.refused(&["models", "p4610-3.2", "--logical", "900T", "--attach", "new.img"]);
        assert!(line.contains("does not compress"), "{line}");
        assert!(!drives.path("new.img").exists());
        drives.assert_nothing_left();
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_killed_model_leaves_nothing_after_clean() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        drives.done(&["models", "sas15k-r10x6", "--capacity-scale", "4000", "--attach", "vol.img"]);
        drives.kill_server();
        let line = drives.refused(&["drive", "status", "vol.img"]);
        assert!(line.contains("the server of this model has died"), "{line}");
        drives.done(&["clean"]);
        let line = drives.refused(&["drive", "status", "vol.img"]);
        assert!(line.contains("if it is the media of a disk or volume model"), "{line}");
        drives.assert_nothing_left();
    });
}

#[test]
#[ignore = "in --full: measures"]
fn devices_are_listed_and_told() {
    calm(|| {
        let _shared = crate::shared();
        let drives = Drives::new();
        let list = json(&drives, &["models", "--json"]);
        let names: Vec<&str> =
            list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"p4610-3.2") && names.contains(&"csd2000-3.2"), "{names:?}");
        for name in names {
            let told = json(&drives, &["models", name, "--json"]);
            assert!(told["closed"].as_array().unwrap().len() == 6, "{told}");
            assert!(
                drives.done(&["models", name]).contains("depends on a fitted number"),
                "{name}"
            );
        }
        let line = drives.refused(&["models", "p4160-3.2"]);
        assert!(
            line.contains("there is no model `p4160-3.2`; did you mean `p4610-3.2`?"),
            "{line}"
        );
        let line = drives.refused(&["models", "p4610-3.2", "--capacity-scale", "1e6"]);
        assert!(line.contains("a capacity scale of 1000000 leaves"), "{line}");
    });
}
