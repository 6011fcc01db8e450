//! Write amplification of collection, on media in memory, against the law and a published
//! simulation.
//!
//! Random overwrites of 16 KiB, uniform and by Zipf 0.99 scattered over the addresses, at several
//! shares of the media that are live. The uniform targets are the closed form for a log with greedy
//! collection (Luojie and Kurkoski, "An improved analytic expression for write amplification in
//! NAND flash", ICNC 2012). Printed: bytes that host chunks and collection wrote together, divided
//! by those of the host chunks, once it no longer changes much.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;

use assay_drive::{
    BLOCK_BYTES, Codec, Counts, Disk, Drive, DriveOptions, Format, MemoryDisk, Policy,
};

const PAGE_BYTES: u64 = 16 << 10;
const SEGMENT_BYTES: u32 = 2 << 20;

/// Overwrites of the warm-up, in sizes of the data.
const WARM_UP_TIMES: u64 = 4;
const MEASURED_TIMES: u64 = 2;

/// Share of the media that is live, in percent, with the targets for uniform and Zipf overwrites.
const TARGETS: [(u64, f64, f64); 3] = [(50, 1.26, 1.4), (70, 1.9, 1.8), (80, 2.7, 2.25)];

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let gigabytes: f64 = arguments.next().map_or(2.0, |text| text.parse().unwrap());
    let media_bytes = (gigabytes * f64::from(1 << 30)) as u64 / BLOCK_BYTES * BLOCK_BYTES;
    let only = arguments.next().unwrap_or_default();
    println!("media {gigabytes} GiB in segments of 2 MiB, codec none, overwrites of 16 KiB");
    println!(
        "{:>5} {:>9} {:>13} {:>9} {:>8} {:>7}",
        "full", "keys", "policy", "measured", "target", "ratio"
    );
    for (percent, uniform, zipf) in TARGETS {
        for policy in [Policy::CostBenefit, Policy::Greedy] {
            for (keys, target) in [(Keys::Uniform, uniform), (Keys::Zipf, zipf)] {
                let name = format!("{percent}{keys:?}{policy:?}");
                if !name.contains(&only) {
                    continue;
                }
                let measured = measure(media_bytes, percent, policy, keys);
                let ratio = measured / target;
                let (policy, keys) = (format!("{policy:?}"), format!("{keys:?}"));
                println!(
                    "{percent:>4}% {keys:>9} {policy:>13} \
                     {measured:>9.3} {target:>8.2} {ratio:>7.3}"
                );
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Keys {
    Uniform,
    Zipf,
}

fn measure(media_bytes: u64, percent: u64, policy: Policy, keys: Keys) -> f64 {
    let media = Arc::new(MemoryDisk::new(media_bytes).unwrap());
    let format = Format {
        drive_id: 1,
        logical_bytes: media_bytes,
        codec: Codec::None,
        units: false,
        dictionary: false,
        segment_bytes: Some(SEGMENT_BYTES),
    };
    Drive::format(media.clone(), &format).unwrap();
    let drive = Drive::open(media, DriveOptions { policy, ..DriveOptions::default() }).unwrap();
    // A block on media: itself, five bytes of header and sixteen of tables.
    let block_bytes = BLOCK_BYTES + 5 + 16;
    let pages = media_bytes * percent / 100 / (block_bytes * PAGE_BYTES / BLOCK_BYTES);
    let mut host =
        Host { drive: &drive, random: 1, page: vec![7; PAGE_BYTES as usize], written: 0 };
    (0..pages).for_each(|page| host.write(page));
    let mut zipf = Zipf::new(pages);
    let mut overwrite = |times: u64| {
        for _ in 0..pages * times {
            let page = match keys {
                Keys::Uniform => host.below(pages),
                Keys::Zipf => zipf.scattered(host.uniform()),
            };
            host.write(page);
        }
        drive.status().counts
    };
    let before = overwrite(WARM_UP_TIMES);
    amplification(before, overwrite(MEASURED_TIMES))
}

fn amplification(before: Counts, now: Counts) -> f64 {
    let host = |counts: Counts| counts.write_bytes_payload + counts.write_bytes_table;
    let host_bytes = host(now) - host(before);
    let moved_bytes = now.write_bytes_gc - before.write_bytes_gc;
    (host_bytes + moved_bytes) as f64 / host_bytes as f64
}

struct Host<'a> {
    drive: &'a Drive,
    random: u64,
    page: Vec<u8>,
    written: u64,
}

impl Host<'_> {
    fn write(&mut self, page: u64) {
        self.drive.write(page * PAGE_BYTES, &self.page, false).unwrap();
        self.written += 1;
        if self.written.is_multiple_of(16) {
            self.drive.maintain().unwrap();
        }
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.random)
    }

    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The finaliser of splitmix64.
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// Zipf with exponent 0.99 (Gray et al., "Quickly generating billion-record synthetic databases",
/// 1994), as in YCSB.
struct Zipf {
    items: u64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    const THETA: f64 = 0.99;

    fn new(items: u64) -> Zipf {
        let zeta =
            |items: u64| (1..=items).map(|rank| (rank as f64).powf(-Zipf::THETA)).sum::<f64>();
        let zeta_items = zeta(items);
        let eta =
            (1.0 - (2.0 / items as f64).powf(1.0 - Zipf::THETA)) / (1.0 - zeta(2) / zeta_items);
        Zipf { items, zeta: zeta_items, alpha: 1.0 / (1.0 - Zipf::THETA), eta }
    }

    fn rank(&self, uniform: f64) -> u64 {
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(Zipf::THETA) {
            return 1;
        }
        let rank = self.items as f64 * (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
        (rank as u64).min(self.items - 1)
    }

    /// Hot pages anywhere: rank times an odd number, over a power of two, walked into range.
    fn scattered(&mut self, uniform: f64) -> u64 {
        let bits = self.items.next_power_of_two();
        let mut place = self.rank(uniform);
        loop {
            place = place.wrapping_mul(0x9E37_79B9_7F4A_7C15 | 1).wrapping_add(12345) & (bits - 1);
            if place < self.items {
                return place;
            }
        }
    }
}
