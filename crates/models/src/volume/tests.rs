//! A volume lets through as much as its limits allow, no more and no less.

use proptest::prelude::*;

use super::*;
use crate::testing::{ask, assert_near, closed_loop, flush, mean_us, per_s, read, write};

const KIB: u64 = 1024;
const MS: Time = Time::from_ns(1_000_000);

fn only(operations_per_s: f64, bytes_per_s: f64) -> VolumeTiming {
    VolumeTiming::new(VolumeLimits::only(Rate(operations_per_s), Rate(bytes_per_s), Time::ZERO), 1)
}

/// Turns of commands that all came at 7 ms, in milliseconds from then.
fn turns_ms(volume: &mut VolumeTiming, lengths_kib: &[u64]) -> Vec<u64> {
    let came = MS * 7;
    let answer = |&kib: &u64| ask(volume, write(0, kib * KIB, came)).when() - came;
    lengths_kib.iter().map(answer).map(|time| (time.as_us() / 1000.0).round() as u64).collect()
}

#[test]
fn operations_go_one_by_one_and_large_ones_count_for_several() {
    assert_eq!(turns_ms(&mut only(1000.0, 1e18), &[4; 4]), [0, 1, 2, 3]);
    assert_eq!(turns_ms(&mut only(1000.0, 1e18), &[256, 260, 1024, 4, 4]), [0, 1, 3, 7, 8]);
}

#[test]
fn bytes_are_limited_beside_operations() {
    // 1000 KiB/s: 100 KiB take a tenth of a second whatever the operations allow.
    let mut volume = only(1000.0, 1000.0 * KIB as f64);
    assert_eq!(turns_ms(&mut volume, &[100, 4, 4, 4]), [0, 100, 104, 108]);
    let mut due = Due::at(MS * 7);
    volume.begin(&read(0, 4096, MS * 7), &mut due);
    assert_eq!(due.resource(), Resource::Bytes);
}

#[test]
fn flushes_and_discards_are_free() {
    let mut volume = only(1.0, 1.0);
    ask(&mut volume, write(0, 4096, Time::ZERO));
    let discard = Command { kind: Kind::Discard, ..write(0, 4096, Time::ZERO) };
    for _ in 0..1000 {
        assert_eq!(ask(&mut volume, flush(Time::ZERO)).when(), Time::ZERO);
        assert_eq!(ask(&mut volume, discard).when(), Time::ZERO);
    }
}

/// A small AWS gp2 volume: 300 operations a second, 3 000 while there is credit of 5.4 million,
/// here a hundredth of it.
fn gp2() -> VolumeLimits {
    let limits = VolumeLimits::only(Rate(300.0), Rate(128.0 * 1024.0 * KIB as f64), MS * 10);
    let credit = 54_000.0;
    VolumeLimits {
        operations: Allowance { per_s: Rate(300.0), credit, peak_per_s: Some(Rate(3000.0)) },
        ..limits
    }
}

#[test]
fn credit_is_spent_at_the_peak_and_then_the_long_run_counts() {
    let (limits, seconds) = (gp2(), gp2().operations.peak_s());
    assert_near(seconds, 20.0, 1e-9);
    let answered =
        closed_loop(&mut VolumeTiming::new(limits, 1), 8, 66_000, |_| read(0, 4096, Time::ZERO));
    let until =
        |s: f64| answered.iter().filter(|answer| answer.due.when().as_s() <= s).count() as f64;
    assert_near(until(10.0), 30_000.0, 0.01);
    assert_near(until(20.0), 60_000.0, 0.01);
    assert_near(until(35.0) - until(25.0), 3000.0, 0.01);
}

#[test]
fn a_rest_refills_credit_at_the_long_run_s_rate() {
    let mut volume = VolumeTiming::new(gp2(), 1);
    let spent = closed_loop(&mut volume, 8, 61_000, |_| read(0, 4096, Time::ZERO));
    let end = spent.iter().map(|answer| answer.due.when()).max().unwrap();
    // 18 s of rest are 5 400 operations, at once as far as the peak lets them.
    let again = end + Time::from_s(18.0);
    let mut turns = (0..10_000).map(|_| ask(&mut volume, read(0, 4096, again)).when() - again);
    assert_near(turns.nth(5000).unwrap().as_s(), 5000.0 / 3000.0, 0.02);
    assert!(turns.nth(2000).unwrap().as_s() > 5.0);
}

#[test]
fn latency_and_limit_are_the_closed_forms_and_the_tail_is_there() {
    let mut limits = VolumeLimits::only(Rate(16_000.0), Rate(1e9), MS * 10);
    limits.read_latency = LatencyModel::lognormal(Time::from_us(500.0), Time::from_us(2000.0));
    let make = |_| read(0, 16 * KIB, Time::ZERO);
    let alone = closed_loop(&mut VolumeTiming::new(limits, 1), 1, 100_000, make);
    assert_near(mean_us(&alone), limits.read_latency.mean().as_us(), 0.02);
    let slow = alone.iter().filter(|answer| answer.latency() > Time::from_us(2000.0)).count();
    assert_near(slow as f64, 1000.0, 0.1);
    let many = per_s(&mut VolumeTiming::new(limits, 1), 64, 200_000, make);
    assert_near(many, limits.commands_per_s(16 * KIB), 0.02);
    let large = |_| read(0, 1024 * KIB, Time::ZERO);
    let bytes = per_s(&mut VolumeTiming::new(limits, 1), 64, 5000, large);
    assert_near(bytes, limits.commands_per_s(1024 * KIB), 0.02);
}

#[test]
fn a_seed_gives_the_same_tail_and_another_one_another() {
    let mut limits = gp2();
    limits.read_latency = LatencyModel::TwoPoint { usual: MS, slow: MS * 30, slow_share: 0.02 };
    let run = |seed| {
        closed_loop(&mut VolumeTiming::new(limits, seed), 4, 2000, |_| read(0, 4096, Time::ZERO))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

proptest! {
    #[test]
    fn no_window_has_more_than_the_caps(
        commands in prop::collection::vec((0..3000_u64, 1..300_u64, any::<bool>()), 1..200),
        operations_per_s in 100..5000_u32,
        mib_per_s in 1..200_u32,
        rest_ms in 0..20_u64,
    ) {
        let rate = f64::from(mib_per_s) * 1024.0 * KIB as f64;
        let rest = MS * rest_ms;
        let limits = VolumeLimits::only(Rate(f64::from(operations_per_s)), Rate(rate), rest);
        let mut volume = VolumeTiming::new(limits, 1);
        let mut at = Time::ZERO;
        let mut through = Vec::new();
        for (pause_us, blocks, is_read) in commands {
            at += Time::from_ns(pause_us * 1000);
            let length = blocks * 4096;
            let command = if is_read { read(0, length, at) } else { write(0, length, at) };
            let due = ask(&mut volume, command).when();
            prop_assert!(due >= at);
            through.push((due, limits.operations_of(length), length));
        }
        for (first, (from, ..)) in through.iter().enumerate() {
            let (mut operations, mut bytes) = (0, 0);
            // The last of a window goes on credit, whatever its size.
            for &(at, its_operations, its_bytes) in &through[first..] {
                let span = (at - *from + rest).as_s() + 1e-9;
                prop_assert!(operations as f64 <= limits.operations.per_s.0 * span + 1e-3);
                prop_assert!(bytes as f64 <= rate * span + 1.0);
                operations += its_operations;
                bytes += its_bytes;
            }
        }
    }
}
