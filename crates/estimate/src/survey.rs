//! What is known of a file before any of its data are measured: its size, its holes, what its first bytes say.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use assay_drive::{BLOCK_BYTES, BlockBuffer};

use super::source::{CLUSTER_BYTES, Extent, Source};
use assay_innodb::tablespace::Tablespace;

/// A file or block device.
#[derive(Debug)]
pub struct SurveyedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Length in bytes, holes included.
    pub size_bytes: u64,
    /// What it takes on its device, in bytes.
    pub allocated_bytes: u64,
    /// Bytes in blocks that are no holes; nothing when there are too many holes to look at all.
    pub data_bytes: Option<u64>,
    /// Clusters that have data.
    pub clusters: Clusters,
    /// What it is.
    pub nature: Nature,
}

/// What a file is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// A tablespace of InnoDB; whether its pages could be compressed, as a table of its own with whole pages.
    InnoDb {
        /// What its first page says.
        tablespace: Tablespace,
        /// Whether page compression could be switched on.
        can_compress_pages: bool,
    },
    /// A binary or relay log.
    BinaryLog,
    /// The same, encrypted.
    EncryptedBinaryLog,
    /// Anything else.
    Other,
}

/// Binary logs begin so (MySQL Internals, "Binary Log Header").
const BINARY_LOG: &[u8] = b"\xfebin";

/// Encrypted ones so (MySQL's `binlog_istream`).
const ENCRYPTED_BINARY_LOG: &[u8] = b"\xfdbin";

impl SurveyedFile {
    /// Looks at a file without reading more than its first block.
    ///
    /// # Errors
    /// The system's.
    pub fn look(path: &Path) -> io::Result<SurveyedFile> {
        let mut source = Source::open(path)?;
        let extent = source.extent()?;
        let mut start = BlockBuffer::zeroed(BLOCK_BYTES as usize);
        let read = source.read(0, &mut start)?;
        Ok(SurveyedFile {
            path: path.to_owned(),
            size_bytes: extent.size_bytes,
            allocated_bytes: extent.allocated_bytes,
            data_bytes: extent.is_mapped.then(|| bytes_of(&extent)),
            clusters: Clusters::of(&extent),
            nature: nature(path, &start.as_ref()[..read]),
        })
    }

    /// What its first page says, if InnoDB wrote it, and whether its pages could be compressed.
    #[must_use]
    pub fn tablespace(&self) -> Option<(&Tablespace, bool)> {
        match &self.nature {
            Nature::InnoDb { tablespace, can_compress_pages } => {
                Some((tablespace, *can_compress_pages))
            }
            _ => None,
        }
    }
}

fn bytes_of(extent: &Extent) -> u64 {
    extent.data.iter().map(|run| run.end - run.start).sum()
}

fn nature(path: &Path, start: &[u8]) -> Nature {
    if let Some(tablespace) = Tablespace::read(start) {
        let is_table = path.extension().is_some_and(|extension| extension == "ibd");
        let Tablespace { single_table, row_compressed, encrypted, .. } = tablespace;
        let can_compress_pages = is_table && single_table && !row_compressed && !encrypted;
        return Nature::InnoDb { tablespace, can_compress_pages };
    }
    match start {
        _ if start.starts_with(BINARY_LOG) => Nature::BinaryLog,
        _ if start.starts_with(ENCRYPTED_BINARY_LOG) => Nature::EncryptedBinaryLog,
        _ => Nature::Other,
    }
}

/// The clusters of a file that have data, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters {
    /// Neighbouring clusters, with the number of clusters before them.
    runs: Vec<(u64, Range<u64>)>,
    count: u64,
}

impl Clusters {
    fn of(extent: &Extent) -> Clusters {
        let mut runs: Vec<(u64, Range<u64>)> = Vec::new();
        let mut count = 0;
        for data in &extent.data {
            let mut clusters = data.start / CLUSTER_BYTES..data.end.div_ceil(CLUSTER_BYTES);
            match runs.last_mut() {
                Some((_, last)) if clusters.start <= last.end => {
                    count += clusters.end.saturating_sub(last.end);
                    last.end = last.end.max(clusters.end);
                }
                _ => {
                    let before = count;
                    count += clusters.end - clusters.start;
                    clusters.end = clusters.end.max(clusters.start);
                    runs.push((before, clusters));
                }
            }
        }
        Clusters { runs, count }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Where the cluster of that number begins in the file, in bytes.
    #[must_use]
    pub fn offset(&self, number: u64) -> u64 {
        let after = self.runs.partition_point(|(before, _)| *before <= number);
        let run = after.checked_sub(1).and_then(|place| self.runs.get(place));
        run.map_or(0, |(before, clusters)| (clusters.start + number - before) * CLUSTER_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use assay_testing::first_page;

    use super::*;

    #[test]
    fn clusters_with_data_are_numbered_in_order() {
        let kib = |range: Range<u64>| range.start << 10..range.end << 10;
        let data = vec![kib(0..4), kib(100..300), kib(380..384), kib(1280..1284), kib(1288..1500)];
        let extent = Extent { size_bytes: 0, allocated_bytes: 0, data, is_mapped: true };
        let clusters = Clusters::of(&extent);
        let places: Vec<u64> =
            (0..clusters.count()).map(|one| clusters.offset(one) >> 17).collect();
        assert_eq!(places, [0, 1, 2, 10, 11]);
        let none = Extent { size_bytes: 0, allocated_bytes: 0, data: Vec::new(), is_mapped: true };
        assert_eq!(Clusters::of(&none).count(), 0);
    }

    #[test]
    fn files_are_known_by_their_first_bytes() {
        let table = |name: &str, flags| match nature(Path::new(name), &first_page(7, flags)) {
            Nature::InnoDb { can_compress_pages, .. } => Some(can_compress_pages),
            _ => None,
        };
        assert_eq!(table("db/t.ibd", 0x4021), Some(true));
        assert_eq!(table("undo_001", 0x4021), Some(false));
        assert_eq!(table("db/t.ibd", 0x21 | 4 << 1), Some(false), "ROW_FORMAT=COMPRESSED");
        assert_eq!(table("db/t.ibd", 0x4021 | 1 << 13), Some(false), "encrypted");
        assert_eq!(nature(Path::new("binlog.000001"), b"\xfebin1234"), Nature::BinaryLog);
        assert_eq!(nature(Path::new("x"), b"\xfdbin1234"), Nature::EncryptedBinaryLog);
        assert_eq!(nature(Path::new("x"), b"text"), Nature::Other);
        assert_eq!(nature(Path::new("x"), b""), Nature::Other);
    }
}
