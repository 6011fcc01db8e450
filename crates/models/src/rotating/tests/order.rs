//! The elevator: its gain, the requests that it moves, and the bound on their wait.

use parking_lot::Mutex;
use std::sync::{Arc, OnceLock, Weak};

use proptest::prelude::*;

use super::*;
use crate::testing::{closed_loop, open_loop, per_s, put_off, submit};
use crate::{Clock, Modelled, VirtualClock};
use assay_disk::{Disk, Guarantees, MemoryDisk};

fn ordered(order: Order) -> ArrayGeometry {
    ArrayGeometry { order, ..array(1, false) }
}

fn rate(order: Order, depth: usize) -> f64 {
    let array = ordered(order);
    let mut pages = Pages::of(&array, 5);
    per_s(&mut rotating(&array), depth, 5000, |_| pages.read())
}

#[test]
fn the_elevator_beats_the_order_of_arrival_and_the_nearest_first_beats_both() {
    let alone = rate(Order::Elevator, 1);
    for depth in [8, 32] {
        let rates =
            [Order::Arrival, Order::Elevator, Order::Nearest].map(|order| rate(order, depth));
        println!("depth {depth}: {rates:.0?} a second, {alone:.0} at depth 1");
        assert!(rates[1] > 1.25 * rates[0], "{rates:?}");
        assert!(rates[2] > 1.1 * rates[1], "{rates:?}");
        // In the order of arrival, depth hides only what is not the disk's work.
        assert!((1.0..1.06).contains(&(rates[0] / alone)), "{rates:?} and {alone} at depth 1");
    }
}

#[test]
fn who_is_passed_over_is_told_so() {
    for (order, is_moved) in [(Order::Elevator, true), (Order::Arrival, false)] {
        let mut disk = rotating(&ordered(order));
        let at = |gib: u64, us: f64| read(gib << 30, PAGE, Time::from_us(us));
        submit(&mut disk, &at(1, 0.0));
        let mut far = submit(&mut disk, &at(3, 10.0));
        let told = far.when();
        // The arm is on its way to the first; the second of these lies before the far one.
        submit(&mut disk, &at(2, 300.0));
        assert_eq!(put_off(&mut disk, &mut far), is_moved, "{order:?}");
        assert_eq!(far.when() > told, is_moved, "{order:?}");
        // One that comes when the arm has turned to it is too late.
        submit(&mut disk, &at(2, far.when().as_us() - 1.0));
        assert!(!put_off(&mut disk, &mut far), "{order:?}");
        assert_eq!(far.ticket(), None);
    }
}

/// A clock whose first waiter is overtaken while it waits.
#[derive(Default)]
struct Overtaking {
    clock: VirtualClock,
    disk: OnceLock<Weak<Modelled<Rotating>>>,
    waits: Mutex<Vec<Time>>,
}

impl Clock for Overtaking {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn wait_until(&self, due: Time) {
        let waits = {
            let mut waits = self.waits.lock();
            waits.push(due);
            waits.len()
        };
        if waits == 1 {
            self.clock.set(Time::from_us(300.0));
            let disk = self.disk.get().and_then(Weak::upgrade).unwrap();
            disk.write(1 << 30, &[1; 4096], false).unwrap();
        }
        self.clock.set(due.max(self.clock.now()));
    }
}

#[test]
fn a_disk_that_was_put_off_waits_again() {
    let (clock, memory) = (Arc::new(Overtaking::default()), MemoryDisk::new(3 << 30).unwrap());
    let mut disk = rotating(&array(1, false));
    // Something else is being served, so that both wait for the arm.
    submit(&mut disk, &read(0, PAGE, Time::ZERO));
    let guarantees = Guarantees { atomic_write_bytes: 4096, volatile_cache: false };
    let disk = Arc::new(Modelled::new(Arc::new(memory), clock.clone(), disk, guarantees));
    clock.disk.set(Arc::downgrade(&disk)).unwrap();
    clock.clock.set(Time::from_us(100.0));
    disk.read(2 << 30, &mut [0; 4096]).unwrap();
    let waits = clock.waits.lock();
    let [first, overtaking, again] = waits[..] else { panic!("{waits:?}") };
    assert!(first < again && overtaking < again, "{waits:?}");
    let tally = disk.tally();
    let achieved = Time::from_ns(tally.of(Kind::Read).modelled_ns) + Time::from_us(100.0);
    assert!(achieved >= again, "{achieved:?} for {again:?}");
    assert!(tally.waited[Resource::Spindle as usize] >= 1);
}

/// One request behind the arm while twice as many as it can serve keep coming before it, each
/// further on.
fn latency_beside_a_stream(patience: Time) -> Time {
    let mut disk = rotating(&ArrayGeometry { patience, ..array(1, false) });
    let stream = |i| read((1 << 30) + i * 44 * PAGE, PAGE, MS * i);
    let behind = 20;
    let mut commands: Vec<Command> = (0..500).map(stream).collect();
    commands.insert(behind, read(0, PAGE, MS * behind as u64));
    open_loop(&mut disk, &commands)[behind].latency()
}

#[test]
fn nobody_waits_for_much_longer_than_the_patience() {
    let patient = latency_beside_a_stream(MS * 100_000);
    assert!(patient > MS * 1000, "the stream holds it up for {patient:?} only");
    let bounded = latency_beside_a_stream(MS * 500);
    assert!(bounded < MS * 520, "{bounded:?}");
}

fn commands(array: &ArrayGeometry) -> impl Strategy<Value = Vec<Command>> + use<> {
    let pages = array.capacity_bytes() / PAGE - 64;
    let one = (0..pages, 1..64_u64, 0..20_000_u64, 0..10_u8, any::<bool>());
    prop::collection::vec(one, 1..120).prop_map(|all| {
        let mut at = Time::ZERO;
        let mut commands = Vec::new();
        for (page, pages, pause_us, kind, force_unit_access) in all {
            at += Time::from_ns(pause_us * 1000);
            let (offset, length) = (page * PAGE, pages * PAGE);
            let kind = match kind {
                0 => Kind::Flush,
                1..6 => Kind::Write,
                _ => Kind::Read,
            };
            commands.push(Command { kind, offset, length, force_unit_access, arrival: at });
        }
        commands
    })
}

fn any_array() -> impl Strategy<Value = ArrayGeometry> {
    let order = prop_oneof![Just(Order::Arrival), Just(Order::Elevator), Just(Order::Nearest)];
    let cache = prop_oneof![
        Just(WriteCache::Volatile),
        Just(WriteCache::Protected),
        Just(WriteCache::Writethrough)
    ];
    (1..4_u32, any::<bool>(), order, cache, 0..64_u64).prop_map(
        |(sides, mirrored, order, cache, pages)| ArrayGeometry {
            order,
            cache,
            cache_bytes: pages * 8 * PAGE,
            ..array(sides * if mirrored { 2 } else { 1 }, mirrored)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_command_is_answered_after_it_came_and_the_same_way_each_time(
        (array, commands) in any_array().prop_flat_map(|array| (Just(array), commands(&array)))
    ) {
        let mut first = rotating(&array);
        let answered = open_loop(&mut first, &commands);
        for one in &answered {
            prop_assert!(one.latency() >= array.command_time, "{one:?}");
            prop_assert_eq!(one.due.ticket(), None);
        }
        prop_assert_eq!(first.requests.len(), 0);
        prop_assert_eq!(&answered, &open_loop(&mut rotating(&array), &commands));
        // The link passes no more than it can in any time, but for what was under way at its
        // beginning.
        let mut reads: Vec<(Time, u64)> = answered.iter()
            .filter(|answer| answer.command.kind == Kind::Read)
            .map(|answer| (answer.due.when(), answer.command.length)).collect();
        reads.sort_unstable();
        for from in 0..reads.len() {
            let mut bytes = 0;
            for (at, length) in &reads[from..] {
                bytes += length;
                let span = (*at - reads[from].0).as_s() + 0.025;
                prop_assert!(bytes as f64 <= array.link_bytes_per_s.0 * span + 64.0 * PAGE as f64);
            }
        }
    }
}

#[test]
fn another_seed_turns_the_platters_otherwise() {
    let array = array(6, true);
    let run = |seed| {
        let mut pages = Pages::of(&array, 8);
        closed_loop(&mut Rotating::new(array, seed).unwrap(), 16, 500, |_| pages.read())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn arrays_that_cannot_be_are_refused_in_a_line() {
    let good = array(2, true);
    let still = SpindleGeometry { rotation_time: Time::ZERO, ..spindle() };
    let contradictory = SpindleGeometry {
        read_seek: SeekTimes { mean: MS * 9, ..spindle().read_seek },
        ..spindle()
    };
    for (array, word) in [
        (ArrayGeometry { spindles: 0, ..good }, "spindles"),
        (ArrayGeometry { spindles: 3, ..good }, "even"),
        (ArrayGeometry { chunk_bytes: 0, ..good }, "chunks"),
        (ArrayGeometry { chunk_bytes: 8 << 30, ..good }, "smaller"),
        (ArrayGeometry { spindle: still, ..good }, "rotation"),
        (ArrayGeometry { spindle: contradictory, ..good }, "seek times"),
    ] {
        let error = Rotating::new(array, 1).unwrap_err().to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{error}");
    }
    assert!(crate::rotating::figures::reads_per_s(&good, PAGE, 0, 1.0).is_ok());
}
