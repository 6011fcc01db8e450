//! Every sequence of up to three commands over overlapping ranges, with the power cut wherever it
//! can be.
//!
//! After the last command of a sequence, and after every write and flush of media inside it, power
//! goes; each subset of the writes that were not flushed is tried where they are few, and some torn
//! ones. After each of these the drive must equal a prefix of the commands that holds all that was
//! made durable, with its books in order. Shorter sequences are the beginnings of longer ones, so
//! nothing is missed between commands.

mod cuts;
mod sequence;
mod twice;

use std::sync::atomic::{AtomicUsize, Ordering};

use assay_drive::Codec;
use assay_testing::count;

use sequence::{Bench, COMMANDS, Command, Seen};

/// All sequences of exactly `length` commands, by number.
fn sequence(number: usize, length: usize) -> Vec<Command> {
    let digit = |place: u32| number / COMMANDS.len().pow(place) % COMMANDS.len();
    (0..length as u32).map(|place| COMMANDS[digit(place)]).collect()
}

/// One in `stride` sequences of three commands runs; all of them in the full scope. The other
/// stride shares no factor with the number of commands, so each command comes at each place.
fn stride(length: usize) -> usize {
    if length < 3 { 1 } else { count(12, 1) }
}

/// Runs every sequence of up to `longest` commands, or a share of them, and returns what was seen.
fn run_all(bench: &Bench, longest: usize) -> Seen {
    let mut seen = Seen::default();
    for length in 1..=longest {
        let next = AtomicUsize::new(0);
        let all = COMMANDS.len().pow(length as u32);
        std::thread::scope(|scope| {
            let worker = || {
                let mut seen = Seen::default();
                loop {
                    let number = stride(length) * next.fetch_add(1, Ordering::Relaxed);
                    if number >= all {
                        return seen;
                    }
                    let commands = sequence(number, length);
                    match bench.run(&commands) {
                        Ok(more) => seen.add(more),
                        Err(problem) => panic!("{commands:?}: {problem}"),
                    }
                }
            };
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().for_each(|worker| seen.add(worker.join().unwrap()));
        });
    }
    seen
}

fn prove(codec: Codec, units: bool, longest: usize) {
    let seen = run_all(&Bench::new(codec, units, false), longest);
    println!("{codec}, units {units}: {seen:?}");
    assert!(seen.crashes > 10 * seen.sequences, "hardly any crash was tried: {seen:?}");
    assert!(seen.replayed > 0 && seen.torn > 0, "nothing was replayed or torn: {seen:?}");
}

#[test]
fn every_short_sequence_of_raw_blocks_keeps_the_prefix_contract() {
    prove(Codec::None, false, 3);
}

#[test]
fn every_short_sequence_of_compressed_units_and_blocks_keeps_the_prefix_contract() {
    prove(Codec::Zstd, true, 3);
}

#[test]
fn every_shorter_sequence_of_compressed_blocks_alone_keeps_the_prefix_contract() {
    prove(Codec::Zstd, false, 2);
}

#[test]
fn a_drive_that_tears_its_groups_is_caught() {
    let bench = Bench::new(Codec::None, false, true);
    assert!(bench.run(&[Command::Write(508, 4)]).is_err(), "half a group went unnoticed");
}
