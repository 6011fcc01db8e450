//! Lines of English for the columns `data1` and `data2` of the schema `text`.
//!
//! The ScaleFlux papers put random lines of Gutenberg books there. [`TextSource::from_file`] takes
//! them from a book of the user's; [`TextSource::built_in`] invents them, as compressible as a
//! novel of which was measured, 4 KiB at a time:
//!
//! | 4 KiB blocks of | zlib 6 | zstd 1 | lz4 |
//! |---|---:|---:|---:|
//! | the novel | 2.02 | 1.97 | 1.25 |
//! | invented lines joined by newline | 1.99 | 1.95 | 1.27 |
//! | the two columns, row after row | 2.00 | 1.96 | 1.27 |
//! | whole rows: header, id, k, c, pad, data1, data2 | 1.72 | 1.67 | 1.14 |
//!
//! The tests in `text/calibration.rs` print these figures and hold the first two of ours within 5 %
//! of the novel. zlib is `flate2` on miniz_oxide (equal to zlib 1.2.13 in every digit shown;
//! libdeflate's level 6 packs 1.6 % tighter), lz4 is `lz4_flex` (0.7 % below the C library 1.9.4,
//! which gives 1.28 for the invented lines).
//!
//! A line is 90 to 120 bytes wide and ends with a word, 102 bytes in the mean: two make 204 bytes a
//! row. What is drawn depends on the `Rng` alone: same seed and stream, same lines.

mod book;
#[cfg(test)]
mod calibration;
mod generator;
mod grammar;

use std::io;
use std::path::{Path, PathBuf};

use crate::random::Rng;
use book::Book;
use generator::Generator;
use grammar::Zipf;

/// Fitted to the novel's three ratios together with `grammar.txt`.
const CALIBRATED: Zipf = Zipf { exponent: 0.75, shift: 6.0 };

/// The reason why a file cannot serve as a book.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The file could not be read.
    #[error("cannot read the text {}: {source}; give a readable text file", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file holds characters that no text has.
    #[error(
        "{} is not plain text in UTF-8 or Latin-1; use a text file, such as a book",
        path.display()
    )]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The file has so few lines that rows would repeat, and compress better than a book.
    #[error("{} has {lines} lines of text, too few for distinct rows; use one with at least {} \
             lines",
        path.display(), TextSource::BOOK_LINES_MIN)]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Its lines that are not blank.
        lines: usize,
    },
    /// The file is larger than any book.
    #[error("{} is larger than {} MiB; use a smaller text file",
        path.display(), TextSource::BOOK_BYTES_MAX >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

/// A source of lines. Threads share one by reference; a line allocates only what its buffer lacks.
#[derive(Debug, Clone)]
pub struct TextSource(Source);

#[derive(Debug, Clone)]
enum Source {
    Generator(Generator),
    Book(Book),
}

impl TextSource {
    /// Bytes of the widest line; a column of this length holds every line.
    pub const LINE_BYTES_MAX: usize = 120;
    /// Lines with text that a book must have at least. With 1 000, a 4 KiB block repeats about one
    /// line.
    pub const BOOK_LINES_MIN: usize = 1000;
    /// Bytes that a book may have at most.
    pub const BOOK_BYTES_MAX: u64 = 64 << 20;

    /// Line width below which none is drawn, unless the caller has less room.
    const LINE_BYTES_MIN: usize = 90;

    /// The generator of invented English. Its lines are ASCII without apostrophe and backslash, so
    /// they can stand in a single-quoted SQL literal as they are. Building its tables takes less
    /// than a millisecond.
    #[must_use]
    pub fn built_in() -> TextSource {
        TextSource(Source::Generator(Generator::new(CALIBRATED)))
    }

    /// A book in plain text: UTF-8, or Latin-1 with the additions of Windows-1252. Blank lines are
    /// skipped and white space is made single spaces. Its lines come out as UTF-8 and may hold
    /// quotes of every kind.
    ///
    /// # Errors
    /// When the file cannot be read, is not text, has fewer than [`Self::BOOK_LINES_MIN`] lines
    /// with text or more than [`Self::BOOK_BYTES_MAX`] bytes.
    pub fn from_file(path: &Path) -> Result<TextSource, TextError> {
        Book::read(path).map(|book| TextSource(Source::Book(book)))
    }

    /// Appends one line of 1 to `max_bytes` bytes, without a newline. Where there is room for it,
    /// it is 90 to [`Self::LINE_BYTES_MAX`] bytes less the word that no longer fitted: a book's
    /// line goes on with the lines after it, so that the mean is 102 bytes whatever the book's own
    /// width. Nothing is appended when `max_bytes` is 0.
    pub fn line(&self, rng: &mut Rng, max_bytes: usize, out: &mut Vec<u8>) {
        let widths = Self::LINE_BYTES_MAX - Self::LINE_BYTES_MIN + 1;
        let width = (Self::LINE_BYTES_MIN + rng.below(widths as u64) as usize).min(max_bytes);
        match &self.0 {
            _ if width == 0 => {}
            Source::Generator(generator) => generator.line(rng, width, out),
            Source::Book(book) => book.line(rng, width, out),
        }
    }
}
