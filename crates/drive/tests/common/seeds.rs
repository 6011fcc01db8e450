//! Seeds: how many of them run, which is the first, and how one that failed is repeated.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_testing::count;

/// Seeds after which a long run says how far it is.
const TOLD_EVERY: u64 = 5000;

/// The seeds to run, from `ASSAY_SEED` on: `ASSAY_SEEDS` of them if it is set, else `full` in the
/// full scope and `once` in the others.
pub fn wanted(once: u64, full: u64) -> Range<u64> {
    let (first, seeds) = (setting("ASSAY_SEED", 0), setting("ASSAY_SEEDS", count(once, full)));
    first..first + seeds
}

/// Returns the report of a seed that failed. `test` names the executable and the test, as in
/// `--test proofs full::seeds`.
pub fn failure(seed: u64, problem: &str, test: &str) -> String {
    format!(
        "seed {seed}: {problem}\n\
         repeat it with: ASSAY_SEED={seed} ASSAY_SEEDS=1 cargo test -p {} --test {test}",
        env!("CARGO_PKG_NAME")
    )
}

/// Runs each seed, on as many threads as there are CPUs, and adds up what they saw; panics at the
/// first that fails.
#[allow(clippy::print_stdout)]
pub fn run_all<Seen: Default + Send>(
    seeds: &Range<u64>,
    test: &str,
    run: impl Fn(u64) -> Result<Seen, String> + Sync,
    add: impl Fn(Seen, Seen) -> Seen + Sync,
) -> Seen {
    let next = AtomicU64::new(seeds.start);
    let worker = || {
        let mut all = Seen::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return all;
            }
            let seen = run(seed).unwrap_or_else(|problem| {
                // The others stop too.
                next.store(seeds.end, Ordering::Relaxed);
                panic!("{}", failure(seed, &problem, test))
            });
            all = add(all, seen);
            let done = seed + 1 - seeds.start;
            if done.is_multiple_of(TOLD_EVERY) {
                println!("{done} of {} seeds", seeds.end - seeds.start);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).fold(Seen::default(), &add)
    })
}

/// A number from the environment, or the default.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}
