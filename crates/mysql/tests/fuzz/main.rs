//! Mutated answers of a server: login and queries never panic, never wait for ever, and never take
//! unlimited memory.
//!
//! Each seed is one case. `ASSAY_SEEDS` sets their number (50 000 in the full scope), `ASSAY_SEED`
//! the first.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod session;

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use assay_testing::mutate::Random;
use session::{answers, session};

/// Address space that one case may add to the highest so far, in bytes: a thread may add 128 MiB
/// for its own heap.
const MEMORY_BYTES: u64 = 256 << 20;

fn mutate(packets: &mut Vec<Vec<u8>>, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = random.below(packets.len());
        let packet = &mut packets[at];
        let byte = random.below(packet.len());
        match random.below(7) {
            0 => packet[byte] = random.word() as u8,
            1 => packet[byte] = [0, 0xfb, 0xfc, 0xfd, 0xfe, 0xff][random.below(6)],
            2 => packet.truncate(byte.max(1)),
            3 => {
                let piece: Vec<u8> = (0..random.below(40)).map(|_| random.word() as u8).collect();
                packet.splice(byte..byte, piece);
            }
            // The length is corrected: the interesting faults lie deeper.
            4 if byte >= 4 => {
                packet.truncate(byte);
                let length = (packet.len() - 4) as u32;
                packet[..3].copy_from_slice(&length.to_le_bytes()[..3]);
            }
            5 if byte >= 4 => {
                packet[byte] = 0xfe;
                let length = packet.len().min(byte + 9);
                packet[byte + 1..length].fill(0xff);
            }
            _ => {
                let other = packets[random.below(packets.len())].clone();
                packets.insert(at, other);
            }
        }
    }
}

/// The process's largest address space so far, in bytes.
fn address_space_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn any_answer_is_taken_or_refused_and_never_more() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    assert_eq!(
        session(&listener, &path, &answers().concat()),
        Ok(2),
        "nothing is wrong with it yet"
    );
    let first = setting("ASSAY_SEED", 0);
    let seeds = setting("ASSAY_SEEDS", assay_testing::count(3_000, 50_000));
    let (mut taken, mut refused) = (0u64, 0u64);
    for seed in first..first + seeds {
        let mut random = Random::new(seed);
        let mut packets = answers();
        mutate(&mut packets, &mut random);
        let (before, began) = (address_space_bytes(), Instant::now());
        match session(&listener, &path, &packets.concat()) {
            Ok(_) => taken += 1,
            Err(error) => {
                refused += 1;
                let told = error.to_string();
                assert!(
                    !told.chars().any(char::is_control) && told.len() < 2_000,
                    "seed {seed}: {told:?}"
                );
            }
        }
        assert!(began.elapsed() < Duration::from_secs(10), "seed {seed}: {:?}", began.elapsed());
        let grown = address_space_bytes() - before;
        assert!(grown <= MEMORY_BYTES, "seed {seed}: {} MiB", grown >> 20);
    }
    println!("{taken} taken, {refused} refused");
    assert!(seeds < 100 || (taken > seeds / 20 && refused > seeds / 4), "{taken} {refused}");
}
