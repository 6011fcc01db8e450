//! A page: its name, its log sequence numbers, and whether it is whole.
//!
//! Where the fields lie: MySQL source documentation, `fil0types.h`, and for MariaDB's `full_crc32` its `fil0fil.h`
//! (`FIL_PAGE_FCRC32_CHECKSUM`, `FIL_PAGE_FCRC32_END_LSN`). All numbers are big-endian.

use serde::{Deserialize, Serialize};

/// A page, by the number of its tablespace and its own in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PageName {
    /// Number of the tablespace.
    pub space: u32,
    /// Number of the page in it.
    pub page: u32,
}

/// The transaction system page: page 5 of the system tablespace (`TRX_SYS_PAGE_NO`, `fsp0types.h`).
pub const TRANSACTION_SYSTEM: PageName = PageName { space: 0, page: 5 };

/// How the pages of a tablespace carry their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// CRC-32C of header and body, at byte 0 and 8 bytes before the end (`buf_calc_page_crc32`, `innodb_checksum_algorithm = crc32`).
    Crc32,
    /// CRC-32C of all other bytes, in the last 4 (MariaDB since 10.5).
    FullCrc32,
}

/// Whether a page is as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The checksum is right.
    Whole,
    /// The checksum is wrong.
    Torn,
    /// All zeroes: never written.
    Empty,
    /// The contents are encrypted or compressed, so the checksum cannot be computed without the key or the original.
    Unreadable,
}

/// The fields of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its name, as the page itself says.
    pub name: PageName,
    /// LSN of the last change, at the page's head.
    pub lsn: u64,
    /// The lower half of the LSN at the page's end; that of `lsn` if both are from one write.
    pub lsn_tail: u32,
    /// Whether the page is whole.
    pub state: State,
}

const CHECKSUM: usize = 0;
pub(crate) const NUMBER: usize = 4;
const LSN: usize = 16;
pub(crate) const KIND: usize = 24;
/// The checksum leaves out 12 bytes from here on: LSN of the last flush of the file, and the tablespace's number.
pub(crate) const FLUSH_LSN: usize = 26;
pub(crate) const SPACE: usize = 34;
pub(crate) const BODY: usize = 38;
/// Flags of a tablespace, on its page 0 (`FSP_HEADER_OFFSET` 38 + `FSP_SPACE_FLAGS` 16).
const SPACE_FLAGS: usize = 54;

/// The value in place of a checksum under `innodb_checksum_algorithm = none` (`BUF_NO_CHECKSUM_MAGIC`).
const NO_CHECKSUM: u32 = 0xDEAD_BEEF;

/// Types of pages: `FIL_PAGE_TYPE_FSP_HDR`, `FIL_PAGE_COMPRESSED`, `FIL_PAGE_ENCRYPTED`, `FIL_PAGE_COMPRESSED_AND_ENCRYPTED`,
/// `FIL_PAGE_ENCRYPTED_RTREE`, `FIL_PAGE_RTREE`, `FIL_PAGE_INDEX`; MariaDB's `FIL_PAGE_PAGE_COMPRESSED` and
/// `FIL_PAGE_PAGE_COMPRESSED_ENCRYPTED`.
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

/// Types of pages whose contents are compressed, encrypted or both.
const UNREADABLE_KINDS: [u16; 6] = [
    kind::COMPRESSED,
    kind::ENCRYPTED,
    kind::COMPRESSED_AND_ENCRYPTED,
    kind::ENCRYPTED_RTREE,
    kind::MARIADB_COMPRESSED,
    kind::MARIADB_COMPRESSED_AND_ENCRYPTED,
];

impl Seen {
    /// Reads a page of at least 128 bytes, whose checksum is of that `format`.
    #[must_use]
    pub fn of(page: &[u8], format: Format) -> Seen {
        let end = page.len()
            - match format {
                Format::Crc32 => 4,
                Format::FullCrc32 => 8,
            };
        Seen {
            name: PageName { space: word(page, SPACE), page: word(page, NUMBER) },
            lsn: u64::from(word(page, LSN)) << 32 | u64::from(word(page, LSN + 4)),
            lsn_tail: word(page, end),
            state: state(page, format),
        }
    }

    /// Whether head and end are of the same write, as far as their LSNs tell.
    #[must_use]
    pub fn is_of_one_write(&self) -> bool {
        self.lsn as u32 == self.lsn_tail
    }
}

fn state(page: &[u8], format: Format) -> State {
    if page.iter().all(|byte| *byte == 0) {
        return State::Empty;
    }
    let is_right = match format {
        Format::Crc32 => {
            let (head, tail) = (word(page, CHECKSUM), word(page, page.len() - 8));
            let sum = checksum(page, format);
            let is_of_one_write = word(page, LSN + 4) == word(page, page.len() - 4);
            is_of_one_write && ([head, tail] == [sum; 2] || [head, tail] == [NO_CHECKSUM; 2])
        }
        Format::FullCrc32 => word(page, page.len() - 4) == checksum(page, format),
    };
    match is_right {
        true => State::Whole,
        false if UNREADABLE_KINDS.contains(&half_word(page, KIND)) => State::Unreadable,
        false => State::Torn,
    }
}

/// The checksum that a page must have.
#[must_use]
pub fn checksum(page: &[u8], format: Format) -> u32 {
    match format {
        Format::Crc32 => {
            crc32c::crc32c(&page[NUMBER..FLUSH_LSN]) ^ crc32c::crc32c(&page[BODY..page.len() - 8])
        }
        Format::FullCrc32 => crc32c::crc32c(&page[..page.len() - 4]),
    }
}

/// Flags of a tablespace, stored on its page 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// Those on page 0.
    #[must_use]
    pub fn of(first_page: &[u8]) -> Flags {
        Flags(word(first_page, SPACE_FLAGS))
    }

    /// Bit 4 is MariaDB's `full_crc32` (`FSP_FLAGS_FCRC32_POS_MARKER`); elsewhere it would be a compressed page of 128 KiB or more.
    #[must_use]
    pub fn format(self) -> Format {
        if self.0 & 1 << 4 == 0 { Format::Crc32 } else { Format::FullCrc32 }
    }

    /// Whether pages are stored in a smaller size than they have in memory (`ROW_FORMAT=COMPRESSED`; `FSP_FLAGS_POS_ZIP_SSIZE`, 4 bits
    /// from bit 1).
    #[must_use]
    pub fn is_row_compressed(self) -> bool {
        self.format() == Format::Crc32 && self.0 >> 1 & 0xF != 0
    }

    /// All of them.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }
}

/// The four bytes at that place.
#[must_use]
pub fn word(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// The two bytes at that place.
pub(crate) fn half_word(page: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

/// Pages made for tests.
#[cfg(test)]
pub mod made {
    use super::*;

    /// A whole page of 4 KiB.
    pub fn page(space: u32, number: u32, lsn: u64, fill: u8, format: Format) -> Vec<u8> {
        let mut page = vec![fill; 4096];
        page[NUMBER..NUMBER + 4].copy_from_slice(&number.to_be_bytes());
        page[8..16].fill(0xFF);
        page[LSN..LSN + 8].copy_from_slice(&lsn.to_be_bytes());
        page[KIND..FLUSH_LSN].copy_from_slice(&17855_u16.to_be_bytes());
        page[FLUSH_LSN..SPACE].fill(0);
        page[SPACE..BODY].copy_from_slice(&space.to_be_bytes());
        if number == 0 {
            let flags: u32 = if format == Format::FullCrc32 { 1 << 4 } else { 0 };
            page[SPACE_FLAGS..SPACE_FLAGS + 4].copy_from_slice(&flags.to_be_bytes());
        }
        let low = (lsn as u32).to_be_bytes();
        let end = page.len();
        match format {
            Format::Crc32 => {
                page[end - 4..].copy_from_slice(&low);
                let sum = checksum(&page, format).to_be_bytes();
                page[..4].copy_from_slice(&sum);
                page[end - 8..end - 4].copy_from_slice(&sum);
            }
            Format::FullCrc32 => {
                page[end - 8..end - 4].copy_from_slice(&low);
                let sum = checksum(&page, format).to_be_bytes();
                page[end - 4..].copy_from_slice(&sum);
            }
        }
        page
    }

    /// The head of one and the rest of the other, which is what a disk leaves that tears at 1 KiB.
    pub fn torn(head: &[u8], rest: &[u8]) -> Vec<u8> {
        [&head[..1024], &rest[1024..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_until_a_byte_of_it_is_of_another_write() {
        for format in [Format::Crc32, Format::FullCrc32] {
            let (old, new) =
                (made::page(7, 3, 1 << 33, 1, format), made::page(7, 3, 1 << 34 | 5, 2, format));
            let seen = Seen::of(&new, format);
            assert_eq!(seen.name, PageName { space: 7, page: 3 });
            assert_eq!((seen.lsn, seen.lsn_tail, seen.state), (1 << 34 | 5, 5, State::Whole));
            let torn = Seen::of(&made::torn(&old, &new), format);
            assert_eq!((torn.lsn, torn.lsn_tail, torn.state), (1 << 33, 5, State::Torn));
            assert!(seen.is_of_one_write() && !torn.is_of_one_write());
            // Within the body LSNs agree.
            let mut inside = new.clone();
            inside[2000] ^= 1;
            assert_eq!(Seen::of(&inside, format).state, State::Torn);
        }
    }

    #[test]
    fn pages_that_nobody_can_judge_are_not_called_torn() {
        assert_eq!(Seen::of(&[0; 4096], Format::Crc32).state, State::Empty);
        let mut encrypted = made::page(7, 3, 9, 1, Format::Crc32);
        encrypted[KIND..FLUSH_LSN].copy_from_slice(&15_u16.to_be_bytes());
        assert_eq!(Seen::of(&encrypted, Format::Crc32).state, State::Unreadable);
        let mut without = made::page(7, 3, 9, 1, Format::Crc32);
        without[..4].copy_from_slice(&NO_CHECKSUM.to_be_bytes());
        without[4088..4092].copy_from_slice(&NO_CHECKSUM.to_be_bytes());
        assert_eq!(Seen::of(&without, Format::Crc32).state, State::Whole);
    }
}
