//! A stall that was put there is found and dated, and what was not put there is not found.

use std::collections::BTreeMap;

use super::*;
use crate::simulated::key;
use crate::statistics::simulated::{Noise, autoregression};
use crate::trial::measured::Eligibility;
use assay_study::SecondLatencies;

const SECONDS: u32 = 60;
const THREADS: u32 = 8;

/// A run of 8 connections at some thousand transactions a second, with response times that have a
/// tail; in the `stalled` seconds all of them waited `stall_ms` once.
fn stalled(noise: &mut Noise, stalled: &[u32], stall_ms: f64) -> (Trial, Measured, Vec<Series>) {
    let mut tps = autoregression(noise, SECONDS as usize, 1000.0, 0.06, 0.4);
    let (mut latencies, mut longest) = (SecondLatencies::default(), Vec::new());
    for (place, rate) in tps.iter_mut().enumerate() {
        let second = place as u32 + 1;
        let is_stalled = stalled.contains(&second);
        *rate *= if is_stalled { 1.0 - stall_ms / 1000.0 } else { 1.0 };
        let time = |noise: &mut Noise| (7e6 * (0.5 * noise.normal()).exp()) as u64;
        let mut times: Vec<(u64, u64)> = (0..*rate as u32).map(|_| (time(noise), 1)).collect();
        if is_stalled {
            for (ns, _) in times.iter_mut().take(THREADS as usize) {
                *ns += (stall_ms * 1e6) as u64;
            }
        }
        longest.push(times.iter().map(|(ns, _)| *ns as f64 / 1e6).fold(0.0, f64::max));
        latencies.push(&SecondLatency::of(second, &times));
    }
    let of = |metric, value: &dyn Fn(u32) -> f64| Series {
        points: (1..=SECONDS).map(|second| (second, value(second))).collect(),
        ..Series::of(metric)
    };
    let wave = |second: u32| 1.0 + 0.1 * f64::from(second % 7);
    let series = vec![
        of(metric!("tps"), &|second| tps[second as usize - 1]),
        of(metric!("latency_ms_p50"), &|_| 7.0),
        of(metric!("latency_ms_max"), &|second| longest[second as usize - 1]),
        of(metric!("disk_write_latency_ms"), &|second| {
            wave(second) * if stalled.contains(&second) { 30.0 } else { 1.0 }
        }),
        of(metric!("innodb_dirty_pages"), &|second| 1000.0 * wave(second)),
        of(metric!("server_threads"), &|_| 5.0),
    ];
    let measured = Measured {
        key: key("config", THREADS, 1),
        eligibility: Eligibility::Usable,
        tps,
        latencies,
        figures: BTreeMap::new(),
        absent: BTreeMap::new(),
    };
    let trial = Trial {
        window: Some(Window { from_s: 0.0, to_s: f64::from(SECONDS) }),
        facts: [(CLOCK_BEGAN.to_owned(), "2020-02-03T04:05:06.250Z".to_owned())].into(),
        ..Trial::done(measured.key.clone(), &[])
    };
    (trial, measured, series)
}

#[test]
fn a_stall_of_200_ms_every_10_s_is_found_dated_and_called_periodic() {
    let mut noise = Noise::new(1);
    let there = [7, 17, 27, 37, 47, 57];
    let mut all = 0;
    for _ in 0..50 {
        let (trial, measured, series) = stalled(&mut noise, &there, 200.0);
        let found = stalls(&trial, &measured, &series).unwrap();
        let seconds: Vec<u32> = found.events.iter().map(|one| one.from_second).collect();
        all += u32::from(seconds == there);
        if seconds != there {
            continue;
        }
        let first = &found.events[0];
        assert_eq!(first.at.as_deref(), Some("2020-02-03T04:05:12.250Z"), "second 7 began then");
        let delay = first.delay_ms.unwrap();
        assert!((190.0..260.0).contains(&delay), "{delay}");
        assert!((8..=12).contains(&first.transactions.unwrap()), "{first:?}");
        assert_eq!(first.departures[0].series, "disk_write_latency_ms");
        assert!(first.departures.iter().all(|one| one.series != "server_threads"));
        assert!((found.period.unwrap().seconds - 10.0).abs() < 0.1);
    }
    assert!(all >= 48, "{all} of 50");
}

#[test]
fn a_stall_hidden_among_long_waits_is_found_by_its_regularity() {
    let mut noise = Noise::new(4);
    let there = [6, 16, 26, 36, 46, 56];
    let mut found = 0;
    for _ in 0..50 {
        let (trial, mut measured, mut series) = stalled(&mut noise, &there, 90.0);
        // On a busy machine everybody waits long now and then, as long as in a stall.
        let busy: Vec<u32> = (1..=SECONDS).filter(|_| noise.uniform() < 0.03).collect();
        let (_, others, long) = stalled(&mut noise, &busy, 100.0);
        let mut both = SecondLatencies::default();
        for (one, other) in measured.latencies.seconds().into_iter().zip(others.latencies.seconds())
        {
            both.push(if busy.contains(&one.second) { &other } else { &one });
        }
        measured.latencies = both;
        for second in busy {
            series[2].points[second as usize - 1] = long[2].points[second as usize - 1];
        }
        for point in &mut series[2].points {
            // Long waits of one or two that hide the deviation of the stalls.
            point.1 *= if there.contains(&point.0) { 1.0 } else { (0.4 * noise.normal()).exp() };
        }
        let judged = stalls(&trial, &measured, &series).unwrap();
        let seconds: Vec<u32> = judged.events.iter().map(|one| one.from_second).collect();
        let has_all = there.iter().filter(|second| seconds.contains(second)).count() >= 5;
        let is_ten = judged.period.is_some_and(|period| (period.seconds - 10.0).abs() < 0.3);
        found += u32::from(has_all && is_ten);
    }
    println!("hidden stalls found: {found} of 50");
    assert!(found >= 45, "{found} of 50");
}

#[test]
fn where_nothing_stalls_nothing_is_found() {
    let mut noise = Noise::new(2);
    let mut found = 0;
    for _ in 0..50 {
        let (trial, measured, series) = stalled(&mut noise, &[], 0.0);
        let none = stalls(&trial, &measured, &series).unwrap();
        found += u32::from(!none.events.is_empty());
        assert!(none.period.is_none());
    }
    assert!(found <= 2, "{found} of 50");
    // One slow transaction is a tail: the same series, but nobody else waited.
    let (trial, mut measured, series) = stalled(&mut noise, &[30], 250.0);
    let alone = |second: SecondLatency| {
        let last = second.buckets.last().copied();
        let rest = second.buckets.iter().filter(|(bucket, _)| *bucket < bucket_of(150_000_000));
        let mut buckets: Vec<(u32, u64)> = rest.copied().collect();
        buckets
            .extend(last.filter(|(bucket, _)| *bucket >= bucket_of(150_000_000)).map(|b| (b.0, 1)));
        SecondLatency { buckets, ..second }
    };
    let mut others = SecondLatencies::default();
    measured.latencies.seconds().into_iter().map(alone).for_each(|one| others.push(&one));
    measured.latencies = others;
    let quiet: Vec<Series> = series
        .into_iter()
        .map(|mut one| {
            if one.name == "tps" {
                one.points[29].1 = 1000.0;
            }
            one
        })
        .collect();
    assert!(stalls(&trial, &measured, &quiet).unwrap().events.is_empty());
}

#[test]
fn a_drop_of_seconds_is_one_event_with_its_depth() {
    let mut noise = Noise::new(3);
    let (trial, measured, mut series) = stalled(&mut noise, &[], 0.0);
    for place in 20..23 {
        series[0].points[place].1 *= 0.4;
    }
    let found = stalls(&trial, &measured, &series).unwrap();
    let spans: Vec<(u32, u32)> =
        found.events.iter().map(|one| (one.from_second, one.to_second)).collect();
    assert_eq!(spans, [(21, 23)]);
    assert!((45.0..75.0).contains(&found.events[0].depth_percent), "{found:?}");
    assert!(found.period.is_none() && found.events[0].at.is_some(), "{found:?}");
    let short = Trial { window: Some(Window { from_s: 0.0, to_s: 8.0 }), ..trial };
    assert!(stalls(&short, &measured, &series).is_none(), "no usual second in so few");
}

/// A run whose seconds swing so much that five deviations are more than the median.
fn swinging(levels: [f64; 3], low: &[(usize, f64)]) -> Stalls {
    let (trial, measured, mut series) = stalled(&mut Noise::new(9), &[], 0.0);
    for (place, point) in series[0].points.iter_mut().enumerate() {
        point.1 = levels[place % 3];
    }
    for &(place, tps) in low {
        series[0].points[place].1 = tps;
    }
    // Nothing but throughput tells.
    series.retain(|one| one.name != "latency_ms_max");
    stalls(&trial, &measured, &series).unwrap()
}

#[test]
fn a_fall_to_a_tenth_is_found_whatever_the_spread() {
    let found = swinging([320.0, 213.0, 106.0], &[(30, 20.0), (41, 0.0), (50, 60.0)]);
    let at: Vec<u32> = found.events.iter().map(|one| one.from_second).collect();
    assert_eq!(at, [31, 42], "to 20 and to 0 of a median of 213, and not to 60");
    assert_eq!(found.smallest_drop_percent, Some(90.0));
    assert!(swinging([320.0, 213.0, 106.0], &[]).events.is_empty());
}

#[test]
fn where_no_fall_would_be_found_that_is_known() {
    // So few transactions that a second without one is chance.
    let found = swinging([12.0, 8.0, 4.0], &[(30, 0.0)]);
    assert_eq!((found.events.len(), found.smallest_drop_percent), (0, None));
    let (trial, measured, series) = stalled(&mut Noise::new(9), &[], 0.0);
    let percent = stalls(&trial, &measured, &series).unwrap().smallest_drop_percent.unwrap();
    assert!((20.0..50.0).contains(&percent), "{percent}");
}
