//! A mirrored pair, in virtual time, reads as much as two cards and writes as much as one.

use std::sync::Arc;

use assay_drive::{BLOCK_BYTES, Disk, Drive, DriveOptions};
use assay_models::{Command, Kind, PackedDisk, Time, VirtualClock};

use super::device::Device;
use super::preset::Preset;
use super::scale::Scale;
use super::stack::{Builder, Stack};

/// Blocks that are read and written.
const BLOCKS: u64 = 10_000;

/// The model over memory, with all of [`BLOCKS`] written.
fn built(name: &str) -> Stack {
    let preset = Preset::find(name).unwrap();
    let device = Device::new(&preset, Scale { capacity: 4000.0, parallel: 16.0 }).unwrap();
    let media: Arc<dyn Disk> = Arc::new(PackedDisk::new(device.media_bytes()).unwrap());
    let nand = device.nand().unwrap();
    Drive::format(Arc::clone(&media), &nand.format(nand.user_bytes)).unwrap();
    let builder = Builder {
        clock: Arc::new(VirtualClock::default()),
        preset: &preset,
        options: DriveOptions::default(),
        tears: false,
        in_words: &|error| error.into(),
    };
    let stack = builder.build(media, &device, None).unwrap();
    let data = vec![1; BLOCK_BYTES as usize];
    (0..BLOCKS).for_each(|block| stack.top.write(block * BLOCK_BYTES, &data, false).unwrap());
    stack.top.flush().unwrap();
    stack
}

/// Seconds until the last of 4000 commands is answered that come at once, long after everything
/// before, each to another block.
fn burst_s(stack: &Stack, kind: Kind) -> f64 {
    let arrival = Time::from_s(1000.0);
    let mut data = vec![2; BLOCK_BYTES as usize];
    let mut answered = |number: u64| {
        let command = Command {
            kind,
            offset: number * 7919 % BLOCKS * BLOCK_BYTES,
            length: BLOCK_BYTES,
            force_unit_access: false,
            arrival,
        };
        let mut due = stack.top.submit(&command, &mut data).unwrap();
        while !stack.top.settle(&command, &mut due) {}
        (due.when() - arrival).as_us() / 1e6
    };
    (0..4000).map(&mut answered).fold(0.0, f64::max)
}

#[test]
fn a_burst_of_reads_takes_a_pair_half_as_long_and_one_of_writes_as_long() {
    for (kind, times) in [(Kind::Read, 2.0), (Kind::Write, 1.0)] {
        let card = burst_s(&built("s1120-800"), kind);
        let pair = burst_s(&built("s1120-800x2-r1"), kind);
        println!("{kind:?}: {card:.4} s and {pair:.4} s");
        assert!((card / pair / times - 1.0).abs() < 0.05, "{kind:?}: {}", card / pair);
    }
}
