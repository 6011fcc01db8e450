//! Archives as the makers of servers publish them (`mysql-…-linux-glibc….tar.xz`), unpacked into a
//! directory.
//!
//! Guarantees: nothing is written outside the directory, and no link in it leads out of it; devices
//! and setuid bits are not unpacked. The archive is not verified against a signature: its caller
//! reports the digest, for a comparison with the maker's.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assay_system::free_bytes;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use sha2::{Digest, Sha256};
use tar::EntryType;

use super::bring::take_privileges;

/// Time between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// The largest dictionary of `xz -9` is 64 MiB (`xz(1)`); an archive may not ask for more memory
/// than a multiple of that.
const XZ_MEMORY_KIB_MAX: u32 = 512 * 1024;

/// Where the magic of a tar archive lies in its first header, and the magic (`tar(5)`).
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// How an archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Xz,
}

/// An archive of a server.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    file: File,
    bytes: u64,
    compression: Compression,
}

impl Archive {
    /// Opens the file at `path` if it is an archive, by its first bytes and not by its name; `None`
    /// for any other file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> Result<Option<Archive>> {
        let cannot = || format!("cannot read {}", path.display());
        let metadata = fs::metadata(path).with_context(cannot)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let mut file = File::open(path).with_context(cannot)?;
        let mut head = Vec::new();
        file.by_ref().take(512).read_to_end(&mut head).with_context(cannot)?;
        let Some(compression) = compression_of(&head) else { return Ok(None) };
        Ok(Some(Archive { path: path.to_owned(), file, bytes: metadata.len(), compression }))
    }

    /// The SHA-256 of the file, in hexadecimal.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn digest(&mut self) -> Result<String> {
        let cannot = || format!("cannot read {}", self.path.display());
        self.file.rewind().with_context(cannot)?;
        let (mut digest, mut piece) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            let length = self.file.read(&mut piece).with_context(cannot)?;
            if length == 0 {
                break;
            }
            digest.update(&piece[..length]);
        }
        Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Unpacks everything into the directory `tree`, which is made. `progress` gets a line every
    /// few seconds.
    ///
    /// # Errors The archive is damaged, would write or lead out of `tree`, or there is no space;
    /// what is in `tree` then is a part.
    pub fn unpack(&mut self, tree: &Path, progress: &dyn Fn(&str)) -> Result<()> {
        self.file.rewind()?;
        fs::create_dir(tree).with_context(|| format!("cannot create {}", tree.display()))?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = Cell::new(0);
        let counted = Counted { file: BufReader::with_capacity(1 << 20, &self.file), read: &read };
        let mut told = Instant::now();
        let tell = || {
            if told.elapsed() >= PROGRESS_EVERY {
                told = Instant::now();
                progress(&format!("unpacking {name}: {} %", read.get() * 100 / self.bytes.max(1)));
            }
        };
        unpack(decompressed(counted, self.compression), tree, tell)
            .and_then(|()| take_privileges(tree))
            .and_then(|()| check_links(tree, &tree.canonicalize()?))
            .with_context(|| format!("{} cannot be unpacked", self.path.display()))
    }
}

fn compression_of(head: &[u8]) -> Option<Compression> {
    let (at, magic) = TAR_MAGIC;
    match head {
        // `xz-file-format.txt`, section 2.1.1.1.
        _ if head.starts_with(b"\xfd7zXZ\0") => Some(Compression::Xz),
        // RFC 1952, section 2.3.1; the third byte is the only method there is.
        _ if head.starts_with(b"\x1f\x8b\x08") => Some(Compression::Gzip),
        _ if head.get(at..).is_some_and(|rest| rest.starts_with(magic)) => Some(Compression::None),
        _ => None,
    }
}

fn decompressed<'a>(file: impl Read + 'a, compression: Compression) -> Box<dyn Read + 'a> {
    match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        Compression::Xz => Box::new(XzReader::new_mem_limit(file, true, XZ_MEMORY_KIB_MAX)),
    }
}

/// Counts the bytes that were read.
struct Counted<'a, R> {
    file: R,
    read: &'a Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.read.set(self.read.get() + length as u64);
        Ok(length)
    }
}

fn unpack(archive: impl Read, tree: &Path, mut tell: impl FnMut()) -> Result<()> {
    let mut archive = tar::Archive::new(archive);
    archive.set_overwrite(false);
    let mut count = 0;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let name = entry.path()?.display().to_string();
        ensure!(is_unpacked(kind), "`{name}` in it is neither a file, a directory nor a link");
        check_space(tree, entry.size())?;
        // Of a path that leads out of the tree, by `..` or by a link, nothing is written.
        let is_written =
            entry.unpack_in(tree).with_context(|| format!("`{name}` in it cannot be written"))?;
        ensure!(is_written, "`{name}` in it leads out of the directory that it is unpacked into");
        count += 1;
        tell();
    }
    ensure!(count > 0, "there are no files in it");
    Ok(())
}

fn is_unpacked(kind: EntryType) -> bool {
    kind.is_file()
        || kind.is_dir()
        || kind.is_symlink()
        || kind.is_hard_link()
        || kind.is_contiguous()
        || kind.is_gnu_sparse()
}

fn check_space(tree: &Path, bytes: u64) -> Result<()> {
    let free = free_bytes(tree)?;
    ensure!(
        bytes < free,
        "{} MB more are needed in the cache and {} MB are free; free some space or set ASSAY_CACHE",
        bytes.div_ceil(1_000_000),
        free / 1_000_000
    );
    Ok(())
}

/// Checks that every link below `directory` leads to something in `tree`, or to nothing.
fn check_links(directory: &Path, tree: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            check_links(&path, tree)?;
        }
        if !kind.is_symlink() {
            continue;
        }
        match path.canonicalize() {
            Ok(target) if target.starts_with(tree) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => bail!(
                "the link `{}` in it leads out of the directory that it is unpacked into",
                path.strip_prefix(tree).unwrap_or(&path).display()
            ),
        }
    }
    Ok(())
}
