//! What the table and the JSON say, in numbers: rows for files, for those too small to be shown, and for all.

use std::path::{Path, PathBuf};

use super::configs::{CONFIG_COUNT, CONFIGS, Method};
use super::measure::Outcome;
use super::survey::{Nature, Surveyed};
use super::tally::{Shrinkage, Tally};

/// A file, some files or all files.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is called.
    pub label: String,
    /// Files in it.
    pub files: usize,
    /// Length in bytes, holes included.
    pub size_bytes: u64,
    /// What is taken on the device, in bytes.
    pub allocated_bytes: u64,
    /// Bytes in blocks that are no holes; estimated where there were too many holes to count.
    pub data_bytes: f64,
    /// Whether any of it is a file of InnoDB.
    pub has_innodb: bool,
    /// What was measured.
    pub tally: Tally,
    /// What should be known of it.
    pub notes: Vec<Note>,
}

/// What should be known of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// A binary or relay log.
    BinaryLog,
    /// The server encrypted it.
    Encrypted,
    /// A table with `ROW_FORMAT=COMPRESSED`.
    RowCompressed,
    /// A table with page compression.
    PageCompressed,
    /// Most of it looks like encrypted or compressed data, and nothing says why.
    Dense,
    /// The sample has nothing of it, or it could not be read.
    NotRead,
}

impl Note {
    /// In a word or two.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Note::BinaryLog => "binary log",
            Note::Encrypted => "encrypted",
            Note::RowCompressed => "ROW_FORMAT=COMPRESSED",
            Note::PageCompressed => "page-compressed",
            Note::Dense => "already compressed or encrypted",
            Note::NotRead => "not in the sample",
        }
    }
}

impl Row {
    fn of(file: &Surveyed, tally: &Tally, named: &[PathBuf]) -> Row {
        let data_bytes = file.data_bytes.map_or(tally.total.data_bytes, |bytes| bytes as f64);
        let mut row = Row {
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

    /// Several rows as one.
    #[must_use]
    pub fn together(label: String, rows: &[Row]) -> Row {
        let mut all = Row {
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

    /// How far it shrinks under each configuration; nothing where nothing was read, nor by InnoDB where it has no file.
    #[must_use]
    pub fn shrinkages(&self) -> [Option<Shrinkage>; CONFIG_COUNT] {
        std::array::from_fn(|config| self.shrinkage(config))
    }

    /// The same under one configuration.
    #[must_use]
    pub fn shrinkage(&self, config: usize) -> Option<Shrinkage> {
        let is_of_innodb = matches!(CONFIGS[config].method, Method::Innodb(_));
        self.tally.shrinkage(config).filter(|_| self.has_innodb || !is_of_innodb)
    }

    /// Part of what was measured that is so, 0 to 1.
    #[must_use]
    pub fn part(&self, bytes: f64) -> f64 {
        let data = self.tally.total.data_bytes;
        if data > 0.0 { bytes / data } else { 0.0 }
    }
}

/// Every file, the largest first, and all together.
#[must_use]
pub fn rows(files: &[Surveyed], outcome: &Outcome, named: &[PathBuf]) -> (Vec<Row>, Row) {
    let mut rows: Vec<Row> =
        files.iter().zip(&outcome.files).map(|(file, tally)| Row::of(file, tally, named)).collect();
    rows.sort_by(|a, b| b.data_bytes.total_cmp(&a.data_bytes).then_with(|| a.label.cmp(&b.label)));
    let mut total = Row::together("total".into(), &rows);
    // Strata that several files share are whole here.
    total.tally = outcome.total.clone();
    (rows, total)
}

/// The rows that are shown: all, or the first `most` and the others as one.
#[must_use]
pub fn folded(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    if rows.len() <= most + 1 {
        return rows;
    }
    let rest = rows.split_off(most);
    rows.push(Row::together(format!("{} more files", rest.len()), &rest));
    rows
}

/// Its path within the one directory named, else as it was found.
fn label(path: &Path, named: &[PathBuf]) -> String {
    let within = match named {
        [one] => path.strip_prefix(one).ok().filter(|rest| !rest.as_os_str().is_empty()),
        _ => None,
    };
    within.unwrap_or(path).display().to_string()
}

fn notes(row: &Row, nature: Nature) -> Vec<Note> {
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
        (matches!(nature, Nature::BinaryLog | Nature::EncryptedBinaryLog), Note::BinaryLog),
        (encrypted, Note::Encrypted),
        (row_compressed, Note::RowCompressed),
        (page_compressed, Note::PageCompressed),
        (dense, Note::Dense),
        (row.data_bytes > 0.0 && found.data_bytes == 0.0, Note::NotRead),
    ];
    all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note).collect()
}
