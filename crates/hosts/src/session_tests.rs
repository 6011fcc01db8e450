//! Random lines of a hostile host, by seed.

use super::*;

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }
}

const LINES: &str = "Welcome!\n{\"here\":{\"number\":0,\"received_ns\":1,\"answered_ns\":2}}\n\
                     {\"told\":{\"second\":{\"end_s\":1.0,\"events\":7}}}\n\
                     {\"done\":[[1,2],{\"a\":null}]}\n\
                     {\"failed\":\"no\"}\n";

const BYTES_MAX: usize = 100;

#[test]
fn lines_are_read_to_their_bound() {
    let read = |text: &[u8]| {
        let mut line = Vec::new();
        let next = next_line(&mut &*text, &mut line, 4).unwrap();
        (next, line)
    };
    assert_eq!(read(b"abcd\nx"), (Next::Line, b"abcd".to_vec()));
    assert_eq!(read(b"\n"), (Next::Line, Vec::new()));
    assert_eq!(read(b"abcde\n").0, Next::TooLong);
    assert_eq!(read(b"abc").0, Next::End, "a broken line is none");
    assert_eq!(read(b"").0, Next::End);
}

#[test]
fn no_line_of_a_host_is_longer_than_its_bound_or_more_than_refused() {
    let seeds = assay_testing::count(3_000u64, 100_000);
    let (mut understood, mut not) = (0u64, 0u64);
    for seed in 0..seeds {
        let mut random = Random(seed);
        let mut bytes = LINES.repeat(3).into_bytes();
        for _ in 0..1 + random.below(8) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"[{\"\\9-e.\n"[random.below(9)]),
                _ => {
                    let piece = bytes[at..bytes.len().min(at + random.below(200))].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        let (mut hear, mut line) = (&bytes[..], Vec::new());
        while let Next::Line = next_line(&mut hear, &mut line, BYTES_MAX).unwrap() {
            assert!(line.len() <= BYTES_MAX && !line.contains(&b'\n'), "seed {seed}");
            match serde_json::from_slice::<FromHost>(&line) {
                Ok(_) => understood += 1,
                Err(_) => not += 1,
            }
        }
    }
    assert!(understood > seeds && not > seeds / 2, "{understood} {not}");
}
