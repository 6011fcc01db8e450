//! Moments for a series of power cuts, drawn from a seed, mostly while pages and logs are being
//! written.

use std::time::Duration;

use super::moment::Moment;
use crate::random::Random;

/// A drawn power cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// Time for which the load runs before the moment is set.
    pub load: Duration,
    pub moment: Moment,
    /// Seed that decides which writes survive.
    pub seed: u64,
}

/// The seed of a configuration's cut, unique for plan, name and number.
#[must_use]
pub fn seed_of(plan_seed: u64, config: &str, number: u32) -> u64 {
    let mut random = Random::new(plan_seed ^ (u64::from(number) << 32));
    config.bytes().fold(random.next(), |state, byte| Random::new(state ^ u64::from(byte)).next())
}

/// Draws a cut: mostly in writes of pages, and at flushes, for which commits and checkpoints wait;
/// some anywhere. Pages reach the media of a drive in its own writes, so half of its cuts are in
/// those.
#[must_use]
pub fn draw(seed: u64, load_ms_max: u64, is_drive: bool) -> Drawn {
    let mut random = Random::new(seed);
    let load = Duration::from_millis(load_ms_max / 4 + random.below(load_ms_max / 2 + 1));
    let moment = match (random.below(8), is_drive) {
        (0..=3, true) | (6, false) => Moment::MediaWrite(1 + random.below(40)),
        (0..=3, false) | (6, true) => Moment::PageWrite(1 + random.below(40)),
        (4 | 5, _) => Moment::Flush(1 + random.below(20)),
        _ => Moment::Write(1 + random.below(80)),
    };
    Drawn { load, moment, seed: random.next() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cuts_differ_by_configuration_and_number_and_repeat_by_seed() {
        let of = |config, number| draw(seed_of(1, config, number), 1000, false);
        assert_eq!(of("a", 3), of("a", 3));
        let seeds: BTreeSet<u64> = ["a", "b", "ab"]
            .iter()
            .flat_map(|config| (1..100).map(|n| seed_of(1, config, n)))
            .collect();
        assert_eq!(seeds.len(), 297);
    }

    #[test]
    fn half_of_the_cuts_are_in_writes_of_pages_as_the_media_see_them() {
        for is_drive in [false, true] {
            let drawn = |number| draw(seed_of(1, "a", number), 1000, is_drive);
            let is_page = |moment| match is_drive {
                true => matches!(moment, Moment::MediaWrite(_)),
                false => matches!(moment, Moment::PageWrite(_)),
            };
            let pages = (0..1000).filter(|number| is_page(drawn(*number).moment)).count();
            assert!((420..580).contains(&pages), "{pages} of 1000");
            assert!((0..1000).all(|number| drawn(number).load <= Duration::from_millis(750)));
        }
    }
}
