//! A stand-in for the generator of English lines, until that arrives.
use crate::random::Rng;
use std::{io, path::Path};

/// A source of lines.
#[derive(Debug, Clone)]
pub struct TextSource;

impl TextSource {
    /// The built-in generator.
    #[must_use]
    pub fn built_in() -> TextSource {
        TextSource
    }
    /// Lines of a book.
    ///
    /// # Errors
    /// What reading answered.
    pub fn from_file(path: &Path) -> io::Result<TextSource> {
        std::fs::read(path).map(|_| TextSource)
    }
    /// Appends one line of 1..=`max_bytes` bytes.
    pub fn line(&self, rng: &mut Rng, max_bytes: usize, out: &mut Vec<u8>) {
        let wanted = (90 + rng.below(25) as usize).min(max_bytes).max(1);
        for _ in 0..wanted {
            out.push(b'a' + rng.below(26) as u8);
        }
    }
}
