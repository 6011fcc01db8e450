//! The bytes of a record's fields: printable, with some 31 random bits in 48.

use crate::random::Rng;

/// For each of six bytes: the shift of the random word, and the number of bits used.
const SIXTH: [(u32, u64); 6] = [(0, 31), (5, 63), (10, 95), (15, 31), (20, 63), (25, 95)];

/// The first printable byte.
const SPACE: u8 = b' ';

/// Fills a field as YCSB does: one random word of 32 bits makes six bytes.
#[inline]
pub fn fill_field(rng: &mut Rng, field: &mut [u8]) {
    for six in field.chunks_mut(SIXTH.len()) {
        // A Java `int` is shifted with its sign.
        let word = i64::from((rng.next_u64() >> 32) as i32).cast_unsigned();
        for (byte, (shift, mask)) in six.iter_mut().zip(SIXTH) {
            *byte = ((word >> shift) & mask) as u8 + SPACE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_printable_and_hold_as_much_chance_as_in_ycsb() {
        let mut rng = Rng::new(9, 1);
        let mut counts = [[0_u32; 128]; 6];
        let mut field = [0; 100];
        for _ in 0..10_000 {
            fill_field(&mut rng, &mut field);
            for (place, byte) in field.iter().enumerate() {
                counts[place % 6][usize::from(*byte)] += 1;
            }
        }
        let kinds = counts.map(|of_place| of_place.iter().filter(|count| **count > 0).count());
        // A mask of 95 leaves out one bit of seven.
        assert_eq!(kinds, [32, 64, 64, 32, 64, 64]);
        for of_place in counts {
            assert!(of_place[..32].iter().all(|count| *count == 0) && of_place[127] < 4000);
        }
    }
}
