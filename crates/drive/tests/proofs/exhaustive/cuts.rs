//! Possible results of a power cut for writes that were not flushed.

use crate::common::media::Fate;

/// Up to so many unflushed writes every subset is tried.
const SUBSETS_OF_AT_MOST: usize = 4;

/// Possible fates of `writes` unflushed writes.
pub fn fates(writes: usize) -> Vec<Vec<Fate>> {
    let mut all = if writes <= SUBSETS_OF_AT_MOST { subsets(writes) } else { edges(writes) };
    for torn in 0..writes {
        for fate in [Fate::Torn(1), Fate::Torn(2), Fate::Without(0), Fate::Without(1)] {
            for others in [Fate::Whole, Fate::Lost] {
                let mut fates = vec![others; writes];
                fates[torn] = fate;
                all.push(fates);
            }
        }
    }
    if writes < 2 {
        all.dedup();
    }
    all
}

fn subsets(writes: usize) -> Vec<Vec<Fate>> {
    let fate =
        |set: usize, write: usize| if set >> write & 1 == 1 { Fate::Whole } else { Fate::Lost };
    (0..1 << writes).map(|set| (0..writes).map(|write| fate(set, write)).collect()).collect()
}

/// All lost, all whole, each one alone lost and each one alone whole.
fn edges(writes: usize) -> Vec<Vec<Fate>> {
    let mut all = Vec::new();
    for (rest, one) in [(Fate::Lost, Fate::Whole), (Fate::Whole, Fate::Lost)] {
        all.push(vec![rest; writes]);
        for write in 0..writes {
            let mut fates = vec![rest; writes];
            fates[write] = one;
            all.push(fates);
        }
    }
    all
}
