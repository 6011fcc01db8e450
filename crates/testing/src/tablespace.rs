//! The start of an InnoDB file, made from the documented format, for tests of code that reads such
//! files.

/// The header of page 0 of a tablespace with this number and these flags: type 8 at byte 24, the
/// number at 34 and 38, the flags at 54 (MySQL's `fil0types.h` and `fsp0types.h`).
#[must_use]
pub fn first_page(space: u32, flags: u32) -> Vec<u8> {
    const FSP_HEADER: u16 = 8;
    let mut page = vec![0; 4096];
    page[24..26].copy_from_slice(&FSP_HEADER.to_be_bytes());
    page[34..38].copy_from_slice(&space.to_be_bytes());
    page[38..42].copy_from_slice(&space.to_be_bytes());
    page[54..58].copy_from_slice(&flags.to_be_bytes());
    page
}
