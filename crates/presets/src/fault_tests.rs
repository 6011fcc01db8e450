//! A fault has its effect, in virtual time, and only then; impossible faults are refused.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Disk, Drive, DriveOptions};
use assay_models::{Command, Kind, PackedDisk, Time, VirtualClock};

use super::closed::ClosedConditions;
use super::device::Device;
use super::preset::{PRESETS, Preset};
use super::scale::Scale;
use super::stack::{Builder, Stack};

const STALLS: &str = "stall_ms = { value = 200, mark = \"fitted\", source = \"put there\" }\n\
                      every_s = { value = 10, mark = \"fitted\", source = \"put there\" }";
const SLOWER: &str = "slower = { value = 1.05, mark = \"fitted\", source = \"put there\" }";
const TEARS: &str = "tears = { value = true, mark = \"fitted\", source = \"put there\" }";

/// The preset of this name with what is said of its faults.
fn with(name: &str, fault: &str) -> anyhow::Result<Preset> {
    let (_, text) = PRESETS.iter().find(|(known, _)| *known == name).unwrap();
    Preset::parse(name, &format!("{text}\n[fault]\n{fault}\n"))
}

/// The model over memory, with so many blocks written.
fn built(preset: &Preset, blocks: u64) -> Stack {
    let device = Device::new(preset, Scale { capacity: 12_800.0, parallel: 36.0 }).unwrap();
    let media: Arc<dyn Disk> = Arc::new(PackedDisk::new(device.media_bytes()).unwrap());
    if let Some(nand) = device.nand() {
        Drive::format(Arc::clone(&media), &nand.format(nand.user_bytes)).unwrap();
    }
    let builder = Builder {
        clock: Arc::new(VirtualClock::default()),
        preset,
        options: DriveOptions::default(),
        tears: false,
        in_words: &|error| error.into(),
    };
    let stack = builder.build(media, &device, None).unwrap();
    let data = vec![1; BLOCK_BYTES as usize];
    (0..blocks).for_each(|block| stack.top.write(block * BLOCK_BYTES, &data, false).unwrap());
    stack.top.flush().unwrap();
    stack
}

/// Duration of each of `count` reads that come one `apart_us` after the other, in milliseconds.
fn reads_ms(stack: &Stack, count: u64, apart_us: u64, blocks: u64) -> Vec<f64> {
    let mut data = vec![0; BLOCK_BYTES as usize];
    let mut read = |index: u64| {
        // After all that was written, and from the beginning of a stall's period.
        let arrival = Time::from_s(1000.0) + Time::from_us((index * apart_us) as f64);
        let offset = index * 7 % blocks * BLOCK_BYTES;
        let command = Command {
            kind: Kind::Read,
            offset,
            length: BLOCK_BYTES,
            force_unit_access: false,
            arrival,
        };
        let mut due = stack.top.submit(&command, &mut data).unwrap();
        while !stack.top.settle(&command, &mut due) {}
        (due.when() - arrival).as_us() / 1e3
    };
    (0..count).map(&mut read).collect()
}

/// One of every kind that there is.
const OF_EVERY_KIND: [&str; 4] = ["p4610-3.2", "sas15k-r10x6", "gp3", "nvme-tcp-rf2"];

#[test]
fn a_slower_device_takes_longer_in_all_its_parts_by_what_is_said() {
    // Not of disks: where a slower one stands when a read comes is another place of its turn.
    for name in OF_EVERY_KIND.into_iter().filter(|name| !name.starts_with("sas")) {
        let sum = |fault: &str| -> f64 {
            reads_ms(&built(&with(name, fault).unwrap(), 256), 1000, 100_371, 256).iter().sum()
        };
        let (sound, slower) = (sum(""), sum(SLOWER));
        println!("{name}: {sound:.3} ms and {slower:.3} ms");
        assert_eq!(sound, sum(""), "{name}: chance is the same each time");
        assert!((slower / sound - 1.05).abs() < 0.001, "{name}: {}", slower / sound);
    }
}

#[test]
fn a_stalling_device_stalls_200_ms_every_10_s_and_a_sound_one_never() {
    for name in OF_EVERY_KIND {
        let slow = |fault: &str| -> Vec<(usize, f64)> {
            let stack = built(&with(name, fault).unwrap(), 256);
            let all = reads_ms(&stack, 300, 100_000, 256).into_iter().enumerate();
            all.filter(|(_, ms)| *ms > 50.0).collect()
        };
        assert_eq!(slow(""), [], "{name}");
        let slow = slow(STALLS);
        // Reads come each 100 ms: two of a stall, of which the first waits for all of it.
        let first: Vec<usize> = slow.iter().step_by(2).map(|(index, _)| *index).collect();
        assert_eq!(first, [98, 198, 298], "{name}: {slow:?}");
        assert!(slow.iter().step_by(2).all(|(_, ms)| (200.0..230.0).contains(ms)), "{slow:?}");
    }
}

#[test]
fn what_follows_from_the_numbers_tells_of_the_fault() {
    let closed = |fault: &str| {
        let preset = with("p4610-3.2", fault).unwrap();
        let device = Device::new(&preset, Scale::default()).unwrap();
        device.closed(&preset, ClosedConditions::default()).unwrap()
    };
    for (fault, times) in [(SLOWER, 1.05), (STALLS, 1.0 / 0.98), (TEARS, 1.0), ("", 1.0)] {
        for (sound, faulty) in closed("").iter().zip(closed(fault)) {
            let expected = if sound.name.ends_with("per_s") {
                sound.value / times
            } else {
                sound.value * times
            };
            assert!((faulty.value / expected - 1.0).abs() < 1e-9, "{fault}: {faulty:?}");
        }
    }
}

#[test]
fn a_fault_is_told_in_words() {
    let words = |fault: &str| with("p4610-3.2", fault).unwrap().fault().to_string();
    assert_eq!(words(STALLS), "stalls for 200 ms every 10 s");
    assert_eq!(words(SLOWER), "takes 1.05 times as long");
    assert_eq!(words(TEARS), "tears writes that were not flushed");
    assert!(with("p4610-3.2", "").unwrap().fault().is_none());
}

#[test]
fn a_fault_that_cannot_be_is_said_with_its_number() {
    for (name, fault, says) in [
        (
            "gp3",
            STALLS.replace("200", "20000"),
            "fault.stall_ms is 20000; it must be less than the 10 s",
        ),
        ("gp3", STALLS.replace("200", "-1"), "fault.stall_ms is -1"),
        ("gp3", STALLS.replace("10", "0"), "fault.every_s is 0"),
        ("gp3", STALLS.lines().next().unwrap().into(), "a stall needs the key fault.every_s"),
        (
            "gp3",
            STALLS.lines().nth(1).unwrap().into(),
            "fault.every_s needs the key fault.stall_ms",
        ),
        ("gp3", SLOWER.replace("1.05", "0.9"), "fault.slower is 0.9"),
        (
            "gp3",
            TEARS.into(),
            "only a model of kind nand can tear writes, and this is of kind volume",
        ),
        ("gp3", SLOWER.replace("slower", "slowr"), "unknown key `slowr`; did you mean `slower`?"),
    ] {
        let error = format!("{:#}", with(name, &fault).unwrap_err());
        assert!(error.contains(says) && error.lines().count() == 1, "`{says}` is not in: {error}");
    }
}
