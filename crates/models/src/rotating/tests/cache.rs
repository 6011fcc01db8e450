//! The controller's cache: the latency that it hides until it is full, and the wait of a flush.

use super::*;
use crate::testing::{ask, assert_near, closed_loop, flush, open_loop, per_s, submit};

const ROOM: u64 = 256;

fn cached(cache: WriteCache) -> ArrayGeometry {
    ArrayGeometry { cache, cache_bytes: ROOM * PAGE, ..array(2, true) }
}

/// The link and the controller alone.
fn cached_us() -> f64 {
    200.0 + PAGE as f64 / 600.0
}

#[test]
fn a_cached_write_takes_the_controller_and_the_link_and_so_does_reading_it_again() {
    let mut array = rotating(&cached(WriteCache::Protected));
    for (i, page) in [7, 90_000, 200].into_iter().enumerate() {
        let at = MS * i as u64;
        let written = ask(&mut array, write(page * PAGE, PAGE, at)).when() - at;
        let read = ask(&mut array, read(page * PAGE, PAGE, at)).when() - at;
        assert_near(written.as_us(), cached_us(), 0.001);
        assert_near(read.as_us(), cached_us(), 0.001);
    }
    let elsewhere = ask(&mut array, read(1 << 30, PAGE, MS * 3)).when() - MS * 3;
    assert!(elsewhere > MS, "{elsewhere:?}");
}

#[test]
fn a_full_cache_makes_writes_wait_for_room_in_their_order() {
    let array = cached(WriteCache::Protected);
    let mut pages = Pages::of(&array, 4);
    let commands: Vec<Command> = (0..2 * ROOM).map(|_| pages.write()).collect();
    let answered = open_loop(&mut rotating(&array), &commands);
    // All come at once and pass the link one after the other; room is there for the first 256.
    let link_us = |i: u64| 200.0 + (i + 1) as f64 * PAGE as f64 / 600.0;
    let latencies: Vec<f64> = answered.iter().map(|answer| answer.latency().as_us()).collect();
    assert_near(latencies[200], link_us(200), 0.01);
    assert_near(latencies[ROOM as usize - 1], link_us(ROOM - 1), 0.01);
    assert!(latencies[ROOM as usize + 10] > 2.0 * link_us(ROOM + 10), "{latencies:?}");
    assert!(latencies.windows(2).all(|pair| pair[0] <= pair[1]), "{latencies:?}");
    assert_eq!(answered[400].due.resource(), Resource::Buffer);
}

#[test]
fn a_cache_writes_out_by_a_sweep_what_would_be_seeks() {
    let rate = |cache_bytes| {
        let array = ArrayGeometry { cache_bytes, ..cached(WriteCache::Protected) };
        let mut pages = Pages::of(&array, 4);
        per_s(&mut rotating(&array), 4, 8000, |_| pages.write())
    };
    let (through, small, large) = (rate(0), rate(ROOM * PAGE), rate(16 * ROOM * PAGE));
    println!(
        "writes a second: {through:.0} without, {small:.0} with 4 MiB, {large:.0} with 64 MiB"
    );
    assert!(small > 1.4 * through, "{small} for {through}");
    assert!(large > 1.05 * small, "{large} for {small}");
}

#[test]
fn what_is_written_again_is_written_out_once() {
    let mut array = rotating(&cached(WriteCache::Volatile));
    let commands: Vec<Command> =
        (0..1000).map(|i| write(PAGE * (i % 4), PAGE, Time::from_ns(i * 1000))).collect();
    open_loop(&mut array, &commands);
    let done = ask(&mut array, flush(MS * 2)).when();
    assert!(done < MS * 40, "{done:?}");
    assert!(array.destaged_bytes <= 2 * 3 * 4 * PAGE, "{}", array.destaged_bytes);
}

#[test]
fn a_flush_drains_a_volatile_cache_and_no_other() {
    for (cache, drains) in [
        (WriteCache::Volatile, true),
        (WriteCache::Protected, false),
        (WriteCache::Writethrough, false),
    ] {
        let geometry = cached(cache);
        let (mut array, mut pages) = (rotating(&geometry), Pages::of(&geometry, 6));
        for _ in 0..100 {
            submit(&mut array, &pages.write());
        }
        let latency = ask(&mut array, flush(MS * 10)).when() - MS * 10;
        assert_eq!(latency > MS * 100, drains, "{cache:?}: {latency:?}");
        assert_eq!(array.dirty_bytes() > 0, cache == WriteCache::Protected);
    }
}

#[test]
fn a_flush_waits_for_nothing_that_came_after_it() {
    let geometry = cached(WriteCache::Volatile);
    let latency = |later: u64| {
        let (mut array, mut pages) = (rotating(&geometry), Pages::of(&geometry, 6));
        let mut commands: Vec<Command> = (0..20).map(|_| pages.write()).collect();
        commands.push(flush(MS));
        commands.extend((0..later).map(|i| Command { arrival: MS * 2 + MS * i, ..pages.write() }));
        open_loop(&mut array, &commands)[20].latency()
    };
    let (alone, beside) = (latency(0), latency(150));
    assert!(alone > MS * 50, "{alone:?}");
    // What is being written when the flush comes may differ; the later 150 would take half a second
    // more.
    assert!(beside < alone + MS * 30, "{beside:?} for {alone:?}");
}

#[test]
fn a_forced_write_is_on_the_disks_unless_the_cache_is_protected() {
    for (cache, goes_through) in [(WriteCache::Volatile, true), (WriteCache::Protected, false)] {
        let geometry = cached(cache);
        let (mut array, mut pages) = (rotating(&geometry), Pages::of(&geometry, 6));
        let mut forced = || Command { force_unit_access: true, ..pages.write() };
        let answered = closed_loop(&mut array, 1, 100, |_| forced());
        assert_eq!(mean_us(&answered) > 3000.0, goes_through, "{cache:?}");
    }
}
