//! Tests presets with a fault, attached as a user does: I/O on the device meets the fault, and a
//! sound device has none.

use assay_testing::calm;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use crate::drives::{Drives, has_drives};
use assay_drive::{BLOCK_BYTES, BlockBuffer};
use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::Value;

const BLOCK: usize = BLOCK_BYTES as usize;

const P4610: &str = include_str!("../../../../models/p4610-3.2.toml");
const GP3: &str = include_str!("../../../../models/gp3.toml");

/// Number of tries of a measurement: the machine is not idle.
const TRIES: usize = 3;

/// Writes a preset file with the values of a fault.
fn write_preset(drives: &Drives, name: &str, text: &str, fault: &[(&str, &str)]) {
    let line = |(key, value): &(&str, &str)| {
        format!("{key} = {{ value = {value}, mark = \"fitted\", source = \"put there\" }}\n")
    };
    let fault: String = fault.iter().map(line).collect();
    drives.write(&format!("{name}.toml"), &format!("{text}\n[fault]\n{fault}"));
}

/// Attaches the model of the preset file over a file of its name, past the page cache.
fn attach(drives: &Drives, name: &str, scale: &str) -> File {
    let (preset, image) = (format!("./{name}.toml"), format!("{name}.img"));
    let words = ["models", &preset, "--capacity-scale", scale, "--attach", &image];
    let said = drives.done(&words);
    let flags = OFlags::DIRECT.bits().cast_signed();
    let device = said.lines().last().unwrap();
    File::options().read(true).write(true).custom_flags(flags).open(device).unwrap()
}

fn detach(drives: &Drives, name: &str) {
    drives.done(&["drive", "detach", &format!("{name}.img")]);
}

fn status(drives: &Drives, name: &str) -> Value {
    let told = drives.told(&["drive", "status", &format!("{name}.img"), "--json"]);
    serde_json::from_str(&told).unwrap()
}

/// Reads one block after the other; returns the end and the length of each slow read.
fn slow_reads(device: &File, length: Duration) -> Vec<(Duration, Duration)> {
    let mut buffer = BlockBuffer::zeroed(BLOCK);
    let began = Instant::now();
    let mut slow = Vec::new();
    while began.elapsed() < length {
        let asked = Instant::now();
        device.read_exact_at(buffer.first(BLOCK), 0).unwrap();
        let took = asked.elapsed();
        if took > Duration::from_millis(150) {
            slow.push((began.elapsed(), took));
        }
    }
    slow
}

/// Whether two slow reads ended as far apart as stalls do.
fn are_10_s_apart(slow: &[(Duration, Duration)]) -> bool {
    let apart = |first: &Duration, second: &Duration| second.saturating_sub(*first).as_secs_f64();
    slow.iter().any(|(one, _)| slow.iter().any(|(other, _)| (apart(one, other) - 10.0).abs() < 0.3))
}

/// A slow volume with a constant read latency, which takes little CPU time.
fn volume() -> String {
    let slower = GP3.replace("read_us = { value = 700,", "read_us = { value = 2000,");
    let fixed = slower.replace("read_p99_us = { value = 1400,", "read_p99_us = { value = 2000,");
    assert!(fixed.matches("value = 2000,").count() == 2);
    fixed
}

#[test]
#[ignore = "in --full: measures"]
fn a_stalling_model_stalls_200_ms_every_10_s_and_a_sound_one_does_not() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        write_preset(&drives, "sound", &volume(), &[]);
        write_preset(&drives, "stalling", &volume(), &[("stall_ms", "200"), ("every_s", "10")]);
        let is_seen = (0..TRIES).any(|_| {
            let devices = ["sound", "stalling"].map(|name| attach(&drives, name, "4096"));
            let [sound, stalling] = std::thread::scope(|scope| {
                devices
                    .each_ref()
                    .map(|device| scope.spawn(|| slow_reads(device, Duration::from_secs(21))))
                    .map(|reads| reads.join().unwrap())
            });
            println!("sound: {sound:?}\nstalling: {stalling:?}");
            let waited = ["sound", "stalling"].map(|name| {
                status(&drives, name)["model"]["waited"]["fault"].as_u64().unwrap_or(0)
            });
            drop(devices);
            ["sound", "stalling"].iter().for_each(|name| detach(&drives, name));
            drives.assert_nothing_left();
            assert_eq!(waited[0], 0, "nothing is wrong with it");
            assert!((2..=20).contains(&waited[1]), "{waited:?}");
            are_10_s_apart(&stalling) && !are_10_s_apart(&sound)
        });
        assert!(is_seen);
    });
}

/// Mean modelled latency of random reads of the first `blocks`.
fn modelled_read_us(drives: &Drives, name: &str, blocks: u64) -> f64 {
    let device = attach(drives, name, "12800");
    let mut buffer = BlockBuffer::zeroed(BLOCK);
    buffer.first(BLOCK).fill(7);
    (0..blocks).for_each(|at| device.write_all_at(buffer.first(BLOCK), at * BLOCK_BYTES).unwrap());
    device.sync_all().unwrap();
    let reads = || {
        let told = status(drives, name);
        let read = &told["model"]["kinds"]["read"];
        (read["commands"].as_f64().unwrap(), read["modelled_s"].as_f64().unwrap())
    };
    let mut read_all = || {
        (0..blocks).for_each(|at| {
            device.read_exact_at(buffer.first(BLOCK), at * 37 % blocks * BLOCK_BYTES).unwrap();
        });
    };
    // Written data are still on their way to the flash during the first reads.
    read_all();
    let before = reads();
    read_all();
    let after = reads();
    drop(device);
    detach(drives, name);
    assert!(after.0 - before.0 >= blocks as f64);
    (after.1 - before.1) / (after.0 - before.0) * 1e6
}

#[test]
#[ignore = "in --full: measures"]
fn a_slower_model_is_slower_by_what_its_preset_says() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        write_preset(&drives, "sound", P4610, &[]);
        write_preset(&drives, "slower", P4610, &[("slower", "1.05")]);
        let [sound, slower] = ["sound", "slower"].map(|name| modelled_read_us(&drives, name, 512));
        println!("{sound:.2} us and {slower:.2} us: {:.4}", slower / sound);
        assert!((slower / sound - 1.05).abs() < 0.005, "{sound} and {slower}");
        drives.assert_nothing_left();
    });
}

/// Whether a page that was overwritten but not flushed is torn after its server was killed. The
/// page begins at an odd block, so that a drive that tears has its last block in memory.
fn is_torn(drives: &Drives, name: &str) -> bool {
    const PAGE: usize = 4 * BLOCK;
    let device = attach(drives, name, "12800");
    let mut buffer = BlockBuffer::zeroed(PAGE);
    let pid = status(drives, name)["pid"].as_u64().unwrap();
    let server = assay_ports::child::Process::open(u32::try_from(pid).unwrap()).unwrap().unwrap();
    for version in [1, 2] {
        buffer.first(PAGE).fill(version);
        device.write_all_at(buffer.first(PAGE), BLOCK_BYTES).unwrap();
    }
    server.signal(Signal::KILL).unwrap();
    assert!(server.wait(None).unwrap());
    drop(device);
    drives.done(&["clean"]);
    let device = attach(drives, name, "12800");
    device.read_exact_at(buffer.first(PAGE), BLOCK_BYTES).unwrap();
    let page = buffer.first(PAGE);
    let is_torn = page.iter().any(|byte| *byte != page[0]);
    drop(device);
    detach(drives, name);
    is_torn
}

#[test]
#[ignore = "in --full: measures"]
fn a_tearing_model_leaves_half_a_write_after_a_crash_and_a_sound_one_never() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        write_preset(&drives, "sound", P4610, &[]);
        write_preset(&drives, "tearing", P4610, &[("tears", "true")]);
        assert!((0..TRIES).all(|_| !is_torn(&drives, "sound")));
        assert!((0..TRIES).any(|_| is_torn(&drives, "tearing")));
        drives.assert_nothing_left();
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_fault_is_told_where_the_device_is() {
    calm(|| {
        let _shared = crate::shared();
        let drives = Drives::new();
        write_preset(&drives, "stalling", GP3, &[("stall_ms", "200"), ("every_s", "10")]);
        let told = drives.done(&["models", "./stalling.toml"]);
        let says = "It has an injected fault: it stalls for 200 ms every 10 s.";
        assert!(told.contains(says), "{told}");
        assert!(told.contains("fault.stall_ms"), "{told}");
        assert!(
            !drives.done(&["models", "gp3"]).contains("injected"),
            "nothing is wrong with that"
        );
    });
}
