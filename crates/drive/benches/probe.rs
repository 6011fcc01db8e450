//! Cost of the test whether a block is worth compressing, by its contents.
//!
//! Blocks lie one behind the other in memory, more of them than fit the nearest cache. The fastest
//! of several rounds counts: the others were disturbed.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use assay_drive::looks_incompressible;

const BLOCK_BYTES: usize = 4096;
const BLOCKS: usize = 256;
const ROUNDS: usize = 200;

/// Bytes from a generator of random words (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
fn random_bytes() -> impl Iterator<Item = u8> {
    let mut state = 1_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ word >> 31) as u8
    })
}

/// The transformation of a random byte.
type Kind = fn(u8) -> u8;

fn main() {
    let kinds: [(&str, Kind); 4] = [
        ("random bytes", |byte| byte),
        ("random digits", |byte| b'0' + byte % 10),
        ("mostly zeroes", |byte| if byte < 8 { byte } else { 0 }),
        ("one byte repeated", |_| 7),
    ];
    println!("{:<18} {:>12} {:>9}", "4 KiB blocks of", "ns per block", "GB/s");
    for (name, kind) in kinds {
        let data: Vec<u8> = random_bytes().map(kind).take(BLOCKS * BLOCK_BYTES).collect();
        let round = || {
            let start = Instant::now();
            for block in data.chunks_exact(BLOCK_BYTES) {
                black_box(looks_incompressible(black_box(block)));
            }
            start.elapsed().as_secs_f64() / BLOCKS as f64
        };
        let seconds = (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min);
        println!("{name:<18} {:>12.0} {:>9.2}", seconds * 1e9, BLOCK_BYTES as f64 / seconds / 1e9);
    }
}
