//! Reads the copies of pages in a server's doublewrite buffers, in the order in which the server
//! loads them.
//!
//! MySQL and Percona Server since 8.0.20 keep copies in files `#ib_PAGESIZE_NUMBER.dblwr`: page
//! after page, without any header; unused slots are zeroes (MySQL source, `buf0dblwr.cc`,
//! `dblwr::recv::load`). Older versions and MariaDB keep them in the system tablespace, in two
//! blocks of 64 pages, whose positions are on page 5.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::page::{ChecksumFormat, PageFields, PageState, word};
use crate::tablespaces::{Tablespaces, open};

/// A copy of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageCopy {
    pub file: PathBuf,
    /// Byte offset in the file.
    pub offset: u64,
    #[serde(flatten)]
    pub fields: PageFields,
}

/// A slot for one copy in a doublewrite buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub file: PathBuf,
    /// Byte offset in the file.
    pub offset: u64,
}

/// All slots below a data directory, or in `elsewhere` (`innodb_doublewrite_dir`), in the order in
/// which a server loads them: by file, then by offset.
pub fn slots(spaces: &Tablespaces, elsewhere: Option<&Path>) -> Result<Vec<Slot>> {
    let page_bytes = spaces.page_bytes;
    let mut slots = Vec::new();
    for file in files(elsewhere.unwrap_or(&spaces.directory), page_bytes)? {
        let count = std::fs::metadata(&file)?.len() / page_bytes;
        let slot = |slot| Slot { file: file.clone(), offset: slot * page_bytes };
        slots.extend((0..count).map(slot));
    }
    let file = spaces.directory.join("ibdata1");
    for block in blocks(&open(&file)?, page_bytes)?.into_iter().flatten() {
        let slot = |slot| Slot { file: file.clone(), offset: slot * page_bytes };
        slots.extend((block..block + BLOCK_PAGES).map(slot));
    }
    Ok(slots)
}

/// The copies in these slots, in their order, without the empty slots.
pub fn copies(spaces: &Tablespaces, slots: &[Slot]) -> Result<Vec<PageCopy>> {
    let formats = spaces.formats();
    let mut copies = Vec::new();
    for of_file in slots.chunk_by(|a, b| a.file == b.file) {
        let file = open(&of_file[0].file)?;
        for slot in of_file {
            let copy = copy(&file, slot, spaces.page_bytes, &formats)?;
            copies.extend(copy.filter(|copy| !is_itself(copy, spaces)));
        }
    }
    Ok(copies)
}

/// Returns true if a slot in the system tablespace holds an ordinary page of that tablespace,
/// because no copy was written there yet.
fn is_itself(copy: &PageCopy, spaces: &Tablespaces) -> bool {
    spaces
        .place(copy.fields.name)
        .is_some_and(|(file, at)| file.path == copy.file && at == copy.offset)
}

fn copy(
    file: &File,
    slot: &Slot,
    page_bytes: u64,
    formats: &BTreeMap<u32, ChecksumFormat>,
) -> Result<Option<PageCopy>> {
    let mut page = vec![0; page_bytes as usize];
    file.read_exact_at(&mut page, slot.offset)
        .with_context(|| format!("cannot read {}", slot.file.display()))?;
    let format = formats.get(&word(&page, 34)).copied().unwrap_or(ChecksumFormat::Crc32);
    let fields = PageFields::of(&page, format);
    let is_copy = fields.state != PageState::Empty;
    Ok(is_copy.then(|| PageCopy { file: slot.file.clone(), offset: slot.offset, fields }))
}

/// The doublewrite files for a page size, ordered by number.
fn files(directory: &Path, page_bytes: u64) -> Result<Vec<PathBuf>> {
    let prefix = format!("#ib_{page_bytes}_");
    let number = |path: &Path| -> Option<u32> {
        path.file_name()?.to_str()?.strip_prefix(&prefix)?.strip_suffix(".dblwr")?.parse().ok()
    };
    let mut files = Vec::new();
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        files.extend(number(&path).map(|number| (number, path)));
    }
    files.sort();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// Pages in each of the two blocks of a doublewrite buffer in the system tablespace.
pub const BLOCK_PAGES: u64 = 64;

/// The first pages of the two blocks, if the system tablespace has a doublewrite buffer. Page 5
/// holds them 200 bytes before its end, after a segment header (`trx0sys.h` of MariaDB and of MySQL
/// before 8.0.20: `TRX_SYS_DOUBLEWRITE`, `_MAGIC` 10, `_BLOCK1` 14, `_BLOCK2` 18).
pub fn blocks(system: &File, page_bytes: u64) -> Result<Option<[u64; 2]>> {
    const MAGIC: u32 = 536_853_855;
    let mut header = [0; 12];
    system.read_exact_at(&mut header, 6 * page_bytes - 200 + 10)?;
    let has_both = word(&header, 4) != 0 && word(&header, 8) != 0;
    let blocks = [word(&header, 4).into(), word(&header, 8).into()];
    Ok((word(&header, 0) == MAGIC && has_both).then_some(blocks))
}
