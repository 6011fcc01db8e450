//! InnoDB pages, recognised by their headers and trailers.

pub use assay_innodb::PageName;
use assay_innodb::page::word;

/// A page of the default size, in bytes.
pub const PAGE_BYTES: usize = 16 << 10;

/// The pages of a write, each with its place in it; empty unless the write consists of pages.
///
/// A page begins with checksum, number, neighbours and log sequence number, has its tablespace's
/// number at byte 34, and ends with the lower half of the log sequence number again (MySQL source
/// documentation, `fil0types.h`: `FIL_PAGE_OFFSET` 4, `FIL_PAGE_LSN` 16, `FIL_PAGE_SPACE_ID` 34,
/// `FIL_PAGE_END_LSN_OLD_CHKSUM` 8 bytes before the end).
pub fn pages_of(data: &[u8]) -> impl Iterator<Item = (usize, PageName)> {
    let (pages, rest) = data.as_chunks::<PAGE_BYTES>();
    let are_pages = rest.is_empty() && pages.iter().all(is_page);
    let pages = if are_pages { pages } else { &[] };
    pages.iter().enumerate().map(|(number, page)| {
        let name = PageName { space: word(page, 34), page: word(page, 4) };
        (number * PAGE_BYTES, name)
    })
}

fn is_page(page: &[u8; PAGE_BYTES]) -> bool {
    let (high, low) = (word(page, 16), word(page, 20));
    // A server that wrote a gigabyte a second for a year would be at 2^55 bytes.
    low != 0 && high < 1 << 24 && low == word(page, PAGE_BYTES - 4)
}
