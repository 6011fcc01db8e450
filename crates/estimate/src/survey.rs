//! Surveys a file before its data are measured: size, holes and the type told by its first bytes.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use assay_drive::{BLOCK_BYTES, BlockBuffer};

use super::source::{CLUSTER_BYTES, FileLayout, Source};
use assay_innodb::tablespace::Tablespace;

#[derive(Debug)]
pub struct SurveyedFile {
    pub path: PathBuf,
    /// Length in bytes, holes included.
    pub size_bytes: u64,
    /// Bytes taken on the device.
    pub allocated_bytes: u64,
    /// Bytes in blocks that are not holes; `None` if there are too many holes to map.
    pub data_bytes: Option<u64>,
    /// Clusters that hold data.
    pub clusters: Clusters,
    pub nature: Nature,
}

/// Type of a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// A tablespace of InnoDB.
    InnoDb {
        /// Header of the first page.
        tablespace: Tablespace,
        /// True for a single table with uncompressed pages: only such a table can have page
        /// compression.
        can_compress_pages: bool,
    },
    /// A binary or relay log.
    BinaryLog,
    /// An encrypted binary or relay log.
    EncryptedBinaryLog,
    Other,
}

/// First bytes of a binary log (MySQL Internals, "Binary Log Header").
const BINARY_LOG: &[u8] = b"\xfebin";

/// First bytes of an encrypted binary log (MySQL's `binlog_istream`).
const ENCRYPTED_BINARY_LOG: &[u8] = b"\xfdbin";

impl SurveyedFile {
    /// Surveys a file, reading its first block only.
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

    /// The tablespace and `can_compress_pages`, if InnoDB wrote the file.
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

fn bytes_of(extent: &FileLayout) -> u64 {
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

/// The clusters of a file that hold data, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters {
    /// Neighbouring clusters, with the number of clusters before them.
    runs: Vec<(u64, Range<u64>)>,
    count: u64,
}

impl Clusters {
    fn of(extent: &FileLayout) -> Clusters {
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

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Byte offset of the cluster with this number.
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
        let extent = FileLayout { size_bytes: 0, allocated_bytes: 0, data, is_mapped: true };
        let clusters = Clusters::of(&extent);
        let places: Vec<u64> =
            (0..clusters.count()).map(|number| clusters.offset(number) >> 17).collect();
        assert_eq!(places, [0, 1, 2, 10, 11]);
        let none =
            FileLayout { size_bytes: 0, allocated_bytes: 0, data: Vec::new(), is_mapped: true };
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
