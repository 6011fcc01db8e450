//! A user's book as a source of lines.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{TextError, TextSource};
use crate::random::Rng;

/// The characters of Windows-1252 in place of Latin-1's control characters 0x80 to 0x9f (WHATWG
/// Encoding Standard, index windows-1252); books have many of its quotation marks and dashes. Five
/// places stay control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The end-of-file character of old DOS texts.
const DOS_END: char = '\u{1a}';

/// A book's text, and the starts of its lines.
#[derive(Debug, Clone)]
pub(super) struct Book {
    /// All words, one space between each two.
    text: String,
    line_starts: Vec<u32>,
}

impl Book {
    pub(super) fn read(path: &Path) -> Result<Book, TextError> {
        let path = path.to_path_buf();
        let mut bytes = vec![];
        // The limit also ends the reading of a device that has no end.
        let read = File::open(&path)
            .and_then(|file| file.take(TextSource::BOOK_BYTES_MAX + 1).read_to_end(&mut bytes));
        match read {
            Err(source) => return Err(TextError::Read { path, source }),
            Ok(count) if count as u64 > TextSource::BOOK_BYTES_MAX => {
                return Err(TextError::TooLarge { path });
            }
            Ok(_) => {}
        }
        let text = decode(bytes);
        if text.chars().any(|c| c.is_control() && !c.is_whitespace() && c != DOS_END) {
            return Err(TextError::NotText { path });
        }
        let book = Book::set(&text);
        match book.line_starts.len() {
            lines if lines < TextSource::BOOK_LINES_MIN => Err(TextError::TooShort { path, lines }),
            _ => Ok(book),
        }
    }

    /// Sets the text as one run of words.
    fn set(raw: &str) -> Book {
        let mut book = Book { text: String::with_capacity(raw.len()), line_starts: vec![] };
        for line in raw.split(['\n', '\r', DOS_END]) {
            for (index, word) in line.split_whitespace().enumerate() {
                if !book.text.is_empty() {
                    book.text.push(' ');
                }
                if index == 0 {
                    book.line_starts.push(book.text.len() as u32);
                }
                book.text.push_str(word);
            }
        }
        book
    }

    /// Appends at most `width` bytes from the start of some line on, to the end of a word.
    pub(super) fn line(&self, rng: &mut Rng, width: usize, out: &mut Vec<u8>) {
        let line = self.line_starts[rng.below(self.line_starts.len() as u64) as usize];
        let rest = &self.text[line as usize..];
        let cut = match rest.as_bytes().get(..=width) {
            None => rest.len(),
            Some(fits) => match fits.iter().rposition(|&byte| byte == b' ') {
                Some(space) => space,
                None => (0..=width).rfind(|&at| rest.is_char_boundary(at)).unwrap_or(0),
            },
        };
        match &rest.as_bytes()[..cut] {
            // Not even the first character fits, and half of one is not text.
            [] => out.push(b'?'),
            fitting => out.extend_from_slice(fitting),
        }
    }
}

/// Decodes UTF-8, or Latin-1 as browsers do. A byte order mark is dropped.
fn decode(bytes: Vec<u8>) -> String {
    let latin = |byte: u8| match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte) - 0x80],
        _ => char::from(byte),
    };
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(latin).collect());
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::NamedTempFile;

    fn file(bytes: &[u8]) -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn book(bytes: &[u8]) -> Result<TextSource, TextError> {
        TextSource::from_file(file(bytes).path())
    }

    /// 1 500 lines, each with its number and the given words, and a blank one after each.
    fn pages(words: &str) -> String {
        (0..1500).map(|line| format!("  Line{line}  {words}\t\r\n \r\n")).collect()
    }

    fn lines(source: &TextSource, max_bytes: usize) -> Vec<String> {
        let mut rng = Rng::new(5, 0);
        let line = |_| {
            let mut out = vec![];
            source.line(&mut rng, max_bytes, &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..2000).map(line).collect()
    }

    #[test]
    fn lines_start_as_the_books_do_and_fill_the_width() {
        const WORDS: &str = "there's a red boat by the pier, as you said";
        let lines = lines(&book(pages(WORDS).as_bytes()).unwrap(), 255);
        for line in &lines {
            assert!(
                line.starts_with("Line") && !line.contains("  ") && line.trim() == line,
                "{line:?}"
            );
            assert!(line.len() <= TextSource::LINE_BYTES_MAX, "{line:?}");
            let last = line.split(' ').next_back().unwrap();
            let whole = last.starts_with("Line") || WORDS.split(' ').any(|word| word == last);
            assert!(whole, "{line:?}");
        }
        let mean = lines.iter().map(String::len).sum::<usize>() as f64 / lines.len() as f64;
        assert!((99.0..105.0).contains(&mean), "mean {mean}");
        let different: std::collections::HashSet<&str> =
            lines.iter().filter_map(|line| line.split(' ').next()).collect();
        assert!(different.len() > 1000, "{}", different.len());
    }

    #[test]
    fn encodings_come_out_as_utf8() {
        let utf8 = book(format!("\u{feff}{}\u{1a}", pages("naïve “café”")).as_bytes()).unwrap();
        let latin: Vec<u8> =
            pages("na\u{ef}ve \u{93}caf\u{e9}\u{94}").chars().map(|c| c as u8).collect();
        let latin = book(&latin).unwrap();
        assert_eq!(lines(&utf8, 200), lines(&latin, 200));
        assert!(lines(&latin, 60)[0].contains("naïve “café”"));
    }

    #[test]
    fn narrow_columns_get_whole_characters() {
        let book = book("ééééé\n".repeat(1000).as_bytes()).unwrap();
        for max_bytes in 1..=30 {
            for line in lines(&book, max_bytes) {
                assert!((1..=max_bytes).contains(&line.len()), "{max_bytes}: {line:?}");
            }
        }
    }

    #[test]
    fn what_is_no_book_is_refused() {
        let absent = TextSource::from_file(Path::new("/nonexistent/book.txt"));
        assert!(matches!(absent, Err(TextError::Read { .. })), "{absent:?}");
        let binary: Vec<u8> = pages("x").bytes().chain([0]).collect();
        assert!(matches!(book(&binary), Err(TextError::NotText { .. })));
        let wide: Vec<u8> = pages("x").encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(matches!(book(&wide), Err(TextError::NotText { .. })));
        let few = book("a line\n\n".repeat(999).as_bytes());
        assert!(matches!(few, Err(TextError::TooShort { lines: 999, .. })));
        let message = few.unwrap_err().to_string();
        assert!(message.ends_with("use one with at least 1000 lines"), "{message}");
        assert!(book("a line\n\n".repeat(1000).as_bytes()).is_ok());
        let endless = TextSource::from_file(Path::new("/dev/zero"));
        assert!(matches!(endless, Err(TextError::TooLarge { .. })), "{endless:?}");
    }
}
