//! Quick tests of a block before compression: whether it is all zeroes, or not worth compressing.

/// Bytes sampled from a block: enough for an entropy within 0.05 bits, few enough to take about a
/// microsecond.
const SAMPLE_BYTES: usize = 1024;

/// Bytes of one run of the sample, so that fields of 2, 4, 8 and 16 bytes are seen whole.
const RUN_BYTES: usize = 16;

const RUNS: usize = SAMPLE_BYTES / RUN_BYTES;

/// Number of separate tables of counts.
const COUNTS_APART: usize = 4;

/// Order-0 entropy, in quarters of a bit per byte, above which compression cannot gain much: bytes
/// with 7.75 bits gain 3 % by coding single bytes, and 7 % if they are random bytes and a run of
/// zeroes.
const INCOMPRESSIBLE_QUARTER_BITS: u64 = 31;

/// Fixed point: one bit of entropy is `1 << FRACTION`.
const FRACTION: u32 = 16;

/// Half of log2(e): each byte value that occurs adds this, divided by the sample's size, to the
/// entropy.
const BIAS_PER_VALUE: u64 = 47_274;

/// The value of n × log2(n) in fixed point, for every count that a sample can hold.
static COUNT_LOG: [u32; SAMPLE_BYTES + 1] = count_log_table();

/// Whether every byte is zero.
#[must_use]
pub fn is_zero(block: &[u8]) -> bool {
    let (chunks, rest) = block.as_chunks::<64>();
    chunks.iter().all(|chunk| chunk.iter().fold(0, |seen, byte| seen | byte) == 0)
        && rest.iter().all(|&byte| byte == 0)
}

/// Whether a block's bytes are so evenly spread that compression is not worth its time, as in
/// encrypted or already compressed data.
///
/// The measure is the order-0 entropy of a sample of 1 KiB, with the correction of Miller and Madow
/// (1955) for the bias of a sample's entropy, (values seen − 1) ÷ (2 × sample × ln 2). It does not
/// look for repeats: rows of digits have none and still halve, so a trial with a match finder would
/// not do. The price is that it misses random bytes that occur twice in a block.
#[must_use]
pub fn looks_incompressible(block: &[u8]) -> bool {
    if block.len() < SAMPLE_BYTES {
        return false;
    }
    let counts = sample_counts(block);
    let seen = counts.iter().filter(|&&count| count > 0).count() as u64;
    let log_sum: u64 = counts.iter().map(|&count| u64::from(COUNT_LOG[usize::from(count)])).sum();
    let sample = SAMPLE_BYTES as u64;
    let entropy =
        (u64::from(COUNT_LOG[SAMPLE_BYTES]) - log_sum) + seen.saturating_sub(1) * BIAS_PER_VALUE;
    entropy * 4 > (INCOMPRESSIBLE_QUARTER_BITS * sample) << FRACTION
}

/// Counts the byte values in runs spread over the block. The place of the run varies from cell to
/// cell, so that a pattern as long as a cell cannot hide.
fn sample_counts(block: &[u8]) -> [u16; 256] {
    // Neighbouring bytes use separate tables: otherwise each count of an equal byte would wait for
    // the one before.
    let mut counts = [[0; 256]; COUNTS_APART];
    let cell = block.len() / RUNS;
    for (index, bytes) in block.chunks_exact(cell).take(RUNS).enumerate() {
        let start = index * RUN_BYTES % (cell - RUN_BYTES + 1);
        for group in bytes[start..start + RUN_BYTES].as_chunks::<COUNTS_APART>().0 {
            for (counts, &byte) in counts.iter_mut().zip(group) {
                counts[usize::from(byte)] += 1;
            }
        }
    }
    let [first, rest @ ..] = counts;
    rest.into_iter()
        .fold(first, |sum, counts| std::array::from_fn(|value| sum[value] + counts[value]))
}

const fn count_log_table() -> [u32; SAMPLE_BYTES + 1] {
    let mut table = [0; SAMPLE_BYTES + 1];
    let mut count = 1;
    while count <= SAMPLE_BYTES {
        table[count] = count as u32 * log2(count as u32);
        count += 1;
    }
    table
}

/// The binary logarithm in fixed point, bit by bit: squaring a number in [1, 2) doubles its
/// logarithm.
const fn log2(number: u32) -> u32 {
    let whole = number.ilog2();
    let mut mantissa = ((number as u64) << 31) >> whole;
    let mut result = whole << FRACTION;
    let mut bit = FRACTION;
    while bit > 0 {
        bit -= 1;
        mantissa = (mantissa * mantissa) >> 31;
        if mantissa >> 32 > 0 {
            mantissa >>= 1;
            result |= 1 << bit;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::tests::samples::{digits, random, text};

    #[test]
    fn only_zeroes_are_zero() {
        for length in [0, 1, 63, 64, 65, 4096, 16384] {
            let mut block = vec![0; length];
            assert!(is_zero(&block));
            for place in [0, length / 2, length.saturating_sub(1)]
                .into_iter()
                .filter(|&place| place < length)
            {
                block[place] = 1;
                assert!(!is_zero(&block), "{place} of {length}");
                block[place] = 0;
            }
        }
    }

    #[test]
    fn logarithms_are_right() {
        for count in [1, 2, 3, 7, 100, 1000, 1024] {
            let exact = f64::from(count) * f64::from(count).log2() * 65536.0;
            assert!(
                (f64::from(COUNT_LOG[count as usize]) - exact).abs() <= f64::from(count),
                "{count}"
            );
        }
    }

    #[test]
    fn random_bytes_are_refused_and_rows_are_not() {
        for length in [4096, 16384] {
            for seed in 0..500 {
                assert!(looks_incompressible(&random(seed, length)), "{seed}");
                assert!(!looks_incompressible(&digits(seed, length)), "{seed}");
                assert!(!looks_incompressible(&text(seed, length)), "{seed}");
            }
        }
    }

    #[test]
    fn structure_in_random_bytes_is_seen_whatever_its_period() {
        for period in [2, 4, 8, 16, 32, 64, 128, 1024] {
            let mut block = random(1, 4096);
            for part in block.chunks_mut(period) {
                part[..period / 2].fill(0);
            }
            assert!(!looks_incompressible(&block), "half zero with a period of {period}");
        }
    }

    #[test]
    fn the_limit_lies_where_it_is_said_to() {
        let with_values = |values: u32| -> Vec<u8> {
            (random(5, 32768).chunks(4))
                .map(|four| (u32::from_le_bytes(four.try_into().unwrap()) % values) as u8)
                .take(4096)
                .collect()
        };
        assert!(!looks_incompressible(&with_values(190)), "7.57 bits");
        assert!(looks_incompressible(&with_values(236)), "7.88 bits");
    }
}
