//! Reads the header of an InnoDB file: page size, compression, encryption.
//!
//! Page 0 is never compressed or encrypted, and every page has its type in a header of 38 bytes.
//! Constants are those of MySQL's `fil0types.h`, `fil0fil.h` and `fsp0types.h`, and of MariaDB's
//! files of the same names.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::page::{
    BODY, ChecksumFormat, FLUSH_LSN, Flags, KIND, NUMBER, SPACE, half_word, kind, word,
};

/// Bytes of page 0 that [`Tablespace::read`] needs.
pub const HEADER_BYTES: usize = 128;

/// Length of a page's header in bytes (`FIL_PAGE_DATA`).
pub const PAGE_HEADER_BYTES: usize = BODY;

/// The root page of the clustered index in a table's own file (`FSP_FIRST_INODE_PAGE_NO` + 1).
/// Pages 0 to 2 hold the tablespace's own records. In MySQL page 3 belongs to the dictionary, but
/// there the flags on page 0 suffice.
const FIRST_INDEX_PAGE: u64 = 3;

/// The header on page 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tablespace {
    /// Page size in the file, in bytes.
    pub page_bytes: usize,
    /// True for `ROW_FORMAT=COMPRESSED`.
    pub row_compressed: bool,
    /// True if the flags mark the pages as encrypted; MariaDB marks each page instead.
    pub encrypted: bool,
    /// True if the file belongs to one table, so that page compression can be enabled for it.
    pub single_table: bool,
    /// Decides the meaning of other header fields.
    format: ChecksumFormat,
}

/// The contents of a page by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Rows, or other contents as InnoDB has them in memory.
    Plain,
    /// Shrunk by page compression.
    Compressed,
    /// Encrypted, possibly also compressed.
    Encrypted,
    /// A page of a spatial index, which page compression skips.
    Spatial,
}

impl Tablespace {
    /// Reads the first bytes of a file; `None` if the file is no InnoDB tablespace.
    #[must_use]
    pub fn read(start: &[u8]) -> Option<Tablespace> {
        let header = start.get(..HEADER_BYTES)?;
        let is_first_page =
            word(header, NUMBER) == 0 && half_word(header, KIND) == kind::FSP_HEADER;
        // The page's header and the tablespace's header both hold the tablespace's number.
        let numbers_agree = word(header, SPACE) == word(header, BODY);
        if !is_first_page || !numbers_agree {
            return None;
        }
        let space = word(header, BODY);
        let flags = Flags::of(header);
        let mut tablespace = match flags.format() {
            ChecksumFormat::FullCrc32 => full_crc32(flags),
            ChecksumFormat::Crc32 => classic(flags),
        }?;
        // Tablespace 0 is the system tablespace; MySQL's undo, temporary and dictionary tablespaces
        // have the highest numbers.
        tablespace.single_table &= space > 0 && space < 0xffff_0000;
        Some(tablespace)
    }

    /// Returns whether the table in the file `path` is encrypted, by the flags on page 0 or, for
    /// MariaDB, by the header of the first page with rows. `None` if the file is no tablespace.
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

    /// The contents of a page. `page` starts with the page's header.
    #[must_use]
    pub fn kind(&self, page: &[u8]) -> PageKind {
        let page_kind = half_word(page, KIND);
        if self.format == ChecksumFormat::FullCrc32 {
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
            // MariaDB's encrypted pages keep their type and store the version of their key here.
            kind::INDEX if word(page, FLUSH_LSN) != 0 => PageKind::Encrypted,
            kind::RTREE => PageKind::Spatial,
            _ => PageKind::Plain,
        }
    }
}

/// Flags of MySQL, and of MariaDB before `full_crc32`: row compression in bits 1 to 4, page size in
/// bits 6 to 9, bit 11 for a tablespace of several tables, bit 13 for encryption. A size is 512
/// shifted left; 0 stands for 16 KiB.
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
        format: ChecksumFormat::Crc32,
    })
}

/// Flags of MariaDB's `full_crc32`: page size in bits 0 to 3, bit 4 always set, compression in bits
/// 5 to 7.
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
        format: ChecksumFormat::FullCrc32,
    })
}

/// Page size for a shift, from 4 to 64 KiB.
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

    /// The pages are made from the documented format; the tests of the whole tool read files of
    /// real servers.
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
