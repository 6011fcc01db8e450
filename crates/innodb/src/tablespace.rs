//! What an InnoDB file says about itself: page size, compression, encryption.
//!
//! Page 0 is never compressed or encrypted, and every page has its type in a header of 38 bytes. Constants after
//! MySQL's `fil0types.h`, `fil0fil.h` and `fsp0types.h`, and MariaDB's files of the same names.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::page::{BODY, FLUSH_LSN, Flags, Format, KIND, NUMBER, SPACE, half_word, kind, word};

/// Bytes of page 0 that [`Tablespace::read`] looks at.
pub const HEADER_BYTES: usize = 128;

/// Length of a page's header in bytes (`FIL_PAGE_DATA`).
pub const PAGE_HEADER_BYTES: usize = BODY;

/// The page that holds the root of a table's clustered index, in a file of its own (`FSP_FIRST_INODE_PAGE_NO` + 1): pages
/// 0 to 2 hold the space's own records. In MySQL it is the dictionary's, which the flags of page 0 tell of anyway.
const FIRST_INDEX_PAGE: u64 = 3;

/// What page 0 says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tablespace {
    /// Bytes from one page to the next in the file.
    pub page_bytes: usize,
    /// Whether the pages are those of `ROW_FORMAT=COMPRESSED`.
    pub row_compressed: bool,
    /// Whether the flags say that pages are encrypted; MariaDB says so on each page only.
    pub encrypted: bool,
    /// Whether one table has it for itself, so that page compression could be switched on.
    pub single_table: bool,
    /// How its pages carry their checksum, which decides what else their headers say.
    format: Format,
}

/// What the header of a page says about its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Rows, or anything else that InnoDB wrote as it is.
    Plain,
    /// Page compression has shrunk it.
    Compressed,
    /// Encrypted, compressed before or not.
    Encrypted,
    /// Page compression leaves it alone.
    Spatial,
}

impl Tablespace {
    /// From the first bytes of a file; `None` when it is no tablespace of InnoDB.
    #[must_use]
    pub fn read(start: &[u8]) -> Option<Tablespace> {
        let header = start.get(..HEADER_BYTES)?;
        let is_first_page =
            word(header, NUMBER) == 0 && half_word(header, KIND) == kind::FSP_HEADER;
        // The number of the space stands in the page's header and in the space's own.
        let numbers_agree = word(header, SPACE) == word(header, BODY);
        if !is_first_page || !numbers_agree {
            return None;
        }
        let space = word(header, BODY);
        let flags = Flags::of(header);
        let mut tablespace = match flags.format() {
            Format::FullCrc32 => full_crc32(flags),
            Format::Crc32 => classic(flags),
        }?;
        // Space 0 is the system's; the highest are MySQL's undo, temporary and dictionary spaces.
        tablespace.single_table &= space > 0 && space < 0xffff_0000;
        Some(tablespace)
    }

    /// Whether the table in the file `path` is encrypted, by the flags of page 0 or, where MariaDB encrypted it, by the header
    /// of the page behind which its rows begin; nothing for a file that is no tablespace.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_encrypted(path: &Path) -> io::Result<Option<bool>> {
        let file = File::open(path)?;
        let mut start = [0; HEADER_BYTES];
        match file.read_exact_at(&mut start, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let Some(tablespace) = Tablespace::read(&start) else { return Ok(None) };
        if tablespace.encrypted {
            return Ok(Some(true));
        }
        let mut header = [0; PAGE_HEADER_BYTES];
        match file.read_exact_at(&mut header, FIRST_INDEX_PAGE * tablespace.page_bytes as u64) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(false)),
            read => read.map(|()| Some(tablespace.kind(&header) == PageKind::Encrypted)),
        }
    }

    /// What the header of one of its pages says; `page` is at least that header.
    #[must_use]
    pub fn kind(&self, page: &[u8]) -> PageKind {
        let page_kind = half_word(page, KIND);
        if self.format == Format::FullCrc32 {
            return match (word(page, 0) != 0, page_kind & 0x8000 != 0) {
                (true, _) => PageKind::Encrypted,
                (false, true) => PageKind::Compressed,
                (false, false) => PageKind::Plain,
            };
        }
        match page_kind {
            kind::COMPRESSED | kind::MARIADB_COMPRESSED => PageKind::Compressed,
            kind::ENCRYPTED
            | kind::COMPRESSED_AND_ENCRYPTED
            | kind::ENCRYPTED_RTREE
            | kind::MARIADB_COMPRESSED_AND_ENCRYPTED => PageKind::Encrypted,
            // MariaDB's encrypted pages keep their type and have the version of their key here.
            kind::INDEX if word(page, FLUSH_LSN) != 0 => PageKind::Encrypted,
            kind::RTREE => PageKind::Spatial,
            _ => PageKind::Plain,
        }
    }
}

/// Flags of MySQL and of MariaDB before `full_crc32`: row compression in bits 1 to 4, page size in bits 6 to 9, bit 11
/// for a space of several tables and bit 13 for encryption. Sizes are 512 shifted; 0 is 16 KiB.
fn classic(flags: Flags) -> Option<Tablespace> {
    let (row_compressed, flags) = (flags.is_row_compressed(), flags.bits());
    let zip = flags >> 1 & 0xf;
    let page = flags >> 6 & 0xf;
    let logical = if page == 0 { 16 << 10 } else { page_size(page)? };
    let page_bytes = if zip == 0 { logical } else { 512usize.checked_shl(zip)? };
    (page_bytes <= logical).then_some(Tablespace {
        page_bytes,
        row_compressed,
        encrypted: flags & 1 << 13 != 0,
        single_table: flags & 1 << 11 == 0,
        format: Format::Crc32,
    })
}

/// Flags of MariaDB's `full_crc32`: page size in bits 0 to 3, bit 4 always set, compression in bits 5 to 7.
fn full_crc32(flags: Flags) -> Option<Tablespace> {
    let flags = flags.bits();
    if flags >> 8 != 0 {
        return None;
    }
    Some(Tablespace {
        page_bytes: page_size(flags & 0xf)?,
        row_compressed: false,
        encrypted: false,
        single_table: true,
        format: Format::FullCrc32,
    })
}

/// 4 to 64 KiB.
fn page_size(shift: u32) -> Option<usize> {
    (3..=7).contains(&shift).then(|| 512 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testing::first_page;

    fn page(kind: u16, at_0: u32, at_26: u32) -> Vec<u8> {
        let mut page = vec![0; 64];
        page[..4].copy_from_slice(&at_0.to_be_bytes());
        page[24..26].copy_from_slice(&kind.to_be_bytes());
        page[26..30].copy_from_slice(&at_26.to_be_bytes());
        page
    }

    #[test]
    fn flags_are_read() {
        let read = |flags| Tablespace::read(&first_page(7, flags)).unwrap();
        let dynamic = read(0x4021);
        assert_eq!((dynamic.page_bytes, dynamic.row_compressed), (16384, false));
        assert!(dynamic.single_table && !dynamic.encrypted);
        assert!(read(0x4021 | 1 << 13).encrypted);
        assert!(!read(0x4021 | 1 << 11).single_table, "a general tablespace");
        let zipped = read(0x21 | 4 << 1);
        assert_eq!((zipped.page_bytes, zipped.row_compressed), (8192, true));
        assert_eq!(read(0x21 | 3 << 6).page_bytes, 4096);
        assert_eq!(read(0x21 | 7 << 6).page_bytes, 65536);
        assert_eq!(read(0x15).page_bytes, 16384, "MariaDB's full_crc32");
        assert!(!Tablespace::read(&first_page(0, 0x4000)).unwrap().single_table, "the system's");
        assert!(!Tablespace::read(&first_page(0xffff_ffef, 0x4000)).unwrap().single_table);
    }

    /// Pages made by hand from the documented format; the tests of the whole tool have real ones.
    #[test]
    fn a_file_says_whether_it_is_encrypted_without_its_rows_being_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.ibd");
        let is_encrypted = |flags, index_header: &[u8]| {
            let mut file = first_page(7, flags);
            file.resize(3 << 14, 0);
            file.extend(index_header);
            std::fs::write(&path, file).unwrap();
            Tablespace::is_encrypted(&path).unwrap()
        };
        assert_eq!(is_encrypted(0x4021, &page(17855, 9, 0)), Some(false));
        assert_eq!(is_encrypted(0x4021 | 1 << 13, &page(17855, 9, 0)), Some(true), "MySQL");
        assert_eq!(is_encrypted(0x21, &page(17855, 9, 1)), Some(true), "MariaDB to 10.4");
        assert_eq!(is_encrypted(0x15, &page(17855, 1, 0)), Some(true), "MariaDB from 10.5");
        assert_eq!(is_encrypted(0x15, &page(17855, 0, 0)), Some(false));
        assert_eq!(is_encrypted(0x15, &[]), Some(false), "a file without a third page");
        std::fs::write(&path, [1; 4096]).unwrap();
        assert_eq!(Tablespace::is_encrypted(&path).unwrap(), None);
    }

    #[test]
    fn other_files_are_not_taken_for_tablespaces() {
        assert_eq!(Tablespace::read(&[]), None);
        assert_eq!(Tablespace::read(&[0; 4096]), None);
        assert_eq!(Tablespace::read(&first_page(7, 0x21 | 1 << 6)), None, "pages of 1 KiB");
        assert_eq!(Tablespace::read(&first_page(7, 0x21 | 7 << 1)), None, "64 KiB within 16");
        let mut other = first_page(7, 0x4021);
        other[37] = 8;
        assert_eq!(Tablespace::read(&other), None, "two numbers for one space");
        let mut other = first_page(7, 0x4021);
        other[7] = 1;
        assert_eq!(Tablespace::read(&other), None, "page 1");
    }

    #[test]
    fn pages_say_what_was_done_to_them() {
        let mysql = Tablespace::read(&first_page(7, 0x4021)).unwrap();
        assert_eq!(mysql.kind(&page(17855, 9, 0)), PageKind::Plain);
        assert_eq!(mysql.kind(&page(14, 9, 0)), PageKind::Compressed);
        for kind in [15, 16, 17, 37401] {
            assert_eq!(mysql.kind(&page(kind, 9, 5)), PageKind::Encrypted);
        }
        assert_eq!(mysql.kind(&page(34354, 9, 0)), PageKind::Compressed);
        assert_eq!(mysql.kind(&page(17855, 9, 1)), PageKind::Encrypted, "MariaDB's");
        assert_eq!(mysql.kind(&page(17854, 9, 1)), PageKind::Spatial);

        let maria = Tablespace::read(&first_page(7, 0x15)).unwrap();
        assert_eq!(maria.kind(&page(17855, 0, 0)), PageKind::Plain);
        assert_eq!(maria.kind(&page(17855, 1, 0)), PageKind::Encrypted);
        assert_eq!(maria.kind(&page(0x8020, 0, 0)), PageKind::Compressed);
    }
}
