//! A soak: one drive's life after another, of drawn shapes, for as long as is asked for.
//!
//! Drives are filled, overwritten, trimmed, resized, closed, cut off from power and given places
//! that cannot be read; all the while they are held to a model. The first seed is drawn from the
//! clock or given; the one that failed is named.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::life::{Plan, Seen, live};

/// A day of a host: so many bytes written.
const DAY_BYTES: u64 = 20 << 30;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let time = duration(&arguments.next().unwrap_or_else(|| "1m".into()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let first: u64 = arguments.next().map_or(now << 20, |text| text.parse().expect("a seed"));
    println!("soaking for {time:?}, from seed {first} on");
    let (start, next) = (Instant::now(), AtomicU64::new(first));
    let all = Mutex::new((Seen::default(), start));
    let work = || {
        while start.elapsed() < time {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let seen = live(seed, Plan::SOAK).unwrap_or_else(|problem| {
                println!("seed {seed} FAILED: {problem}");
                println!("repeat it with: benches/drive-soak 1s {seed}");
                std::process::exit(1);
            });
            let mut all = all.lock().unwrap();
            all.0 = all.0.add(seen);
            if all.1.elapsed() > Duration::from_secs(60) {
                all.1 = Instant::now();
                tell(&all.0, start);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    tell(&all.lock().unwrap().0, start);
}

fn tell(seen: &Seen, start: Instant) {
    println!(
        "{:>6.0} s: {} lives, {:.1} GiB written ({:.1} days of 20 GiB), {} commands, \
         {} power cuts, {} reopenings, {} refused, {} gc_segments, {} checkpoints, {} resizes, \
         {} dictionaries, {} bad places, {} segments taken out, {} lives ended by them",
        start.elapsed().as_secs_f64(),
        seen.lives,
        seen.bytes as f64 / (1_u64 << 30) as f64,
        seen.bytes as f64 / DAY_BYTES as f64,
        seen.commands,
        seen.cuts,
        seen.reopenings,
        seen.refused,
        seen.gc_segments,
        seen.checkpoints,
        seen.resizes,
        seen.dictionaries,
        seen.bad_places,
        seen.taken_out,
        seen.ended
    );
}

/// A time as `90`, `90s`, `10m` or `2h`.
fn duration(text: &str) -> Duration {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => panic!("a time is written as 90s, 10m or 2h"),
    };
    Duration::from_secs(seconds * number.parse::<u64>().expect("a time as 90s, 10m or 2h"))
}
