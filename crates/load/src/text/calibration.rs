//! The compressibility of the built-in lines, compared with the novel's; run with `--nocapture` to
//! see it.

use std::io::Write;

use super::generator::Generator;
use super::grammar::Zipf;
use super::*;

const BLOCK_BYTES: usize = 4096;
const BLOCKS: usize = 500;
const CODECS: [&str; 3] = ["zlib 6", "zstd 1", "lz4"];
const NOVEL: [f64; 3] = [2.02, 1.97, 1.25];

/// Raw by compressed bytes of the data's blocks, each compressed by itself, for each of [`CODECS`].
fn ratios(data: &[u8]) -> [f64; 3] {
    let mut zstd = zstd::bulk::Compressor::new(1).unwrap();
    let mut compressed = [0; 3];
    let blocks = data.chunks_exact(BLOCK_BYTES);
    let raw = (blocks.len() * BLOCK_BYTES) as f64;
    for block in blocks {
        let mut zlib = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::new(6));
        zlib.write_all(block).unwrap();
        compressed[0] += zlib.finish().unwrap().len();
        compressed[1] += zstd.compress(block).unwrap().len();
        compressed[2] += lz4_flex::block::compress(block).len();
    }
    compressed.map(|bytes| raw / bytes as f64)
}

/// The largest departure from the novel, as a share of it.
fn departure(ratios: [f64; 3]) -> f64 {
    let departures = ratios.iter().zip(NOVEL).map(|(ratio, novel)| (ratio / novel - 1.0).abs());
    departures.fold(0.0, f64::max)
}

/// The data of [`BLOCKS`], as appended by `row`.
fn fill(row: impl Fn(&mut Rng, &mut Vec<u8>), seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed, 0);
    let mut data = vec![];
    while data.len() < BLOCKS * BLOCK_BYTES {
        row(&mut rng, &mut data);
    }
    data
}

fn report(what: &str, data: &[u8]) -> [f64; 3] {
    let ratios = ratios(data);
    let text: Vec<String> =
        CODECS.iter().zip(ratios).map(|(codec, ratio)| format!("{codec} {ratio:.3}")).collect();
    println!("{what}: {} (departs by {:.1} %)", text.join(", "), 100.0 * departure(ratios));
    ratios
}

fn joined_lines(source: &TextSource, max_bytes: usize, seed: u64) -> Vec<u8> {
    let row = |rng: &mut Rng, data: &mut Vec<u8>| {
        source.line(rng, max_bytes, data);
        data.push(b'\n');
    };
    fill(row, seed)
}

#[test]
fn lines_compress_as_the_novel_does() {
    let source = TextSource::built_in();
    for seed in 1..=3 {
        let ratios = report("lines", &joined_lines(&source, 255, seed));
        assert!(departure(ratios) < 0.05, "{ratios:?}");
    }
    let ratios = report("lines of 70 bytes", &joined_lines(&source, 70, 4));
    assert!(departure(ratios) < 0.05, "{ratios:?}");
}

#[test]
fn columns_compress_as_the_novel_does() {
    let source = TextSource::built_in();
    let columns = |rng: &mut Rng, data: &mut Vec<u8>| {
        source.line(rng, 255, data);
        source.line(rng, 255, data);
    };
    let ratios = report("data1 and data2", &fill(columns, 1));
    assert!(departure(ratios) < 0.05, "{ratios:?}");
}

/// A row as InnoDB stores it in COMPACT or DYNAMIC format (lengths, 5 bytes of header, id, 6 + 7
/// bytes of transaction and roll pointer, k, c, pad), to tell what the text does to a whole table.
#[test]
fn whole_rows_are_less_compressible_than_their_text() {
    let source = TextSource::built_in();
    let id = std::cell::Cell::new(0u32);
    let digits = |rng: &mut Rng, groups: usize, data: &mut Vec<u8>| {
        for group in 0..groups {
            let end = if group + 1 < groups { "-" } else { "" };
            write!(data, "{:011}{end}", rng.below(100_000_000_000)).unwrap();
        }
    };
    let row = |rng: &mut Rng, data: &mut Vec<u8>| {
        id.set(id.get() + 1);
        data.extend_from_slice(&[100, 105, 59, 119, 0, 0, 16, 1, 100]);
        data.extend_from_slice(&id.get().to_be_bytes());
        data.extend_from_slice(&[0, 0, 0, 0, 7, 1, 0x81, 0, 0, 1, 9, 1, 16]);
        data.extend_from_slice(&(rng.below(1_000_000) as u32).to_be_bytes());
        digits(rng, 10, data);
        digits(rng, 5, data);
        source.line(rng, 255, data);
        source.line(rng, 255, data);
    };
    let ratios = report("whole rows", &fill(row, 1));
    assert!(
        ratios.iter().zip(NOVEL).all(|(&ratio, novel)| ratio > 1.0 && ratio < novel),
        "{ratios:?}"
    );
}

/// Negative control: other text does not pass.
#[test]
fn other_text_departs_from_the_novel() {
    let letters = |rng: &mut Rng, data: &mut Vec<u8>| data.push(b'a' + rng.below(26) as u8);
    let ratios_letters = report("random letters", &fill(letters, 1));
    let steep = Zipf { exponent: 1.5, ..CALIBRATED };
    let source = TextSource(Source::Generator(Generator::new(steep)));
    let ratios_steep = report("too few words", &joined_lines(&source, 255, 1));
    assert!(departure(ratios_letters) > 0.05 && departure(ratios_steep) > 0.05);
}

#[test]
fn two_lines_are_204_bytes() {
    let source = TextSource::built_in();
    let mut rng = Rng::new(9, 0);
    let (mut data, rows) = (vec![], 10_000);
    for _ in 0..2 * rows {
        let before = data.len();
        source.line(&mut rng, 255, &mut data);
        assert!((68..=TextSource::LINE_BYTES_MAX).contains(&(data.len() - before)));
    }
    let mean = data.len() as f64 / rows as f64;
    println!("data1 and data2: {mean:.1} bytes a row");
    assert!((202.0..206.0).contains(&mean), "{mean}");
}
