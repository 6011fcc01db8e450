//! Response times of transactions by second: a sparse histogram for each second of a run, all in
//! one blob.
//!
//! Buckets are those of an HDR histogram, coarsened: a power of two is divided into [`PARTS`] equal
//! parts, so that a bucket is at most 1.6 % wide, and a time below 64 ns has a bucket of its own.
//! Each bucket of the load's own histograms, which have three digits, falls into a single one of
//! these, so that only width is lost.
//!
//! The blob holds a byte for the format ([`FORMAT`]), then for each second with transactions, all
//! numbers as LEB128: difference to the previous second (initially 0), number of buckets, and for
//! each bucket the difference to the previous number, and its count.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result, bail};
use serde::{Deserialize, Serialize};

use super::limits::{COUNT_MAX, SECONDS_MAX};

/// Parts of a power of two.
pub const PARTS: u64 = 64;

/// log2 of [`PARTS`].
const PART_BITS: u32 = PARTS.trailing_zeros();

/// The bucket of the longest time that 64 bits hold, in ns.
const BUCKET_MAX: u64 = (u64::BITS - PART_BITS) as u64 * PARTS + PARTS - 1;

/// First byte of a blob.
const FORMAT: u8 = 1;

/// Largest width of a bucket, as a share of the times in it.
pub const BUCKET_WIDTH: f64 = 1.0 / PARTS as f64;

/// Number of the bucket that holds `ns`.
#[must_use]
pub fn bucket_of(ns: u64) -> u32 {
    if ns < PARTS {
        return ns as u32;
    }
    let exponent = ns.ilog2();
    let part = (ns >> (exponent - PART_BITS)) - PARTS;
    (exponent - PART_BITS + 1) * PARTS as u32 + part as u32
}

/// The longest time that a bucket holds, in ns.
#[must_use]
pub fn longest_ns(bucket: u32) -> u64 {
    let (exponent, part) = (bucket / PARTS as u32, u64::from(bucket) % PARTS);
    match exponent.checked_sub(1) {
        None => part,
        Some(shift) => {
            ((PARTS + part + 1).checked_shl(shift).unwrap_or(u64::MAX)).saturating_sub(1)
        }
    }
}

/// Response times of the transactions that ended in a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecondLatency {
    /// Second of the run's clock.
    pub second: u32,
    /// Bucket numbers, ascending, with counts of transactions.
    pub buckets: Vec<(u32, u64)>,
}

impl SecondLatency {
    /// Coarsens a histogram of times in ns, in any order, with counts.
    #[must_use]
    pub fn of(second: u32, times_ns: &[(u64, u64)]) -> SecondLatency {
        let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
        for &(ns, count) in times_ns.iter().filter(|(_, count)| *count > 0) {
            *buckets.entry(bucket_of(ns)).or_default() += count;
        }
        SecondLatency { second, buckets: buckets.into_iter().collect() }
    }

    /// Number of transactions.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Number of transactions above `bucket`.
    #[must_use]
    pub fn count_above(&self, bucket: u32) -> u64 {
        self.buckets.iter().filter(|(one, _)| *one > bucket).map(|(_, count)| count).sum()
    }
}

/// All seconds of a run, encoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct SecondLatencies {
    blob: Vec<u8>,
    last: u32,
}

impl Default for SecondLatencies {
    fn default() -> SecondLatencies {
        SecondLatencies { blob: vec![FORMAT], last: 0 }
    }
}

impl TryFrom<Vec<u8>> for SecondLatencies {
    type Error = Error;

    fn try_from(blob: Vec<u8>) -> Result<SecondLatencies> {
        SecondLatencies::from_blob(blob)
    }
}

impl From<SecondLatencies> for Vec<u8> {
    fn from(all: SecondLatencies) -> Vec<u8> {
        all.blob
    }
}

impl SecondLatencies {
    /// Adds a second after all others; one without transactions adds nothing.
    pub fn push(&mut self, latency: &SecondLatency) {
        if latency.buckets.is_empty() {
            return;
        }
        write_number(&mut self.blob, u64::from(latency.second.saturating_sub(self.last)));
        write_number(&mut self.blob, latency.buckets.len() as u64);
        let mut before = 0;
        for &(bucket, count) in &latency.buckets {
            write_number(&mut self.blob, u64::from(bucket - before));
            write_number(&mut self.blob, count);
            before = bucket;
        }
        self.last = latency.second;
    }

    /// Returns true if no second was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blob.len() <= 1
    }

    /// The stored form.
    #[must_use]
    pub fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// Decodes the stored form; fails for bytes of another format.
    pub fn from_blob(blob: Vec<u8>) -> Result<SecondLatencies> {
        let mut all = SecondLatencies { blob, last: 0 };
        let mut last = 0;
        all.read(|second, _| last = second)?;
        all.last = last;
        Ok(all)
    }

    /// Every second, in order.
    #[must_use]
    pub fn seconds(&self) -> Vec<SecondLatency> {
        let mut seconds: Vec<SecondLatency> = Vec::new();
        let add = |second, bucket| match seconds.last_mut() {
            Some(last) if last.second == second => last.buckets.push(bucket),
            _ => seconds.push(SecondLatency { second, buckets: vec![bucket] }),
        };
        // Bytes that were pushed or have been verified decode.
        match self.read(add) {
            Ok(()) => seconds,
            Err(_) => Vec::new(),
        }
    }

    /// Calls `each` with every second, bucket and count, in order.
    fn read(&self, mut each: impl FnMut(u32, (u32, u64))) -> Result<()> {
        let Some((&FORMAT, mut rest)) = self.blob.split_first() else {
            bail!("the study has latencies per second in an unknown format");
        };
        let mut second = 0u64;
        while !rest.is_empty() {
            second = at_most(second.checked_add(read_number(&mut rest)?), SECONDS_MAX.into())?;
            let mut bucket = 0u64;
            for _ in 0..read_number(&mut rest)? {
                bucket = at_most(bucket.checked_add(read_number(&mut rest)?), BUCKET_MAX)?;
                let count = at_most(Some(read_number(&mut rest)?), COUNT_MAX)?;
                each(second as u32, (bucket as u32, count));
            }
        }
        Ok(())
    }
}

fn at_most(number: Option<u64>, most: u64) -> Result<u64> {
    number
        .filter(|number| *number <= most)
        .context("the study holds latencies of seconds that no run has")
}

fn write_number(blob: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        blob.push(number as u8 | 0x80);
        number >>= 7;
    }
    blob.push(number as u8);
}

fn read_number(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let Some((&byte, behind)) = rest.split_first() else { break };
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    bail!("the study holds latencies of seconds that end in the middle of a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_leave_no_gap() {
        let mut ns = 1u64;
        while ns < 3_600_000_000_000 {
            let bucket = bucket_of(ns);
            assert!(longest_ns(bucket) >= ns, "{ns}");
            assert_eq!(bucket_of(longest_ns(bucket)), bucket);
            assert_eq!(bucket_of(longest_ns(bucket) + 1), bucket + 1, "{ns}");
            let shortest = if bucket == 0 { 0 } else { longest_ns(bucket - 1) + 1 };
            let width = (longest_ns(bucket) + 1 - shortest) as f64;
            assert!(width <= 1.0 || width / shortest as f64 <= 1.0 / 64.0, "{ns}");
            ns += ns / 50 + 1;
        }
    }

    #[test]
    fn those_above_a_bucket_are_counted_without_its_own() {
        let second = SecondLatency::of(1, &[(1_000_000, 5), (2_000_000, 3), (9_000_000, 2)]);
        let above = |ns| second.count_above(bucket_of(ns));
        assert_eq!([above(1_000_000), above(2_000_000), above(9_000_000)], [5, 2, 0]);
        assert_eq!(above(1_500_000), 5);
    }

    #[test]
    fn seconds_are_read_as_they_were_added_and_take_little_room() {
        let mut all = SecondLatencies::default();
        assert!(all.is_empty());
        let of = |second: u32| {
            let times: Vec<(u64, u64)> =
                (0..90).map(|i| (3_000_000 + i * 90_000 + u64::from(second), i % 7)).collect();
            SecondLatency::of(second, &times)
        };
        let seconds: Vec<SecondLatency> = [3, 4, 9, 400].map(of).into();
        seconds.iter().for_each(|second| all.push(second));
        all.push(&SecondLatency { second: 401, buckets: Vec::new() });
        assert_eq!(all.seconds(), seconds);
        let read = SecondLatencies::from_blob(all.blob().to_vec()).unwrap();
        assert_eq!(read, all);
        let buckets: usize = seconds.iter().map(|second| second.buckets.len()).sum();
        assert!(all.blob().len() < 3 * buckets, "{} bytes", all.blob().len());
        assert_eq!(seconds[0].count(), (0..90).map(|i| i % 7).sum::<u64>());
    }

    #[test]
    fn what_is_damaged_is_refused() {
        assert!(SecondLatencies::from_blob(vec![]).is_err());
        assert!(SecondLatencies::from_blob(vec![9]).is_err());
        assert!(SecondLatencies::from_blob(vec![1, 3, 1, 0x80]).is_err());
    }
}
