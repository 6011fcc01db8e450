//! Tests that a model reports a stall of its server, and a trace that ends too early.

use assay_testing::calm;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use crate::drives::{Drives, has_drives, system, unmount};
use assay_drive::{BLOCK_BYTES, BlockBuffer};
use assay_ports::child::is_stopped;
use rustix::fs::OFlags;
use rustix::process::Signal;

/// Far longer than a model may stall, and than this machine delays a thread with real-time
/// priority.
const STOPPED: Duration = Duration::from_millis(1500);

#[test]
#[ignore = "in --full: measures"]
fn a_server_that_was_stopped_says_for_how_long() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        drives.done(&["models", "gp3", "--capacity-scale", "4096", "--attach", "vol.img"]);
        let stalled_ms = || drives.status()["model"]["stalled_ms"].as_f64().unwrap();
        let before_ms = stalled_ms();
        assert!(before_ms < 1000.0, "nobody has stopped it: {before_ms}");
        let (server, pid) = (drives.server(), drives.status()["pid"].as_u64().unwrap() as u32);
        server.signal(Signal::STOP).unwrap();
        while !is_stopped(pid) {
            yield_now();
        }
        // The server is stopped for this time.
        sleep(STOPPED);
        server.signal(Signal::CONT).unwrap();
        while is_stopped(pid) {
            yield_now();
        }
        let told_ms = stalled_ms() - before_ms;
        assert!(told_ms >= STOPPED.as_secs_f64() * 1e3 - 20.0, "{told_ms}");
        assert_eq!(drives.status()["model"]["comparable"], false);
        let text = drives.told(&["drive", "status", "vol.img"]);
        assert!(text.contains("server stalled"), "{text}");
        drives.detach();
        drives.assert_nothing_left();
    });
}

#[test]
#[ignore = "in --full: measures"]
fn a_trace_that_finds_no_room_is_told_by_status_and_by_detach() {
    calm(|| {
        let _shared = crate::shared();
        if !has_drives() {
            return;
        }
        let drives = Drives::new();
        let room = drives.path("room");
        std::fs::create_dir(&room).unwrap();
        system("mount", &["-t", "tmpfs", "-o", "size=100k", "tmpfs", room.to_str().unwrap()]);
        let model = ["models", "p4610-3.2", "--capacity-scale", "6400", "--attach", "vol.img"];
        let said = drives.done(&[&model[..], &["--trace", "room/a.trace"]].concat());
        let problems = || drives.status()["problems"].as_array().unwrap().clone();
        assert!(problems().is_empty(), "there is room yet");
        let flags = OFlags::DIRECT.bits().cast_signed();
        let device = said.lines().last().unwrap();
        let device = File::options().read(true).custom_flags(flags).open(device).unwrap();
        let mut buffer = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        while problems().is_empty() {
            for _ in 0..500 {
                device.read_exact_at(buffer.first(BLOCK_BYTES as usize), 0).unwrap();
            }
        }
        let problem = problems()[0].as_str().unwrap().to_owned();
        assert!(problem.contains("a.trace is cut short"), "{problem}");
        drop(device);
        let line = drives.refused(&["drive", "detach", "vol.img"]);
        assert!(line.contains("a.trace is cut short"), "{line}");
        unmount(&room);
        drives.assert_nothing_left();
    });
}
