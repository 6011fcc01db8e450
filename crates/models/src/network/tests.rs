//! The delays of a network, alone and fanned out, over nodes with and without delays of their own.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::rotating::{ArrayGeometry, Order, Rotating, SeekTimes, SpindleGeometry};
use crate::testing::{assert_near, closed_loop, mean_us, open_loop, per_s, read, write};
use crate::volume::{VolumeLimits, VolumeTiming};
use crate::{Immediate, Modelled, VirtualClock};
use assay_disk::{Disk, Guarantees, MemoryDisk};
use assay_drive::{Codec, Drive, DriveOptions, Format};

const PAGE: u64 = 16 << 10;
const MS: Time = Time::from_ns(1_000_000);

fn link(round_trip: LatencyModel) -> NetworkLink {
    let rate = Rate(1.25e9);
    NetworkLink { round_trip, to_node_bytes_per_s: rate, from_node_bytes_per_s: rate }
}

fn steady() -> NetworkLink {
    link(LatencyModel::Fixed(Time::from_us(100.0)))
}

fn jittery() -> NetworkLink {
    link(LatencyModel::lognormal(Time::from_us(100.0), Time::from_us(400.0)))
}

/// One disk of 15 000 revolutions a minute.
fn disk(order: Order, seed: u64) -> Rotating {
    let seek = SeekTimes {
        track_to_track: Time::from_us(300.0),
        mean: Time::from_us(3300.0),
        full_stroke: None,
    };
    let spindle = SpindleGeometry {
        capacity_bytes: 4 << 30,
        rotation_time: MS * 4,
        read_seek: seek,
        write_seek: seek,
        media_bytes_per_s: Rate(180e6),
        read_ahead_bytes: 0,
    };
    let array = ArrayGeometry {
        spindle,
        spindles: 1,
        mirrored: false,
        chunk_bytes: PAGE,
        command_time: Time::from_us(200.0),
        link_bytes_per_s: Rate(600e6),
        cache: crate::WriteCache::Writethrough,
        cache_bytes: 0,
        order,
        patience: MS * 500,
    };
    Rotating::new(array, seed).unwrap()
}

fn anywhere(random: &mut Random) -> u64 {
    random.next() % ((4 << 30) / PAGE - 1) * PAGE
}

#[test]
fn it_adds_a_round_trip_and_the_bytes_one_way() {
    for make in [read as fn(u64, u64, Time) -> Command, write] {
        let command = make(0, 1 << 20, MS);
        let mut network = NetworkTiming::new(Immediate, steady(), 1);
        let answered = open_loop(&mut network, &[command]);
        let added = steady().added(command.kind, command.length);
        assert_near(answered[0].latency().as_us(), added.as_us(), 1e-6);
        assert_near(added.as_us(), 100.0 + (1 << 20) as f64 / 1250.0, 1e-6);
        let rate = per_s(&mut network, 32, 2000, |_| make(0, 1 << 20, Time::ZERO));
        assert_near(rate * (1 << 20) as f64, 1.25e9, 0.02);
    }
}

#[test]
fn jitter_has_the_mean_of_its_distribution_and_one_seed() {
    let make = |_| read(0, 4096, Time::ZERO);
    let run =
        |seed| closed_loop(&mut NetworkTiming::new(Immediate, jittery(), seed), 1, 50_000, make);
    let answered = run(1);
    assert_near(mean_us(&answered), jittery().added(Kind::Read, 4096).as_us(), 0.02);
    assert_eq!(answered, run(1));
    assert_ne!(answered, run(2));
}

#[test]
fn over_a_disk_it_adds_to_each_read_and_keeps_the_elevator() {
    let rate = |order, depth| {
        let mut random = Random::new(9);
        let mut network = NetworkTiming::new(disk(order, 1), steady(), 1);
        per_s(&mut network, depth, 5000, |_| read(anywhere(&mut random), PAGE, Time::ZERO))
    };
    let bare = {
        let mut random = Random::new(9);
        let mut bare = disk(Order::Elevator, 1);
        closed_loop(&mut bare, 1, 20_000, |_| read(anywhere(&mut random), PAGE, Time::ZERO))
    };
    let added = steady().added(Kind::Read, PAGE).as_us();
    assert_near(1e6 / rate(Order::Elevator, 1), mean_us(&bare) + added, 0.02);
    let (arrival, elevator) = (rate(Order::Arrival, 32), rate(Order::Elevator, 32));
    assert!(elevator > 1.5 * arrival, "{elevator} for {arrival}");
}

fn latency_us(redundancy: Redundancy, make: fn(u64, u64, Time) -> Command) -> f64 {
    let mut nodes = FanOut::new(redundancy, jittery(), 3, |_| Immediate);
    mean_us(&closed_loop(&mut nodes, 1, 50_000, |i| make(i as u64 * PAGE, PAGE, Time::ZERO)))
}

/// The mean of the latest of `of` round trips, each the sum of two halves.
fn latest_us(of: usize) -> f64 {
    let mut random = Random::new(77);
    let LatencyModel::Lognormal { median, sigma } = jittery().round_trip else { panic!() };
    let mut half = || median.as_us() / 2.0 * (sigma * random.normal()).exp();
    let mut latest = || (0..of).map(|_| half() + half()).fold(0.0, f64::max);
    (0..200_000).map(|_| latest()).sum::<f64>() / 200_000.0
}

#[test]
fn the_slowest_answer_that_is_needed_counts() {
    let passing = |bytes: u64| bytes as f64 / 1250.0;
    let copies = Redundancy::Copies(3);
    assert_near(latency_us(copies, read), latest_us(1) + passing(PAGE), 0.02);
    assert_near(latency_us(copies, write), latest_us(3) + passing(PAGE), 0.02);
    let erasure = Redundancy::Erasure { data: 4, parity: 2 };
    assert_near(latency_us(erasure, read), latest_us(4) + passing(PAGE / 4), 0.02);
    assert_near(latency_us(erasure, write), latest_us(6) + passing(PAGE / 4), 0.02);
}

#[test]
fn pieces_are_whole_blocks_and_so_small_writes_store_more() {
    let erasure = Redundancy::Erasure { data: 4, parity: 2 };
    let stored = [4096, PAGE, 64 << 10].map(|bytes| erasure.stored_bytes_per_byte(bytes));
    assert_eq!(stored, [6.0, 1.5, 1.5]);
    assert_eq!(erasure.bytes_of_node(5 * 4096), 8192);
    assert_eq!(Redundancy::Copies(2).stored_bytes_per_byte(PAGE), 2.0);
}

#[test]
fn every_node_has_a_state_of_its_own() {
    let limits = VolumeLimits::only(Rate(1000.0), Rate(1e12), Time::ZERO);
    let rate = |redundancy, is_read: bool| {
        let mut nodes =
            FanOut::new(redundancy, steady(), 3, |seed| VolumeTiming::new(limits, seed));
        per_s(&mut nodes, 64, 6000, |i| {
            let offset = (i as u64) << 22;
            if is_read { read(offset, PAGE, Time::ZERO) } else { write(offset, PAGE, Time::ZERO) }
        })
    };
    // Three nodes share the reads of whole copies; each takes every write.
    assert_near(rate(Redundancy::Copies(3), true), 3000.0, 0.03);
    assert_near(rate(Redundancy::Copies(3), false), 1000.0, 0.03);
    assert_near(rate(Redundancy::Erasure { data: 2, parity: 1 }, true), 1500.0, 0.03);
    assert_near(rate(Redundancy::Erasure { data: 2, parity: 1 }, false), 1000.0, 0.03);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A part that is put off on a node is put off at the host, and nothing stays behind.
    #[test]
    fn over_disks_answers_come_after_their_commands_and_the_same_way_each_time(
        all in prop::collection::vec((0..200_000_u64, 0..6_000_u64, any::<bool>()), 1..100),
        is_erasure in any::<bool>(),
    ) {
        let redundancy = match is_erasure {
            true => Redundancy::Erasure { data: 2, parity: 1 },
            false => Redundancy::Copies(2),
        };
        let nodes = || FanOut::new(redundancy, jittery(), 5, |seed| disk(Order::Elevator, seed));
        let mut at = Time::ZERO;
        let commands: Vec<Command> = all.iter().map(|&(page, pause_us, is_read)| {
            at += Time::from_ns(pause_us * 1000);
            if is_read { read(page * PAGE, PAGE, at) } else { write(page * PAGE, PAGE, at) }
        }).collect();
        let mut first = nodes();
        let answered = open_loop(&mut first, &commands);
        prop_assert!(answered.iter().all(|answer| answer.latency() > Time::from_us(200.0)));
        prop_assert!(first.is_at_rest());
        prop_assert_eq!(answered, open_loop(&mut nodes(), &commands));
    }
}

#[test]
fn over_a_drive_its_nodes_differ_by_their_links_alone() {
    let (clock, memory) = (Arc::new(VirtualClock::default()), MemoryDisk::new(64 << 20).unwrap());
    let guarantees = Guarantees { atomic_write_bytes: 4096, volatile_cache: true };
    let mut limits = VolumeLimits::only(Rate(1e9), Rate(1e15), Time::ZERO);
    limits.read_latency = LatencyModel::Fixed(MS);
    let media = Arc::new(Modelled::new(
        Arc::new(memory),
        clock.clone(),
        VolumeTiming::new(limits, 1),
        guarantees,
    ));
    let format = Format {
        drive_id: 1,
        logical_bytes: 16 << 20,
        codec: Codec::None,
        units: false,
        dictionary: false,
        segment_bytes: None,
    };
    Drive::format(media.clone(), &format).unwrap();
    let drive = Arc::new(Drive::open(media, DriveOptions::default()).unwrap());
    let nodes = FanOut::new(Redundancy::Copies(2), steady(), 1, |_| Immediate);
    let top = Modelled::new(drive.clone(), clock, nodes, drive.guarantees());
    let page: Vec<u8> = (0..PAGE).map(|i| ((i * 7919) >> 5) as u8).collect();
    top.write(0, &page, false).unwrap();
    top.flush().unwrap();
    let mut data = assay_disk::BlockBuffer::zeroed(PAGE as usize);
    top.read(0, data.as_mut()).unwrap();
    assert_eq!(data.as_ref(), &page[..]);
    let read_us = top.tally().of(Kind::Read).modelled_ns as f64 / 1e3;
    // The drive may have the new data in memory, but they have been flushed: one read of media, one
    // way.
    assert_near(read_us, 1000.0 + 100.0 + PAGE as f64 / 1250.0, 0.001);
}
