//! Tests a drive with a large map: pages that compress to a thirtieth are written randomly all over
//! it, and its server is killed repeatedly during writes. The drive is attached again within
//! seconds, and whole.
//!
//! It is small in a run of all tests; `ASSAY_CAPACITY_GIB`, `ASSAY_LOGICAL_GIB`, `ASSAY_SECONDS`
//! (of writing before each kill) and `ASSAY_ROUNDS` make it as large as a user's.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_drive::{Codec, Format};

use crate::drive_killed::{rounds, seed, setting};
use crate::drives::{Drives, MIB, has_fio};
use crate::power::Power;
use crate::simulated::random::Random;

const GIB: u64 = 1 << 30;

/// Longest time that attaching may take after a kill.
const ATTACH_MOST: Duration = Duration::from_secs(5);

struct Size {
    capacity: u64,
    logical: u64,
    seconds: u64,
    rounds: u64,
}

impl Size {
    fn wanted() -> Size {
        Size {
            capacity: setting("ASSAY_CAPACITY_GIB").map_or(768 * MIB, |gib| gib * GIB),
            logical: setting("ASSAY_LOGICAL_GIB").map_or(3 * GIB, |gib| gib * GIB),
            seconds: setting("ASSAY_SECONDS").unwrap_or(2),
            rounds: rounds(2),
        }
    }
}

/// Writes random pages of 4 KiB all over the device, and kills its server.
fn write_and_kill(drives: &Drives, device: &str, size: &Size) {
    let mut fio = Command::new("fio");
    fio.args(["--name=all-over", "--rw=randwrite", "--bs=4k", "--direct=1", "--norandommap"]);
    fio.args(["--ioengine=libaio", "--iodepth=32", "--randrepeat=0", "--time_based"]);
    fio.args(["--refill_buffers", "--buffer_compress_percentage=97", "--buffer_compress_chunk=4k"]);
    fio.arg(format!("--filename={device}")).arg(format!("--runtime={}", size.seconds + 600));
    let mut fio = fio.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The load runs for this time.
    std::thread::sleep(Duration::from_secs(size.seconds));
    drives.kill_server();
    assert!(!fio.wait().unwrap().success(), "its device is gone");
}

/// Kills the server repeatedly and prints how long attaching takes; `cut` is called for each kill.
fn survives(drives: &Drives, size: &Size, mut cut: impl FnMut()) {
    for round in 1..=size.rounds {
        let device = drives.attach(&["--memory", "1G"]);
        write_and_kill(drives, &device, size);
        cut();
        let began = Instant::now();
        drives.attach(&["--memory", "1G"]);
        let took = began.elapsed();
        let status = drives.status();
        drives.detach();
        let began = Instant::now();
        let said = drives.done(&["drive", "check", "vol.img"]);
        println!(
            "round {round}: {:.1} GiB hold data, {:.2} GiB of media are used, attached again in \
             {:.2} s, checked in {:.0} s: {}",
            status["logical_bytes_used"].as_u64().unwrap() as f64 / GIB as f64,
            status["media_bytes_used"].as_u64().unwrap() as f64 / GIB as f64,
            took.as_secs_f64(),
            began.elapsed().as_secs_f64(),
            said.trim_end()
        );
        assert!(said.contains("no damage"), "{said}");
        assert!(took < ATTACH_MOST, "{took:?}");
    }
    drives.assert_nothing_left();
}

#[test]
#[ignore = "in --full: the power cut is the harder of the two"]
fn a_large_drive_is_there_again_within_seconds_of_a_kill() {
    if !has_fio() {
        return;
    }
    let size = Size::wanted();
    let (capacity, logical) = (size.capacity.to_string(), size.logical.to_string());
    let drives = Drives::with(&["--capacity", &capacity, "--logical", &logical, "--sparse"]);
    survives(&drives, &size, || {});
}

#[test]
fn a_large_drive_is_there_again_within_seconds_of_a_power_cut() {
    if !has_fio() {
        return;
    }
    let (size, seed) = (Size::wanted(), seed());
    let format = Format {
        drive_id: seed,
        logical_bytes: size.logical,
        codec: Codec::Zstd,
        units: false,
        dictionary: false,
        segment_bytes: None,
    };
    let drives = Drives::new();
    let mut power = Power::with_drive(size.capacity, &format);
    std::os::unix::fs::symlink(power.file(), drives.path("vol.img")).unwrap();
    let mut random = Random::new(seed);
    survives(&drives, &size, || power.cut(&mut random));
}
