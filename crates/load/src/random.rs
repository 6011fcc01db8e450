//! Random numbers that one seed determines.
//!
//! xoshiro256++ of Blackman and Vigna (<https://prng.di.unimi.it/>), its state filled by splitmix64
//! from a seed and a stream number. Each worker and each chunk of rows uses a stream of its own, so
//! its draws depend on the seed and on that number alone, never on the order in which threads run.

/// A generator of one stream of random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream numbered `stream` of `seed`: equal arguments, equal numbers.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Rng {
        // The stream number is mixed first: otherwise (seed, stream + 1) and (seed + 1, stream)
        // could coincide.
        let mut counter = seed ^ splitmix64(&mut stream.wrapping_add(0x5851_f42d_4c95_7f2d));
        Rng { state: std::array::from_fn(|_| splitmix64(&mut counter)) }
    }

    /// The next 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform whole number in 0..n, without bias (Lemire, "Fast random integer generation in an
    /// interval", 2019). For n = 0 it is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let mut wide = u128::from(self.next_u64()) * u128::from(n);
        if (wide as u64) < n {
            let biased_below = n.wrapping_neg() % n;
            while (wide as u64) < biased_below {
                wide = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (wide >> 64) as u64
    }
}

/// One step of splitmix64 (Steele, Lea and Flood, 2014; constants as published by Vigna).
#[inline]
pub(crate) fn splitmix64(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_generators() {
        // splitmix64 of 1234567, and xoshiro256++ from the state 1, 2, 3, 4: both as other
        // implementations print them.
        let mut counter = 1_234_567;
        assert_eq!(splitmix64(&mut counter), 6_457_827_717_110_365_317);
        assert_eq!(splitmix64(&mut counter), 3_203_168_211_198_807_973);
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(std::array::from_fn::<u64, 4, _>(|_| rng.next_u64()), expected);
    }

    #[test]
    fn streams_repeat_and_differ() {
        let first = |seed, stream| Rng::new(seed, stream).next_u64();
        assert_eq!(first(7, 3), first(7, 3));
        let all: std::collections::HashSet<u64> =
            (0..100).flat_map(|seed| (0..100).map(move |stream| first(seed, stream))).collect();
        assert_eq!(all.len(), 10_000);
    }

    #[test]
    fn numbers_are_in_range_and_even() {
        let mut rng = Rng::new(1, 0);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
            assert!((0.0..1.0).contains(&rng.unit()));
        }
        assert!(seen.iter().all(|&count| (9_500..10_500).contains(&count)), "{seen:?}");
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
    }
}
