//! Counts over a program's requests: the part of them that does not depend on chance.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::RECORDS;
use super::request::Request;

/// Bytes of a value that are compared. `BasicDB` prints values in brackets, and trimming those may
/// trim the last bytes of a value.
const BYTES: usize = 12;
/// The lowest byte of a value.
const BYTE_LEAST: u8 = b' ';
/// Two samples further apart than this are two distributions, in standard deviations.
const EXCESS_MOST: f64 = 5.0;

/// Counts over the requests of one workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    operations: BTreeMap<String, u64>,
    /// Requests by record number, inserts left out; empty where the newest records are popular.
    keys: Vec<u64>,
    /// Requests by distance of the record from the newest; only where the newest are popular: there
    /// chance decides how long a record stays the newest, and with it how often it is asked for.
    ages: Vec<u64>,
    fields: Vec<u64>,
    scan_lengths: Vec<u64>,
    /// Bytes written, by place in the value and by byte from [`BYTE_LEAST`] on.
    bytes: Vec<Vec<u64>>,
    /// Keys inserted, in order.
    inserted: Vec<String>,
}

impl Answer {
    /// Counts requests. `loaded` are the keys of the load phase, in order.
    pub(super) fn of(requests: &[Request], loaded: &[String], is_newest_first: bool) -> Answer {
        let mut answer = Answer { bytes: vec![Vec::new(); BYTES], ..Answer::default() };
        let inserted = requests.iter().filter(|request| request.operation == "INSERT");
        answer.inserted = inserted.map(|request| request.key.clone()).collect();
        let keys = loaded.iter().chain(&answer.inserted);
        let numbers: HashMap<&str, usize> = keys.map(String::as_str).zip(0..).collect();
        let mut newest = RECORDS as usize - 1;
        let mut last: Option<&Request> = None;
        for request in requests {
            *answer.operations.entry(request.operation.to_owned()).or_default() += 1;
            let number = numbers.get(&*request.key).copied();
            let number = number.unwrap_or_else(|| panic!("no record has key {}", request.key));
            // The two requests of a read-modify-write draw one key.
            let is_again = request.operation == "UPDATE"
                && last.is_some_and(|last| last.operation == "READ" && last.key == request.key);
            last = Some(request);
            match request.operation {
                "INSERT" => newest = number,
                _ if is_newest_first => count(&mut answer.ages, newest - number),
                _ if is_again => {}
                _ => count(&mut answer.keys, number),
            }
            request.field.into_iter().for_each(|field| count(&mut answer.fields, field));
            let length = request.scan_length.into_iter();
            length.for_each(|length| count(&mut answer.scan_lengths, length));
            let value = request.value.as_deref().unwrap_or_default();
            for (counts, byte) in answer.bytes.iter_mut().zip(value.bytes()) {
                count(counts, usize::from(byte - BYTE_LEAST));
            }
        }
        answer
    }

    pub(super) fn requests(&self) -> u64 {
        self.operations.values().sum()
    }

    /// Adds the counts of a further run. Keys inserted are those of the first run.
    pub(super) fn add(&mut self, other: &Answer) {
        for (operation, count) in &other.operations {
            *self.operations.entry(operation.clone()).or_default() += count;
        }
        let add = |to: &mut Vec<u64>, from: &[u64]| {
            to.resize(to.len().max(from.len()), 0);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.keys, &other.keys);
        add(&mut self.ages, &other.ages);
        add(&mut self.fields, &other.fields);
        add(&mut self.scan_lengths, &other.scan_lengths);
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(to, from)| add(to, from));
    }

    /// The answer with the first `count` inserted keys only.
    pub(super) fn with_inserted(mut self, count: usize) -> Answer {
        self.inserted.truncate(count);
        self
    }

    /// Differences from `other` beyond chance.
    pub(super) fn differences(&self, other: &Answer) -> Vec<String> {
        let by_name = |answer: &Answer, name: &str| answer.operations.get(name).copied();
        let names: Vec<&String> = self.operations.keys().chain(other.operations.keys()).collect();
        let operations = |answer: &Answer| {
            names.iter().map(|name| by_name(answer, name).unwrap_or(0)).collect::<Vec<_>>()
        };
        let bytes = |answer: &Answer| {
            let padded = answer.bytes.iter().map(|counts| {
                let mut counts = counts.clone();
                counts.resize(usize::from(u8::MAX), 0);
                counts
            });
            padded.collect::<Vec<_>>().concat()
        };
        let counts = [
            ("operations", operations(self), operations(other)),
            ("keys", self.keys.clone(), other.keys.clone()),
            ("ages", self.ages.clone(), other.ages.clone()),
            ("fields", self.fields.clone(), other.fields.clone()),
            ("scan lengths", self.scan_lengths.clone(), other.scan_lengths.clone()),
            ("bytes", bytes(self), bytes(other)),
        ];
        let mut found = Vec::new();
        for (what, one, other) in counts {
            let excess = excess(&one, &other);
            if excess > EXCESS_MOST || excess.is_nan() {
                found.push(format!("{what}: {excess:.1} standard deviations"));
            }
        }
        let (a, b) = (&self.inserted, &other.inserted);
        if a.iter().zip(b).any(|(a, b)| a != b) || a.is_empty() != b.is_empty() {
            found.push(format!("inserted keys: {:?} and {:?}", a.first(), b.first()));
        }
        found
    }
}

fn count(counts: &mut Vec<u64>, at: usize) {
    counts.resize(counts.len().max(at + 1), 0);
    counts[at] += 1;
}

/// The deviation of two samples of categories beyond chance, in standard deviations: the two-sample
/// χ² test, with rare categories put together. A category that one sample lacks counts 0.
fn excess(one: &[u64], other: &[u64]) -> f64 {
    let (total, total_other) = (one.iter().sum::<u64>() as f64, other.iter().sum::<u64>() as f64);
    if total == 0.0 && total_other == 0.0 {
        return 0.0;
    }
    let mut pairs = Vec::new();
    let mut rare = (0.0, 0.0);
    for category in 0..one.len().max(other.len()) {
        let of = |sample: &[u64]| sample.get(category).copied().unwrap_or(0) as f64;
        match (of(one), of(other)) {
            (a, b) if a + b >= 10.0 => pairs.push((a, b)),
            (a, b) => rare = (rare.0 + a, rare.1 + b),
        }
    }
    if rare.0 + rare.1 >= 10.0 {
        pairs.push(rare);
    }
    let weight = (total_other / total).sqrt();
    let chi: f64 = pairs.iter().map(|(a, b)| (a * weight - b / weight).powi(2) / (a + b)).sum();
    let degrees = (pairs.len().max(2) - 1) as f64;
    // As a normal variable, whose tails hold for one degree too (Wilson and Hilferty, 1931).
    let variance = 2.0 / (9.0 * degrees);
    ((chi / degrees).cbrt() - (1.0 - variance)) / variance.sqrt()
}
