//! Measures how many bytes a cluster of a file takes under each scheme.

use std::ops::Range;

use anyhow::{Context, Result, anyhow};
use assay_drive::{
    BLOCK_BYTES, Codec, Coder, RECORD_OVERHEAD_BYTES, is_zero, looks_incompressible,
};
use libdeflater::{CompressionLvl, Compressor};
use lz4_flex::block::{self, CompressTable};

use super::schemes::{Method, PageCodec, PerScheme, SCHEME_COUNT, SCHEMES};
use super::vdo::{LONGEST_FRAGMENT_BYTES, Packer};
use assay_innodb::tablespace::{PAGE_HEADER_BYTES, PageKind, Tablespace};

const BLOCK: usize = BLOCK_BYTES as usize;

/// InnoDB's default level (`innodb_compression_level`). On pages of sysbench rows and of English
/// text, libdeflate needs as many blocks as zlib within one in two thousand, in half the time.
const PAGE_DEFLATE_LEVEL: i32 = 6;

/// The level of btrfs's `compress=zstd:1`, the nearest to the drive's.
const BTRFS_LEVEL: i32 = 1;

/// A cluster as it was read.
#[derive(Debug)]
pub struct SampledCluster<'a> {
    /// Whole blocks.
    pub bytes: &'a [u8],
    /// Ranges of `bytes` that hold data, in whole blocks; the rest is holes.
    pub data: &'a [Range<usize>],
    pub is_first: bool,
    /// Header of the file's first page, if InnoDB wrote the file.
    pub tablespace: Option<&'a Tablespace>,
    pub can_compress_pages: bool,
}

/// Bytes of a cluster by their content; holes are left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeasuredBytes {
    /// Bytes in blocks with data.
    pub data_bytes: f64,
    /// Bytes stored by each scheme.
    pub stored_bytes: PerScheme<f64>,
    /// Bytes in blocks of zeroes.
    pub zero_bytes: f64,
    /// Bytes in blocks whose values are as evenly distributed as in encrypted data.
    pub incompressible_bytes: f64,
    /// Bytes in pages whose header says that InnoDB encrypted them.
    pub encrypted_bytes: f64,
    /// Bytes in pages that InnoDB's page compression has shrunk.
    pub page_compressed_bytes: f64,
}

/// The compressors and buffers of one worker.
pub struct Shrinker {
    coders: Vec<(Codec, Coder)>,
    table: CompressTable,
    deflate: Compressor,
    zstd: zstd::bulk::Compressor<'static>,
    out: Vec<u8>,
    packer: Packer,
}

impl Shrinker {
    pub fn new() -> Result<Shrinker> {
        let level =
            CompressionLvl::new(PAGE_DEFLATE_LEVEL).map_err(|error| anyhow!("{error:?}"))?;
        let coders = [Codec::Lz4, Codec::Deflate, Codec::Zstd];
        Ok(Shrinker {
            coders: coders.map(|codec| (codec, Coder::new(codec))).into(),
            table: CompressTable::default(),
            deflate: Compressor::new(level),
            zstd: zstd::bulk::Compressor::new(BTRFS_LEVEL).context("cannot set up zstd")?,
            out: Vec::new(),
            packer: Packer::new(),
        })
    }

    /// Measures a cluster under every scheme except VDO. Clusters share VDO's blocks: they are
    /// numbered from 0, and [`Shrinker::finish`] adds VDO's bytes to all of them.
    pub fn measure(&mut self, number: usize, cluster: &SampledCluster<'_>) -> MeasuredBytes {
        let mut found = MeasuredBytes::default();
        for run in cluster.data {
            found.data_bytes += run.len() as f64;
            for block in cluster.bytes[run.clone()].chunks(BLOCK) {
                self.look_at(number, block, &mut found);
            }
        }
        look_at_pages(cluster, &mut found);
        for (stored, scheme) in found.stored_bytes.iter_mut().zip(&SCHEMES) {
            *stored = match scheme.method {
                Method::Drive(codec, unit_bytes) => self.drive(cluster, codec, unit_bytes),
                Method::Innodb(codec) => self.innodb(cluster, codec),
                Method::Btrfs => self.btrfs(cluster),
                Method::Vdo => 0.0,
            };
        }
        found
    }

    /// Adds VDO's bytes to the clusters measured since the last call.
    pub fn finish(&mut self, measured: &mut [MeasuredBytes]) {
        let shares = self.packer.finish(measured.len());
        for (found, share) in measured.iter_mut().zip(shares) {
            for scheme in (0..SCHEME_COUNT).filter(|&scheme| SCHEMES[scheme].method == Method::Vdo)
            {
                found.stored_bytes[scheme] = share;
            }
        }
    }

    fn look_at(&mut self, number: usize, block: &[u8], found: &mut MeasuredBytes) {
        if is_zero(block) {
            found.zero_bytes += block.len() as f64;
            return;
        }
        if looks_incompressible(block) {
            found.incompressible_bytes += block.len() as f64;
        }
        match self.lz4_bytes(block) {
            fragment if fragment <= LONGEST_FRAGMENT_BYTES => self.packer.pack(number, fragment),
            _ => self.packer.store_whole(number),
        }
    }

    /// One record for each unit that is not all zeroes; the last unit ends with the data.
    fn drive(&mut self, cluster: &SampledCluster<'_>, codec: Codec, unit_bytes: usize) -> f64 {
        let Some((_, coder)) = self.coders.iter_mut().find(|(one, _)| *one == codec) else {
            return f64::NAN;
        };
        let mut stored = 0;
        for unit in cluster.data.iter().flat_map(|run| units(run, unit_bytes)) {
            let unit = &cluster.bytes[unit];
            if !is_zero(unit) {
                self.out.clear();
                coder.encode(unit, None, &mut self.out);
                stored += self.out.len() as u64 + RECORD_OVERHEAD_BYTES;
            }
        }
        stored as f64
    }

    /// Each page that the server would compress, rounded up to blocks; all other data unchanged.
    fn innodb(&mut self, cluster: &SampledCluster<'_>, codec: PageCodec) -> f64 {
        let tablespace = cluster.tablespace.filter(|_| cluster.can_compress_pages);
        let Some(tablespace) = tablespace else {
            return data_bytes(cluster, 0..cluster.bytes.len()) as f64;
        };
        let page_bytes = tablespace.page_bytes;
        let pages = (0..cluster.bytes.len()).step_by(page_bytes);
        let stored = pages.map(|start| {
            let range = start..(start + page_bytes).min(cluster.bytes.len());
            let there = data_bytes(cluster, range.clone());
            let page = &cluster.bytes[range];
            let stays = there < page_bytes
                || start == 0 && cluster.is_first
                || tablespace.kind(page) != PageKind::Plain
                || is_zero(page);
            if stays { there } else { self.page_bytes(page, codec) }
        });
        stored.sum::<usize>() as f64
    }

    /// A page under page compression: the header stays uncompressed, and compression has to save at
    /// least a block (MySQL's `os_file_compress_page`).
    fn page_bytes(&mut self, page: &[u8], codec: PageCodec) -> usize {
        let body = &page[PAGE_HEADER_BYTES..];
        let shrunk = match codec {
            PageCodec::Lz4 => self.lz4_bytes(body),
            PageCodec::Zlib => {
                self.out.resize(page.len(), 0);
                self.deflate.zlib_compress(body, &mut self.out).unwrap_or(page.len())
            }
        };
        (PAGE_HEADER_BYTES + shrunk).next_multiple_of(BLOCK).min(page.len())
    }

    /// Each run of data as an extent of its own, compressed if that saves a block (btrfs's
    /// `compress_file_range`).
    fn btrfs(&mut self, cluster: &SampledCluster<'_>) -> f64 {
        let extents = cluster.data.iter().map(|run| {
            let extent = &cluster.bytes[run.clone()];
            let shrunk = self.zstd_bytes(extent).next_multiple_of(BLOCK);
            if shrunk < extent.len() { shrunk } else { extent.len() }
        });
        extents.sum::<usize>() as f64
    }

    fn lz4_bytes(&mut self, data: &[u8]) -> usize {
        self.out.resize(block::get_maximum_output_size(data.len()), 0);
        let shrunk = block::compress_into_with_table(data, &mut self.out, &mut self.table);
        shrunk.unwrap_or(data.len())
    }

    fn zstd_bytes(&mut self, data: &[u8]) -> usize {
        self.out.resize(zstd::zstd_safe::compress_bound(data.len()), 0);
        self.zstd.compress_to_buffer(data, self.out.as_mut_slice()).unwrap_or(data.len())
    }
}

/// Cuts a run of data at the boundaries of units.
fn units(run: &Range<usize>, unit_bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let end = run.end;
    let mut start = run.start;
    std::iter::from_fn(move || {
        let next = (start + 1).next_multiple_of(unit_bytes).min(end);
        let unit = start..next;
        start = next;
        (!unit.is_empty()).then_some(unit)
    })
}

/// Number of bytes in `range` that are not holes.
fn data_bytes(cluster: &SampledCluster<'_>, range: Range<usize>) -> usize {
    let overlaps = cluster.data.iter().map(|run| {
        let (start, end) = (run.start.max(range.start), run.end.min(range.end));
        end.saturating_sub(start)
    });
    overlaps.sum()
}

fn look_at_pages(cluster: &SampledCluster<'_>, found: &mut MeasuredBytes) {
    let Some(tablespace) = cluster.tablespace else { return };
    for start in (0..cluster.bytes.len()).step_by(tablespace.page_bytes) {
        let range = start..(start + tablespace.page_bytes).min(cluster.bytes.len());
        let there = data_bytes(cluster, range.clone()) as f64;
        let is_first = start == 0 && cluster.is_first;
        if there == 0.0 || is_first || range.len() < PAGE_HEADER_BYTES {
            continue;
        }
        match tablespace.kind(&cluster.bytes[range]) {
            PageKind::Encrypted => found.encrypted_bytes += there,
            PageKind::Compressed => found.page_compressed_bytes += there,
            PageKind::Plain | PageKind::Spatial => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schemes::place;
    use std::slice;

    use super::*;
    use assay_load::random::Rng;
    use assay_testing::first_page;

    fn random(seed: u64, length: usize) -> Vec<u8> {
        let mut random = Rng::new(seed, 0);
        (0..length).map(|_| random.next_u64() as u8).collect()
    }

    fn measured(
        bytes: &[u8],
        data: &[Range<usize>],
        tablespace: Option<&Tablespace>,
    ) -> MeasuredBytes {
        let mut shrinker = Shrinker::new().unwrap();
        let can_compress_pages = tablespace.is_some();
        let cluster =
            SampledCluster { bytes, data, is_first: false, tablespace, can_compress_pages };
        let mut found = [shrinker.measure(0, &cluster)];
        shrinker.finish(&mut found);
        found[0]
    }

    fn whole(bytes: &[u8], tablespace: Option<&Tablespace>) -> MeasuredBytes {
        measured(bytes, slice::from_ref(&(0..bytes.len())), tablespace)
    }

    fn under(found: &MeasuredBytes, key: &str) -> f64 {
        found.stored_bytes[place(key).unwrap()]
    }

    fn table() -> Tablespace {
        Tablespace::read(&first_page(7, 0x4021)).unwrap()
    }

    #[test]
    fn zeroes_cost_the_drive_and_vdo_nothing() {
        let found = whole(&[0; 131_072], Some(&table()));
        assert_eq!((found.data_bytes, found.zero_bytes), (131_072.0, 131_072.0));
        for scheme in
            SCHEMES.iter().filter(|scheme| matches!(scheme.method, Method::Drive(..) | Method::Vdo))
        {
            assert_eq!(under(&found, scheme.key), 0.0, "{}", scheme.key);
        }
        assert_eq!(under(&found, "btrfs_zstd"), 4096.0);
        assert_eq!(under(&found, "innodb_zlib"), 131_072.0, "InnoDB never wrote these pages");
    }

    #[test]
    fn random_bytes_shrink_nowhere() {
        let found = whole(&random(1, 131_072), Some(&table()));
        assert_eq!(found.incompressible_bytes, 131_072.0);
        for scheme in &SCHEMES {
            let overhead = match scheme.method {
                Method::Drive(_, unit) => 131_072 / unit as u64 * RECORD_OVERHEAD_BYTES,
                _ => 0,
            };
            assert_eq!(under(&found, scheme.key), 131_072.0 + overhead as f64, "{}", scheme.key);
        }
    }

    #[test]
    fn holes_are_in_nothing() {
        let bytes = random(1, 131_072);
        let found = measured(&bytes, &[4096..8192, 20480..36864], Some(&table()));
        assert_eq!(found.data_bytes, 20480.0);
        assert_eq!(under(&found, "innodb_zlib"), 20480.0);
        assert_eq!(under(&found, "vdo_lz4"), 20480.0);
        assert_eq!(under(&found, "drive_zstd_4k"), 5.0 * (4096.0 + 21.0));
        // 4 KiB, then 12 KiB up to the next unit, then 4 KiB.
        assert_eq!(under(&found, "drive_zstd_16k"), 20480.0 + 3.0 * 21.0);
        assert_eq!(measured(&bytes, &[], Some(&table())), MeasuredBytes::default());
    }

    /// A page that begins with random bytes and ends with zeroes.
    fn page(random_bytes: usize) -> Vec<u8> {
        let mut page = random(9, random_bytes);
        page.resize(16384, 0);
        page[24..26].copy_from_slice(&17855u16.to_be_bytes());
        page[26..34].fill(0);
        page
    }

    #[test]
    fn page_compression_rounds_up_to_blocks_and_has_to_save_one() {
        for (random_bytes, expected) in [
            (1000, 4096.0),
            (3900, 4096.0),
            (4200, 8192.0),
            (8000, 8192.0),
            (12_000, 12_288.0),
            (12_400, 16_384.0),
        ] {
            let found = whole(&page(random_bytes), Some(&table()));
            assert_eq!(under(&found, "innodb_zlib"), expected, "{random_bytes}");
            assert_eq!(under(&found, "innodb_lz4"), expected, "{random_bytes}");
        }
        let found = whole(&page(1000), None);
        assert_eq!(under(&found, "innodb_zlib"), 16384.0, "no table of InnoDB");
    }

    #[test]
    fn pages_that_page_compression_leaves_alone_stay() {
        let mut encrypted = page(1000);
        encrypted[25] = 15;
        encrypted[24] = 0;
        let found = whole(&encrypted, Some(&table()));
        assert_eq!((found.encrypted_bytes, under(&found, "innodb_zlib")), (16384.0, 16384.0));
        let mut compressed = page(3000);
        compressed[24..26].copy_from_slice(&14u16.to_be_bytes());
        let found = measured(&compressed, slice::from_ref(&(0..4096)), Some(&table()));
        assert_eq!((found.page_compressed_bytes, under(&found, "innodb_zlib")), (4096.0, 4096.0));
        let mut spatial = page(1000);
        spatial[24..26].copy_from_slice(&17854u16.to_be_bytes());
        assert_eq!(under(&whole(&spatial, Some(&table())), "innodb_lz4"), 16384.0);

        let mut shrinker = Shrinker::new().unwrap();
        let first = [first_page(7, 0x4021), vec![0; 12288]].concat();
        let cluster = SampledCluster {
            bytes: &first,
            data: slice::from_ref(&(0..16384)),
            is_first: true,
            tablespace: Some(&table()),
            can_compress_pages: true,
        };
        assert_eq!(under(&shrinker.measure(0, &cluster), "innodb_zlib"), 16384.0);
    }

    #[test]
    fn vdo_shares_blocks_across_clusters() {
        let mut shrinker = Shrinker::new().unwrap();
        // LZ4 makes a third of such a block; its random bytes differ from block to block.
        let block = |seed| [random(seed, 1200), vec![0; 2896]].concat();
        let mut found: Vec<MeasuredBytes> = (0..6)
            .map(|number| {
                let bytes = block(number as u64);
                let cluster = SampledCluster {
                    bytes: &bytes,
                    data: slice::from_ref(&(0..4096)),
                    is_first: false,
                    tablespace: None,
                    can_compress_pages: false,
                };
                shrinker.measure(number, &cluster)
            })
            .collect();
        shrinker.finish(&mut found);
        let total: f64 = found.iter().map(|found| under(found, "vdo_lz4")).sum();
        assert!((total - 8192.0).abs() < 1e-6, "{total}");
    }
}
