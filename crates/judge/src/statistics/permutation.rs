//! Permutation tests: what a difference would look like if the names of the configurations meant
//! nothing.
//!
//! All permutations where they are few, else a seeded sample of them; then the observed one counts
//! among them, so that p is never too small (Phipson and Smyth, "Permutation p-values should never
//! be zero", Statistical Applications in Genetics and Molecular Biology 9, 2010).

use assay_load::random::Rng;
use serde::Serialize;

/// More permutations than this are drawn from, not gone through.
const EXACT_MOST: u64 = 1 << 14;

/// How many are drawn.
const DRAWN: u64 = 4_999;

/// Stream of the random numbers that pick permutations.
const STREAM: u64 = 0x7065_726d;

/// Result of a permutation test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Permuted {
    /// Share of permutations with a difference at least as large.
    pub p: f64,
    /// The smallest p that this number of units can give.
    pub p_least: f64,
    /// Whether every permutation was looked at.
    pub is_exact: bool,
}

/// Two-sided, of paired differences: under the null each is as likely to have the other sign
/// (Fisher, "The design of experiments", 1935, section 21). Nothing of nothing.
#[must_use]
pub fn flip_signs(differences: &[f64], seed: u64) -> Option<Permuted> {
    let n = differences.len();
    let observed = differences.iter().sum::<f64>().abs();
    let all = 1u64.checked_shl(n as u32).filter(|all| *all <= EXACT_MOST);
    let signed = |sign_of: &mut dyn FnMut(usize) -> bool| -> f64 {
        let one = |(place, value): (usize, &f64)| if sign_of(place) { -value } else { *value };
        differences.iter().enumerate().map(one).sum::<f64>().abs()
    };
    if n == 0 {
        return None;
    }
    // Each arrangement and its mirror image are equally far out.
    let p_least = 2.0_f64.powi(1 - n.min(1000) as i32);
    if let Some(all) = all {
        let sums = (0..all).map(|signs| signed(&mut |place| signs >> place & 1 == 1));
        return Some(share(sums, observed, all, p_least));
    }
    let mut rng = Rng::new(seed, STREAM);
    let sums = (0..DRAWN).map(|_| {
        let (mut bits, mut left) = (0, 0);
        signed(&mut |_| {
            if left == 0 {
                (bits, left) = (rng.next_u64(), 64);
            }
            left -= 1;
            bits >> left & 1 == 1
        })
    });
    Some(drawn(sums, observed, p_least))
}

/// Two-sided, of two samples that share nothing: under the null any of the values may stand in
/// either (Fisher and Pitman). Nothing where one is empty.
#[must_use]
pub fn exchange(a: &[f64], b: &[f64], seed: u64) -> Option<Permuted> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut pool: Vec<f64> = a.iter().chain(b).copied().collect();
    let total: f64 = pool.iter().sum();
    let distance =
        |sum_of_a: f64| (sum_of_a / a.len() as f64 - (total - sum_of_a) / b.len() as f64).abs();
    let observed = distance(a.iter().sum());
    let all = choose(pool.len() as u64, a.len() as u64);
    // With equal sizes each split has a mirror image that is as far out.
    let p_least = if a.len() == b.len() { 2.0 } else { 1.0 } / all;
    if all <= EXACT_MOST as f64 {
        let mut distances = Vec::new();
        splits(&pool, a.len(), 0.0, &mut |sum| distances.push(distance(sum)));
        let count = distances.len() as u64;
        return Some(share(distances.into_iter(), observed, count, p_least));
    }
    let mut rng = Rng::new(seed, STREAM);
    let distances = (0..DRAWN).map(|_| {
        for place in 0..a.len() {
            let other = place + rng.below((pool.len() - place) as u64) as usize;
            pool.swap(place, other);
        }
        distance(pool[..a.len()].iter().sum())
    });
    Some(drawn(distances, observed, p_least))
}

/// The sums of all choices of `take` of the values.
fn splits(values: &[f64], take: usize, sum: f64, found: &mut dyn FnMut(f64)) {
    if take == 0 {
        return found(sum);
    }
    for place in 0..=values.len().saturating_sub(take) {
        if let Some((first, rest)) = values[place..].split_first() {
            splits(rest, take - 1, sum + first, found);
        }
    }
}

fn choose(n: u64, k: u64) -> f64 {
    (1..=k).map(|i| (n - k + i) as f64 / i as f64).product::<f64>().round()
}

/// As far out as the observed one, or further, but for rounding.
fn reaches(distance: f64, observed: f64) -> bool {
    distance >= observed * (1.0 - 1e-12) - f64::MIN_POSITIVE
}

fn share(distances: impl Iterator<Item = f64>, observed: f64, all: u64, p_least: f64) -> Permuted {
    let far = distances.filter(|one| reaches(*one, observed)).count();
    Permuted { p: far as f64 / all as f64, p_least, is_exact: true }
}

fn drawn(distances: impl Iterator<Item = f64>, observed: f64, p_least: f64) -> Permuted {
    let far = distances.filter(|one| reaches(*one, observed)).count();
    let p = (far + 1) as f64 / (DRAWN + 1) as f64;
    Permuted { p, p_least: p_least.max(1.0 / (DRAWN + 1) as f64), is_exact: false }
}
