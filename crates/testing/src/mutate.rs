//! Mutates bytes and texts by a seed. The results are the same on every machine and in every
//! version.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number from 0 to `end` - 1, uniformly; 0 for an empty range.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.word()) * end as u128) >> 64) as usize
    }

    pub fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// Replacements typical of damaged files: numbers at the ends of their types, empty values, and
/// text with markup.
pub const ODD: [&str; 30] = [
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "5e-324",
    "1e999",
    "nan",
    "inf",
    "",
    " ",
    "\n",
    "\u{1b}[2J",
    "\u{202e}",
    "../../x",
    "/",
    "'",
    "\"",
    "{}",
    "[]",
    "null",
    "=1+1",
];

/// A copy with some bytes flipped, removed, repeated or inserted.
#[must_use]
pub fn bytes(of: &[u8], random: &mut Random) -> Vec<u8> {
    let mut all = of.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(all.len().max(1));
        let end = (at + 1 + random.below(64)).min(all.len());
        match random.below(6) {
            0 if !all.is_empty() => all[at] ^= 1 << random.below(8),
            1 if !all.is_empty() => all[at] = random.pick(&[&0, &0xff, &0x7f, &0x80]).to_owned(),
            2 => drop(all.drain(at.min(end)..end)),
            3 => {
                let again = all[at.min(end)..end].to_vec();
                all.splice(at.min(all.len())..at.min(all.len()), again);
            }
            4 if all.len() >= at + 4 => all[at..at + 4].fill(random.pick(&[&0, &0xff]).to_owned()),
            _ => {
                let odd = random.pick(&ODD);
                all.splice(at.min(all.len())..at.min(all.len()), odd.bytes());
            }
        }
    }
    all
}

/// A copy with some words and numbers replaced by odd ones, or with lines moved; sometimes mutated
/// as bytes.
#[must_use]
pub fn text(of: &str, random: &mut Random) -> String {
    if random.below(4) == 0 {
        return String::from_utf8_lossy(&bytes(of.as_bytes(), random)).into_owned();
    }
    let mut all = of.to_owned();
    for _ in 0..=random.below(4) {
        let words: Vec<(usize, usize)> = words(&all);
        let Some(&(from, to)) = words.get(random.below(words.len())) else { return all };
        let other = words[random.below(words.len())];
        let with = match random.below(4) {
            0 => all[other.0..other.1].to_owned(),
            1 if to - from < 50 => all[from..to].repeat(1 + random.below(2000)),
            _ => random.pick(&ODD).to_owned(),
        };
        all.replace_range(from..to, &with);
    }
    all
}

/// The ranges of words and numbers.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = None;
    for (at, sign) in text.char_indices().chain([(text.len(), ' ')]) {
        match (sign.is_alphanumeric() || sign == '_' || sign == '.', from) {
            (true, None) => from = Some(at),
            (false, Some(start)) => {
                found.push((start, at));
                from = None;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_mutates_alike_and_another_differs() {
        let of = |seed| text("a = 1\nb = [2, 3]\n", &mut Random::new(seed));
        assert_eq!(of(7), of(7));
        let all: std::collections::BTreeSet<String> = (0..50).map(of).collect();
        assert!(all.len() > 40);
        for seed in 0..200 {
            let _ = bytes(b"", &mut Random::new(seed));
            let _ = (text("", &mut Random::new(seed)), bytes(b"abc", &mut Random::new(seed)));
        }
    }
}
