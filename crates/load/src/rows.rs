//! The bytes of a row: groups of random digits, made many at a time; random integers as in sysbench
//! 0.4.

use crate::random::Rng;
use crate::schema::{C_BYTES, PAD_BYTES};

const GROUP_DIGITS: usize = 11;
const GROUP_VALUES: u64 = 100_000_000_000;
/// Number of different integers in sysbench 0.4 (`SB_MAX_RND`).
const INTEGERS: u64 = 0x3fff_ffff;

/// Fills `c` of a row.
#[inline]
pub(crate) fn fill_c(rng: &mut Rng, c: &mut [u8; C_BYTES]) {
    fill_groups(rng, c);
}

/// Fills `pad` of a row.
#[inline]
pub(crate) fn fill_pad(rng: &mut Rng, pad: &mut [u8; PAD_BYTES]) {
    fill_groups(rng, pad);
}

fn fill_groups(rng: &mut Rng, out: &mut [u8]) {
    for group in out.chunks_mut(GROUP_DIGITS + 1) {
        // One draw makes eleven digits; the bias of a digit is at most 10¹¹ ÷ 2⁶⁴, a part in 10⁸.
        let value = (u128::from(rng.next_u64()) * u128::from(GROUP_VALUES)) >> 64;
        write_digits(value as u64, &mut group[..GROUP_DIGITS]);
        if let Some(last) = group.get_mut(GROUP_DIGITS) {
            *last = b'-';
        }
    }
}

/// Fills `out` with `count` random integers joined by `-`: at most ten digits each, as 0x3ffffffe
/// is the largest.
#[inline]
pub(crate) fn fill_integers(rng: &mut Rng, count: usize, out: &mut Vec<u8>) {
    out.clear();
    for place in 0..count {
        if place > 0 {
            out.push(b'-');
        }
        push_number(out, rng.below(INTEGERS).cast_signed());
    }
}

/// Writes the low decimal digits of `value`, as many as fit.
fn write_digits(mut value: u64, out: &mut [u8]) {
    for digits in out.rchunks_mut(2) {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        digits.copy_from_slice(&PAIRS[pair + 2 - digits.len()..pair + 2]);
    }
}

/// Appends `value` in decimal.
#[inline]
pub(crate) fn push_number(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    let mut digits = [0; 20];
    let value = value.unsigned_abs();
    let count = value.checked_ilog10().unwrap_or(0) as usize + 1;
    write_digits(value, &mut digits[..count]);
    out.extend_from_slice(&digits[..count]);
}

const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut i = 0;
    while i < 100 {
        pairs[2 * i] = b'0' + (i / 10) as u8;
        pairs[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_published_shape() {
        let mut rng = Rng::new(1, 1);
        let (mut c, mut pad) = ([0; C_BYTES], [0; PAD_BYTES]);
        fill_c(&mut rng, &mut c);
        fill_pad(&mut rng, &mut pad);
        for (text, groups) in [(&c[..], 10), (&pad[..], 5)] {
            let parts: Vec<&str> = std::str::from_utf8(text).unwrap().split('-').collect();
            assert_eq!(parts.len(), groups);
            assert!(parts.iter().all(|p| p.len() == 11 && p.bytes().all(|b| b.is_ascii_digit())));
        }
    }

    #[test]
    fn every_digit_is_as_likely_in_every_place() {
        let mut rng = Rng::new(2, 1);
        let mut counts = [[0u32; 10]; C_BYTES];
        let mut c = [0; C_BYTES];
        for _ in 0..20_000 {
            fill_c(&mut rng, &mut c);
            for (place, byte) in c.iter().enumerate().filter(|(_, byte)| **byte != b'-') {
                counts[place][usize::from(byte - b'0')] += 1;
            }
        }
        for (place, counts) in counts.iter().enumerate().filter(|(place, _)| place % 12 != 11) {
            assert!(
                counts.iter().all(|&n| (1_750..2_250).contains(&n)),
                "place {place}: {counts:?}"
            );
        }
    }

    #[test]
    fn numbers_are_written_in_full() {
        for value in [0, 7, 10, 99, 100, 12_345, i64::MAX, -1, i64::MIN + 1] {
            let mut out = Vec::new();
            push_number(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn integers_fit_their_column_and_are_joined() {
        let (mut rng, mut out) = (Rng::new(3, 1), Vec::new());
        for count in [10, 5] {
            for _ in 0..10_000 {
                fill_integers(&mut rng, count, &mut out);
                let text = std::str::from_utf8(&out).unwrap();
                let integers = text.split('-').map(|part| part.parse::<u64>().unwrap());
                assert!(integers.clone().all(|integer| integer < INTEGERS), "{text}");
                assert_eq!(integers.count(), count);
                assert!(out.len() < 12 * count);
            }
        }
    }
}
