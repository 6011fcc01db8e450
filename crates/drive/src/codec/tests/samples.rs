//! Blocks of known kinds, from seeds.

/// A small generator (Steele, Lea and Flood's SplitMix64), so that samples repeat.
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

pub fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut draws = Draws(seed);
    std::iter::repeat_with(|| draws.next() as u8).take(length).collect()
}

/// Groups of eleven digits as in sysbench's column `c`.
pub fn digits(seed: u64, length: usize) -> Vec<u8> {
    let mut draws = Draws(seed);
    (0..length)
        .map(|place| if place % 12 == 11 { b'-' } else { b'0' + (draws.next() % 10) as u8 })
        .collect()
}

/// Lines of words out of a thousand, so that most occur only once in a block.
pub fn text(seed: u64, length: usize) -> Vec<u8> {
    let mut draws = Draws(seed);
    std::iter::repeat_with(|| word(draws.next() % 1000)).flatten().take(length).collect()
}

fn word(number: u64) -> Vec<u8> {
    let mut letters = Draws(number);
    let length = 3 + letters.next() % 8;
    (0..length).map(|_| b'a' + (letters.next() % 26) as u8).chain([b' ']).collect()
}

/// High entropy byte by byte, but repeated every 256 bytes.
pub fn repeated(seed: u64, length: usize) -> Vec<u8> {
    random(seed, 256).into_iter().cycle().take(length).collect()
}

/// Runs of all other kinds.
pub fn mixed(seed: u64, length: usize) -> Vec<u8> {
    let mut draws = Draws(seed);
    let mut block = Vec::with_capacity(length + 1024);
    while block.len() < length {
        let run = (draws.next() % 1024) as usize;
        match draws.next() % 4 {
            0 => block.extend(random(draws.next(), run)),
            1 => block.extend(digits(draws.next(), run)),
            2 => block.extend(text(draws.next(), run)),
            _ => block.extend(std::iter::repeat_n(0, run)),
        }
    }
    block.truncate(length);
    block
}
