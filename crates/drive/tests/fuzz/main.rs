//! Mutated images: opening, checking and using one never panics, never goes on for ever, never
//! takes memory without end, and never gives data that nobody wrote, unless a checksum was forged
//! on purpose.
//!
//! Each seed is one case. `ASSAY_SEEDS` sets how many run (2 000 in the full scope), `ASSAY_SEED`
//! the first. Where the process itself dies, the seeds that were running lie in `fuzz-*.seed` in
//! the build's directory for temporary files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../common/mod.rs"]
mod common;

mod case;
mod counted;
mod donor;
mod mutate;

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use case::Outcome;
use common::anatomy::{Part, reseal};
use common::random::Random;
use common::seeds;
use donor::Donor;

/// After so long a case goes on for ever.
const LIMIT: Duration = Duration::from_secs(120);

/// Address space that one case may add to the highest that was needed so far, in bytes.
const MEMORY_BYTES: u64 = 256 << 20;

const THREADS: u64 = 2;

const SEEDS_ONCE: u64 = 100;
const SEEDS_FULL: u64 = 2000;

/// Number of each outcome.
#[derive(Debug, Default)]
struct Counts {
    cases: u64,
    forged: u64,
    refused: u64,
    read_only: u64,
    rebuilt: u64,
    corrupt: u64,
    worked: u64,
}

impl Counts {
    fn add(&mut self, outcome: Outcome, forged: bool) {
        self.cases += 1;
        self.forged += u64::from(forged);
        self.refused += u64::from(outcome.refused);
        self.read_only += u64::from(outcome.read_only);
        self.rebuilt += u64::from(outcome.rebuilt);
        self.corrupt += u64::from(outcome.corrupt);
        self.worked += u64::from(outcome.worked);
    }
}

/// The process's largest address space so far, in bytes.
fn address_space_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The drives, with what they take when nothing is wrong with them.
fn donors() -> Vec<Donor> {
    let mut donors = Donor::all();
    for donor in &mut donors {
        let image = donor.image.to_vec();
        let (outcome, work) = case::run(donor, image, false, &mut Random::new(0)).unwrap();
        assert!(outcome.worked && !outcome.refused && !outcome.corrupt, "{outcome:?}");
        donor.work = work;
    }
    donors
}

fn run_seed(donors: &[Donor], seed: u64) -> Result<(Outcome, bool), String> {
    let mut random = Random::new(seed);
    let [small @ .., learner] = donors else { return Err("there are no drives".into()) };
    // Learning takes long.
    let donor = if random.chance(4) { learner } else { random.pick(small) };
    let before = address_space_bytes();
    let mut forged = false;
    let run = || {
        let mutant = mutate::mutate(donor, donors, &mut random);
        forged = mutant.forged;
        case::run(donor, mutant.image, forged, &mut random)
    };
    let result = std::panic::catch_unwind(AssertUnwindSafe(run));
    let (outcome, _) = result.map_err(|_| "it panicked, see above".to_string())??;
    let grown = address_space_bytes() - before;
    if grown > THREADS * MEMORY_BYTES {
        return Err(format!("it took {} MiB of memory", grown >> 20));
    }
    Ok((outcome, forged))
}

#[test]
fn any_image_is_refused_or_opened_and_never_more() {
    let seeds = seeds::wanted(SEEDS_ONCE, SEEDS_FULL);
    let donors = Arc::new(donors());
    let next = Arc::new(AtomicU64::new(seeds.start));
    let (done, results) = mpsc::channel();
    let end = seeds.end;
    for thread in 0..THREADS {
        let (donors, next, done) = (donors.clone(), next.clone(), done.clone());
        std::thread::spawn(move || {
            let note = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{thread}.seed"));
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    return std::fs::remove_file(note).ok();
                }
                std::fs::write(&note, seed.to_string()).unwrap();
                let result = run_seed(&donors, seed)
                    .map_err(|problem| seeds::failure(seed, &problem, "fuzz any_image"));
                done.send(result).ok()?;
            }
        });
    }
    drop(done);
    let (mut counts, mut problems) = (Counts::default(), Vec::new());
    for _ in seeds.clone() {
        let result = results.recv_timeout(LIMIT).unwrap_or_else(|_| {
            panic!("a seed around {} goes on for ever", next.load(Ordering::Relaxed))
        });
        match result {
            Ok((outcome, forged)) => counts.add(outcome, forged),
            Err(problem) => problems.push(problem),
        }
    }
    println!("{counts:?}");
    assert!(problems.is_empty(), "{} failed:\n{}", problems.len(), problems.join("\n"));
    if seeds.end - seeds.start >= SEEDS_ONCE {
        let is_all = seeds.end - seeds.start >= SEEDS_FULL;
        let Counts { forged, refused, read_only, rebuilt, corrupt, worked, .. } = counts;
        let rarest = [forged, refused, rebuilt, corrupt, worked].into_iter().min();
        // It takes two bad places in a row to end a log that is known to go on.
        assert!(
            rarest >= Some(if is_all { 10 } else { 1 }) && (read_only > 0 || !is_all),
            "the mutations missed what they are for: {counts:?}"
        );
    }
}

/// The checker itself: data that were changed and whose checksums fit again are what no drive could
/// notice.
#[test]
fn forged_data_and_another_drives_data_are_caught() {
    let donors = donors();
    let donor = &donors[0];
    let mut image = donor.image.to_vec();
    for piece in &donor.pieces {
        if matches!(piece.part, Part::Record(_)) {
            image[piece.range.start as usize + 100] ^= 1;
            reseal(&mut image, piece, donor.geometry.drive_id);
        }
    }
    let problem = case::run(donor, image, false, &mut Random::new(1)).unwrap_err();
    assert!(problem.contains("no command wrote"), "{problem}");
    let other = donors[1].image.to_vec();
    let problem = case::run(donor, other, false, &mut Random::new(1)).unwrap_err();
    assert!(problem.contains("of another drive"), "{problem}");
}
