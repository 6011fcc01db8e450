//! The rows of an estimate's table: one for each file, one for small files together, one for all.

use std::path::{Path, PathBuf};

use super::measure::Measurements;
use super::schemes::{Method, SCHEME_COUNT, SCHEMES};
use super::survey::{Nature, SurveyedFile};
use super::tally::{Shrinkage, Tally};

/// The figures of a file, of some files or of all files.
#[derive(Debug, Clone)]
pub struct EstimateRow {
    pub label: String,
    /// Number of files.
    pub files: usize,
    /// Length in bytes, holes included.
    pub size_bytes: u64,
    /// Bytes taken on the device.
    pub allocated_bytes: u64,
    /// Bytes in blocks that are not holes; estimated if there are too many holes to map.
    pub data_bytes: f64,
    /// True if any of the files belongs to InnoDB.
    pub has_innodb: bool,
    pub tally: Tally,
    pub notes: Vec<FileNote>,
}

/// A property of a file that explains its ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileNote {
    /// A binary or relay log.
    BinaryLog,
    /// Encrypted by the server.
    Encrypted,
    /// A table with `ROW_FORMAT=COMPRESSED`.
    RowCompressed,
    /// A table with page compression.
    PageCompressed,
    /// Most of the data looks encrypted or compressed, for no known reason.
    Dense,
    /// No cluster of the file was drawn, or none could be read.
    NotRead,
}

impl FileNote {
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            FileNote::BinaryLog => "binary log",
            FileNote::Encrypted => "encrypted",
            FileNote::RowCompressed => "ROW_FORMAT=COMPRESSED",
            FileNote::PageCompressed => "page-compressed",
            FileNote::Dense => "already compressed or encrypted",
            FileNote::NotRead => "not in the sample",
        }
    }
}

impl EstimateRow {
    fn of(file: &SurveyedFile, tally: &Tally, named: &[PathBuf]) -> EstimateRow {
        let data_bytes = file.data_bytes.map_or(tally.total.data_bytes, |bytes| bytes as f64);
        let mut row = EstimateRow {
            label: label(&file.path, named),
            files: 1,
            size_bytes: file.size_bytes,
            allocated_bytes: file.allocated_bytes,
            data_bytes,
            has_innodb: matches!(file.nature, Nature::InnoDb { .. }),
            tally: tally.clone(),
            notes: Vec::new(),
        };
        row.notes = notes(&row, file.nature);
        row
    }

    /// Sums several rows into one.
    #[must_use]
    pub fn together(label: String, rows: &[EstimateRow]) -> EstimateRow {
        let mut all = EstimateRow {
            label,
            files: 0,
            size_bytes: 0,
            allocated_bytes: 0,
            data_bytes: 0.0,
            has_innodb: false,
            tally: Tally::default(),
            notes: Vec::new(),
        };
        for row in rows {
            all.files += row.files;
            all.size_bytes += row.size_bytes;
            all.allocated_bytes += row.allocated_bytes;
            all.data_bytes += row.data_bytes;
            all.has_innodb |= row.has_innodb;
            all.tally.add_all(&row.tally);
        }
        all
    }

    /// The shrinkage under each scheme. `None` if nothing was read, and for InnoDB's schemes if no
    /// file belongs to InnoDB.
    #[must_use]
    pub fn shrinkages(&self) -> [Option<Shrinkage>; SCHEME_COUNT] {
        std::array::from_fn(|scheme| self.shrinkage(scheme))
    }

    #[must_use]
    pub fn shrinkage(&self, scheme: usize) -> Option<Shrinkage> {
        let is_of_innodb = matches!(SCHEMES[scheme].method, Method::Innodb(_));
        self.tally.shrinkage(scheme).filter(|_| self.has_innodb || !is_of_innodb)
    }

    /// `bytes` as a share of the measured data, 0 to 1.
    #[must_use]
    pub fn part(&self, bytes: f64) -> f64 {
        let data = self.tally.total.data_bytes;
        if data > 0.0 { bytes / data } else { 0.0 }
    }
}

/// Returns a row for each file, the largest first, and their total.
#[must_use]
pub fn rows(
    files: &[SurveyedFile],
    measured: &Measurements,
    named: &[PathBuf],
) -> (Vec<EstimateRow>, EstimateRow) {
    let mut rows: Vec<EstimateRow> = files
        .iter()
        .zip(&measured.files)
        .map(|(file, tally)| EstimateRow::of(file, tally, named))
        .collect();
    rows.sort_by(|a, b| b.data_bytes.total_cmp(&a.data_bytes).then_with(|| a.label.cmp(&b.label)));
    let mut total = EstimateRow::together("total".into(), &rows);
    // The rows of files lack the variance of strata that several files share.
    total.tally = measured.total.clone();
    (rows, total)
}

/// Keeps the first `most` rows and sums the others into one.
#[must_use]
pub fn folded(mut rows: Vec<EstimateRow>, most: usize) -> Vec<EstimateRow> {
    if rows.len() <= most + 1 {
        return rows;
    }
    let rest = rows.split_off(most);
    rows.push(EstimateRow::together(format!("{} more files", rest.len()), &rest));
    rows
}

/// The path relative to the named directory if only one was named, else the path as found.
fn label(path: &Path, named: &[PathBuf]) -> String {
    let within = match named {
        [one] => path.strip_prefix(one).ok().filter(|rest| !rest.as_os_str().is_empty()),
        _ => None,
    };
    within.unwrap_or(path).display().to_string()
}

fn notes(row: &EstimateRow, nature: Nature) -> Vec<FileNote> {
    let found = &row.tally.total;
    let (row_compressed, flagged) = match nature {
        Nature::InnoDb { tablespace, .. } => (tablespace.row_compressed, tablespace.encrypted),
        Nature::EncryptedBinaryLog => (false, true),
        Nature::BinaryLog | Nature::Other => (false, false),
    };
    let encrypted = flagged || row.part(found.encrypted_bytes) > 0.5;
    let page_compressed = row.part(found.page_compressed_bytes) > 0.01;
    let explained = encrypted || row_compressed || page_compressed;
    let dense = row.part(found.incompressible_bytes) > 0.5 && !explained;
    let all = [
        (matches!(nature, Nature::BinaryLog | Nature::EncryptedBinaryLog), FileNote::BinaryLog),
        (encrypted, FileNote::Encrypted),
        (row_compressed, FileNote::RowCompressed),
        (page_compressed, FileNote::PageCompressed),
        (dense, FileNote::Dense),
        (row.data_bytes > 0.0 && found.data_bytes == 0.0, FileNote::NotRead),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note).collect()
}
