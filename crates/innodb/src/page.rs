//! Reads a page: its name, its log sequence numbers (LSN), and whether it is whole.
//!
//! The positions of the fields are from the MySQL source, `fil0types.h`, and for MariaDB's
//! `full_crc32` from its `fil0fil.h` (`FIL_PAGE_FCRC32_CHECKSUM`, `FIL_PAGE_FCRC32_END_LSN`). All
//! numbers are big-endian.

use serde::{Deserialize, Serialize};

/// The name of a page: the number of its tablespace, and its own number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageName {
    pub space: u32,
    pub page: u32,
}

/// The transaction system page: page 5 of the system tablespace (`TRX_SYS_PAGE_NO`, `fsp0types.h`).
pub const TRANSACTION_SYSTEM: PageName = PageName { space: 0, page: 5 };

/// The checksum of a tablespace's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChecksumFormat {
    /// CRC-32C of header and body, at byte 0 and 8 bytes before the end (`buf_calc_page_crc32`,
    /// `innodb_checksum_algorithm = crc32`).
    Crc32,
    /// CRC-32C of all other bytes, in the last 4 (MariaDB since 10.5).
    FullCrc32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageState {
    /// The checksum is right.
    Whole,
    /// The checksum is wrong.
    Torn,
    /// All zeroes: never written.
    Empty,
    /// The contents are encrypted or compressed, so the checksum cannot be computed without the key
    /// or the original.
    Unreadable,
}

/// The fields of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageFields {
    /// The name in the page's own header.
    pub name: PageName,
    /// LSN of the last change, at the page's head.
    pub lsn: u64,
    /// Lower half of the LSN at the page's end; equal to that of `lsn` if one write made both.
    pub lsn_tail: u32,
    pub state: PageState,
}

const CHECKSUM: usize = 0;
pub(crate) const NUMBER: usize = 4;
const LSN: usize = 16;
pub(crate) const KIND: usize = 24;
/// The checksum skips 12 bytes from here: the file's flush LSN and the tablespace's number.
pub(crate) const FLUSH_LSN: usize = 26;
pub(crate) const SPACE: usize = 34;
pub(crate) const BODY: usize = 38;
/// Flags of a tablespace, on its page 0 (`FSP_HEADER_OFFSET` 38 + `FSP_SPACE_FLAGS` 16).
const SPACE_FLAGS: usize = 54;

/// The value in place of a checksum under `innodb_checksum_algorithm = none`
/// (`BUF_NO_CHECKSUM_MAGIC`).
const NO_CHECKSUM: u32 = 0xDEAD_BEEF;

/// Types of pages: `FIL_PAGE_TYPE_FSP_HDR`, `FIL_PAGE_COMPRESSED`, `FIL_PAGE_ENCRYPTED`,
/// `FIL_PAGE_COMPRESSED_AND_ENCRYPTED`, `FIL_PAGE_ENCRYPTED_RTREE`, `FIL_PAGE_RTREE`,
/// `FIL_PAGE_INDEX`; MariaDB's `FIL_PAGE_PAGE_COMPRESSED` and `FIL_PAGE_PAGE_COMPRESSED_ENCRYPTED`.
pub(crate) mod kind {
    pub(crate) const FSP_HEADER: u16 = 8;
    pub(crate) const COMPRESSED: u16 = 14;
    pub(crate) const ENCRYPTED: u16 = 15;
    pub(crate) const COMPRESSED_AND_ENCRYPTED: u16 = 16;
    pub(crate) const ENCRYPTED_RTREE: u16 = 17;
    pub(crate) const RTREE: u16 = 17854;
    pub(crate) const INDEX: u16 = 17855;
    pub(crate) const MARIADB_COMPRESSED: u16 = 34354;
    pub(crate) const MARIADB_COMPRESSED_AND_ENCRYPTED: u16 = 37401;
}

/// Types of pages with contents that are compressed, encrypted or both.
const UNREADABLE_KINDS: [u16; 6] = [
    kind::COMPRESSED,
    kind::ENCRYPTED,
    kind::COMPRESSED_AND_ENCRYPTED,
    kind::ENCRYPTED_RTREE,
    kind::MARIADB_COMPRESSED,
    kind::MARIADB_COMPRESSED_AND_ENCRYPTED,
];

impl PageFields {
    /// Reads a page of at least 128 bytes.
    #[must_use]
    pub fn of(page: &[u8], format: ChecksumFormat) -> PageFields {
        let end = page.len()
            - match format {
                ChecksumFormat::Crc32 => 4,
                ChecksumFormat::FullCrc32 => 8,
            };
        PageFields {
            name: PageName { space: word(page, SPACE), page: word(page, NUMBER) },
            lsn: u64::from(word(page, LSN)) << 32 | u64::from(word(page, LSN + 4)),
            lsn_tail: word(page, end),
            state: state(page, format),
        }
    }

    /// Returns true if head and end have the same LSN, as after a single write.
    #[must_use]
    pub fn is_of_one_write(&self) -> bool {
        self.lsn as u32 == self.lsn_tail
    }
}

fn state(page: &[u8], format: ChecksumFormat) -> PageState {
    if page.iter().all(|byte| *byte == 0) {
        return PageState::Empty;
    }
    let is_right = match format {
        ChecksumFormat::Crc32 => {
            let (head, tail) = (word(page, CHECKSUM), word(page, page.len() - 8));
            let sum = checksum(page, format);
            let is_of_one_write = word(page, LSN + 4) == word(page, page.len() - 4);
            is_of_one_write && ([head, tail] == [sum; 2] || [head, tail] == [NO_CHECKSUM; 2])
        }
        ChecksumFormat::FullCrc32 => word(page, page.len() - 4) == checksum(page, format),
    };
    match is_right {
        true => PageState::Whole,
        false if UNREADABLE_KINDS.contains(&half_word(page, KIND)) => PageState::Unreadable,
        false => PageState::Torn,
    }
}

/// The checksum that a page with these contents must have.
#[must_use]
pub fn checksum(page: &[u8], format: ChecksumFormat) -> u32 {
    match format {
        ChecksumFormat::Crc32 => {
            crc32c::crc32c(&page[NUMBER..FLUSH_LSN]) ^ crc32c::crc32c(&page[BODY..page.len() - 8])
        }
        ChecksumFormat::FullCrc32 => crc32c::crc32c(&page[..page.len() - 4]),
    }
}

/// Flags of a tablespace, stored on its page 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    #[must_use]
    pub fn of(first_page: &[u8]) -> Flags {
        Flags(word(first_page, SPACE_FLAGS))
    }

    /// Bit 4 is MariaDB's `full_crc32` (`FSP_FLAGS_FCRC32_POS_MARKER`); in other formats it would
    /// mean a compressed page of 128 KiB or more.
    #[must_use]
    pub fn format(self) -> ChecksumFormat {
        if self.0 & 1 << 4 == 0 { ChecksumFormat::Crc32 } else { ChecksumFormat::FullCrc32 }
    }

    /// Returns true for `ROW_FORMAT=COMPRESSED`, which stores pages in a smaller size than they
    /// have in memory (`FSP_FLAGS_POS_ZIP_SSIZE`, 4 bits from bit 1).
    #[must_use]
    pub fn is_row_compressed(self) -> bool {
        self.format() == ChecksumFormat::Crc32 && self.0 >> 1 & 0xF != 0
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }
}

/// The big-endian number in the four bytes at `at`.
#[must_use]
pub fn word(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// The big-endian number in the two bytes at `at`.
pub(crate) fn half_word(page: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

/// Pages for tests.
#[cfg(test)]
pub mod made {
    use super::*;

    /// A whole page of 4 KiB.
    pub fn page(space: u32, number: u32, lsn: u64, fill: u8, format: ChecksumFormat) -> Vec<u8> {
        let mut page = vec![fill; 4096];
        page[NUMBER..NUMBER + 4].copy_from_slice(&number.to_be_bytes());
        page[8..16].fill(0xFF);
        page[LSN..LSN + 8].copy_from_slice(&lsn.to_be_bytes());
        page[KIND..FLUSH_LSN].copy_from_slice(&17855_u16.to_be_bytes());
        page[FLUSH_LSN..SPACE].fill(0);
        page[SPACE..BODY].copy_from_slice(&space.to_be_bytes());
        if number == 0 {
            let flags: u32 = if format == ChecksumFormat::FullCrc32 { 1 << 4 } else { 0 };
            page[SPACE_FLAGS..SPACE_FLAGS + 4].copy_from_slice(&flags.to_be_bytes());
        }
        let low = (lsn as u32).to_be_bytes();
        let end = page.len();
        match format {
            ChecksumFormat::Crc32 => {
                page[end - 4..].copy_from_slice(&low);
                let sum = checksum(&page, format).to_be_bytes();
                page[..4].copy_from_slice(&sum);
                page[end - 8..end - 4].copy_from_slice(&sum);
            }
            ChecksumFormat::FullCrc32 => {
                page[end - 8..end - 4].copy_from_slice(&low);
                let sum = checksum(&page, format).to_be_bytes();
                page[end - 4..].copy_from_slice(&sum);
            }
        }
        page
    }

    /// The first KiB of `head` and the rest of `rest`, as after a write that was torn at 1 KiB.
    pub fn torn(head: &[u8], rest: &[u8]) -> Vec<u8> {
        [&head[..1024], &rest[1024..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_until_a_byte_of_it_is_of_another_write() {
        for format in [ChecksumFormat::Crc32, ChecksumFormat::FullCrc32] {
            let (old, new) =
                (made::page(7, 3, 1 << 33, 1, format), made::page(7, 3, 1 << 34 | 5, 2, format));
            let seen = PageFields::of(&new, format);
            assert_eq!(seen.name, PageName { space: 7, page: 3 });
            assert_eq!((seen.lsn, seen.lsn_tail, seen.state), (1 << 34 | 5, 5, PageState::Whole));
            let torn = PageFields::of(&made::torn(&old, &new), format);
            assert_eq!((torn.lsn, torn.lsn_tail, torn.state), (1 << 33, 5, PageState::Torn));
            assert!(seen.is_of_one_write() && !torn.is_of_one_write());
            // Both LSNs agree, but the body is damaged.
            let mut inside = new.clone();
            inside[2000] ^= 1;
            assert_eq!(PageFields::of(&inside, format).state, PageState::Torn);
        }
    }

    #[test]
    fn pages_that_nobody_can_judge_are_not_called_torn() {
        assert_eq!(PageFields::of(&[0; 4096], ChecksumFormat::Crc32).state, PageState::Empty);
        let mut encrypted = made::page(7, 3, 9, 1, ChecksumFormat::Crc32);
        encrypted[KIND..FLUSH_LSN].copy_from_slice(&15_u16.to_be_bytes());
        assert_eq!(PageFields::of(&encrypted, ChecksumFormat::Crc32).state, PageState::Unreadable);
        let mut without = made::page(7, 3, 9, 1, ChecksumFormat::Crc32);
        without[..4].copy_from_slice(&NO_CHECKSUM.to_be_bytes());
        without[4088..4092].copy_from_slice(&NO_CHECKSUM.to_be_bytes());
        assert_eq!(PageFields::of(&without, ChecksumFormat::Crc32).state, PageState::Whole);
    }
}
