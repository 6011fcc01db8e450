//! Hosts that keep a tiny drive at its limit, one for each seed: nothing wedges, nothing accepted
//! is lost.
//!
//! `ASSAY_SEEDS` sets how many seeds run, `ASSAY_SEED` the first.

use assay_drive::{Codec, State};

use super::host::Host;
use crate::common::model::Flavour;
use crate::common::seeds;

/// Counts of rare events.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    refused: u64,
    stalls: u64,
    gc_segments: u64,
    full: u64,
}

impl Seen {
    fn add(mut self, other: Seen) -> Seen {
        self.refused += other.refused;
        self.stalls += other.stalls;
        self.gc_segments += other.gc_segments;
        self.full += other.full;
        self
    }
}

/// Blocks that the host knows, more than the drive can take.
const BLOCKS: u64 = 4000;

fn run(seed: u64) -> Seen {
    let codec = Codec::ALL[seed as usize % 4];
    let mut host = Host::new(codec, seed.is_multiple_of(3), 24 + seed % 5, seed);
    let mut seen = Seen::default();
    host.fill([Flavour::Hard, Flavour::Digits][seed as usize / 4 % 2]);
    for _ in 0..3 {
        let mut flavour = *host.random.pick(&Flavour::ALL);
        for _ in 0..150 {
            if host.random.chance(5) {
                flavour = *host.random.pick(&Flavour::ALL);
            }
            let blocks = *host.random.pick(&[1, 2, 4, 16, 64]);
            let first = host.random.below(BLOCKS);
            match host.random.below(100) {
                0..75 => seen.refused += u64::from(!host.write(first, blocks, flavour)),
                75..85 => host.discard(first, blocks),
                85..90 => host.flush(),
                90..99 => host.maintain(blocks),
                _ => host.reopen(),
            }
            seen.full += u64::from(host.drive.status().state == State::Full);
        }
        if host.random.chance(50) {
            host.flush();
        }
        let counts = host.drive.status().counts;
        seen.stalls += counts.gc_stalls;
        seen.gc_segments += counts.gc_segments;
        host.crash();
        host.check();
    }
    // However full the drive is, discarded space can be used again.
    host.discard(0, BLOCKS);
    assert!(host.write(0, 64, Flavour::Hard), "an emptied drive takes nothing: {seen:?}");
    host.flush();
    host.check();
    seen
}

#[test]
fn any_seed_lives_at_the_limit_and_loses_nothing() {
    let seeds = seeds::wanted(8, 60);
    let run = |seed| {
        std::panic::catch_unwind(|| run(seed)).map_err(|_| "it failed, see above".to_owned())
    };
    let seen = seeds::run_all(&seeds, "proofs full::seeds", run, Seen::add);
    println!("{seen:?}");
    if seeds.end - seeds.start >= 8 {
        let least = if seeds.end - seeds.start >= 60 { 100 } else { 10 };
        let rarest = seen.refused.min(seen.stalls).min(seen.gc_segments).min(seen.full);
        assert!(rarest > least, "the limit was hardly reached: {seen:?}");
    }
}
