//! A file or block device, opened for reading without disturbing a running server.
//!
//! Guarantees: nothing is written; reads bypass the page cache (`O_DIRECT`) or, where the file
//! system cannot, the pages read are dropped; access times stay unchanged where that is permitted.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use assay_drive::{BLOCK_BYTES, BlockBuffer};
use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::Errno;

/// Size of a read in bytes, which is also the size of the extents that btrfs compresses.
pub const CLUSTER_BYTES: u64 = 128 << 10;

/// Runs of data after which a file is not mapped further (page-compressed files have one for each
/// page); everything behind counts as data until it is read.
const MOST_STRETCHES: usize = 100_000;

/// An open file or block device.
#[derive(Debug)]
pub struct Source {
    file: File,
    is_device: bool,
    is_direct: bool,
}

/// Size and layout of a file, found without reading its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLayout {
    /// Length in bytes, holes included.
    pub size_bytes: u64,
    /// Bytes taken on the device.
    pub allocated_bytes: u64,
    /// Runs of data in bytes, in whole blocks.
    pub data: Vec<Range<u64>>,
    /// True if `data` holds every run exactly.
    pub is_mapped: bool,
}

impl Source {
    /// Opens a regular file or a block device; fails for everything else.
    pub fn open(path: &Path) -> io::Result<Source> {
        let (file, is_direct) = open_gently(path)?;
        let kind = file.metadata()?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(io::Error::other("neither a file nor a block device"));
        }
        if !is_direct {
            // Reading ahead would only fill the cache. A file system may ignore it.
            let _ = fadvise(&file, 0, None, Advice::Random);
        }
        Ok(Source { file, is_device: kind.is_block_device(), is_direct })
    }

    pub fn extent(&self) -> io::Result<FileLayout> {
        let metadata = self.file.metadata()?;
        if self.is_device {
            let size_bytes = (&self.file).seek(SeekFrom::End(0))?;
            let data = std::iter::once(0..size_bytes).collect();
            return Ok(FileLayout {
                size_bytes,
                allocated_bytes: size_bytes,
                data,
                is_mapped: true,
            });
        }
        let size_bytes = metadata.len();
        let mut data = Vec::new();
        let mut place = 0;
        while data.len() < MOST_STRETCHES
            && let Some(stretch) = self.next_data(place..size_bytes)
        {
            place = stretch.end;
            data.push(stretch);
        }
        let is_mapped = data.len() < MOST_STRETCHES;
        if !is_mapped && place < size_bytes {
            data.push(place..size_bytes.next_multiple_of(BLOCK_BYTES));
        }
        // Blocks of 512 bytes whatever the file system's are (stat(2)).
        Ok(FileLayout { size_bytes, allocated_bytes: metadata.blocks() * 512, data, is_mapped })
    }

    /// Reads from `offset`, a multiple of a block, until `buffer` is full or the file ends. Fills
    /// the last block with zeroes. Returns the bytes read, in whole blocks.
    pub fn read(&mut self, offset: u64, buffer: &mut BlockBuffer) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer.as_mut()[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.is_direct && is_refusal(&error) => self.read_through_cache()?,
                Err(error) => return Err(error),
            }
            // Only the end of a file stops a direct read within a block.
            if !filled.is_multiple_of(BLOCK_BYTES as usize) && self.is_direct {
                break;
            }
        }
        let whole = filled.next_multiple_of(BLOCK_BYTES as usize);
        buffer.as_mut()[filled..whole].fill(0);
        if let (false, Some(length)) = (self.is_direct, NonZeroU64::new(whole as u64)) {
            let _ = fadvise(&self.file, offset, Some(length), Advice::DontNeed);
        }
        Ok(whole)
    }

    /// The runs of data within `range`, in whole blocks.
    #[must_use]
    pub fn data_within(&self, range: Range<u64>) -> Vec<Range<u64>> {
        if self.is_device {
            return std::iter::once(range).collect();
        }
        let mut place = range.start;
        std::iter::from_fn(|| {
            let stretch = self.next_data(place..range.end)?;
            place = stretch.end;
            Some(stretch)
        })
        .collect()
    }

    /// The first run of data in `range`; all of `range` if the file system does not report holes.
    fn next_data(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return None;
        }
        let seek = |to| rustix::fs::seek(&self.file, to);
        let start = match seek(rustix::fs::SeekFrom::Data(range.start)) {
            Ok(start) if start >= range.end => return None,
            Ok(start) => start / BLOCK_BYTES * BLOCK_BYTES,
            // "No data behind this place" (lseek(2)).
            Err(Errno::NXIO) => return None,
            Err(_) => return Some(range.start..range.end.next_multiple_of(BLOCK_BYTES)),
        };
        let end = seek(rustix::fs::SeekFrom::Hole(start)).unwrap_or(range.end).min(range.end);
        let start = start.max(range.start);
        Some(start..end.next_multiple_of(BLOCK_BYTES).max(start + BLOCK_BYTES))
    }

    fn read_through_cache(&mut self) -> io::Result<()> {
        let flags = rustix::fs::fcntl_getfl(&self.file)?;
        rustix::fs::fcntl_setfl(&self.file, flags - OFlags::DIRECT)?;
        self.is_direct = false;
        Ok(())
    }
}

/// Opens with `O_DIRECT` and `O_NOATIME`, as far as each is possible. Returns true if reads bypass
/// the cache.
fn open_gently(path: &Path) -> io::Result<(File, bool)> {
    // A fifo that is named by mistake must not hold us up.
    let always = OFlags::NONBLOCK;
    let wishes =
        [OFlags::DIRECT | OFlags::NOATIME, OFlags::DIRECT, OFlags::NOATIME, OFlags::empty()];
    let mut refusal = None;
    for wish in wishes {
        let flags = (always | wish).bits() as i32;
        match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => return Ok((file, wish.contains(OFlags::DIRECT))),
            // Not the owner (O_NOATIME), or no direct access here; open(2).
            Err(error) if is_refusal(&error) || error.kind() == io::ErrorKind::PermissionDenied => {
                refusal = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(refusal.unwrap_or_else(|| io::ErrorKind::PermissionDenied.into()))
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A directory on the disk of this program: /tmp may be a tmpfs, which reports holes
    /// differently.
    fn directory() -> tempfile::TempDir {
        let program = std::env::current_exe().unwrap();
        tempfile::tempdir_in(program.parent().unwrap()).unwrap()
    }

    #[test]
    fn holes_are_seen_and_the_tail_is_filled_with_zeroes() {
        let directory = directory();
        let path = directory.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.write_all_at(&[7; 8192], 0).unwrap();
        file.write_all_at(&[8; 5000], 1 << 20).unwrap();
        file.sync_all().unwrap();
        let mut source = Source::open(&path).unwrap();
        let extent = source.extent().unwrap();
        assert_eq!(extent.size_bytes, (1 << 20) + 5000);
        assert_eq!(extent.data, [0..8192, 1 << 20..(1 << 20) + 8192]);
        assert!(extent.is_mapped && extent.allocated_bytes < 100_000);
        assert_eq!(source.data_within(4096..65536), vec![4096..8192; 1]);
        assert_eq!(source.data_within(8192..65536), []);

        let mut buffer = BlockBuffer::zeroed(CLUSTER_BYTES as usize);
        buffer.as_mut().fill(9);
        assert_eq!(source.read(1 << 20, &mut buffer).unwrap(), 8192);
        assert!(buffer.as_ref()[..5000].iter().all(|&byte| byte == 8));
        assert!(buffer.as_ref()[5000..8192].iter().all(|&byte| byte == 0));
        assert_eq!(source.read(4 << 20, &mut buffer).unwrap(), 0, "behind the end");
    }

    #[test]
    fn reading_leaves_no_trace() {
        let directory = directory();
        let path = directory.path().join("file");
        File::create(&path).unwrap().write_all(&[7; 200_000]).unwrap();
        // An access time before the last change would be renewed by any ordinary read.
        let file = File::options().write(true).open(&path).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        file.set_times(std::fs::FileTimes::new().set_accessed(long_ago)).unwrap();
        let before = path.metadata().unwrap();
        let mut source = Source::open(&path).unwrap();
        let mut buffer = BlockBuffer::zeroed(CLUSTER_BYTES as usize);
        assert_eq!(source.read(0, &mut buffer).unwrap(), CLUSTER_BYTES as usize);
        let after = path.metadata().unwrap();
        assert_eq!(before.accessed().unwrap(), after.accessed().unwrap());
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let directory = directory();
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(Source::open(&fifo).unwrap_err().to_string().contains("neither a file"));
        assert!(Source::open(directory.path()).is_err());
    }
}
