//! Recognizes the file system on a drive and its UUID, by which fstab names it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use assay_drive::{BLOCK_BYTES, BlockBuffer, Disk};

/// A file system, named as in `mount(8)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FileSystemKind {
    /// Ext4 with bigalloc and clusters of 16 KiB
    Ext4,
    /// XFS, which can be grown later
    Xfs,
}

impl FileSystemKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "ext4",
            FileSystemKind::Xfs => "xfs",
        }
    }
}

/// Reads the kind and UUID of the file system on a drive that is not attached; `None` if it is
/// unknown.
pub(crate) fn find(disk: &dyn Disk) -> assay_drive::Result<Option<(FileSystemKind, String)>> {
    let mut block = BlockBuffer::zeroed(BLOCK_BYTES as usize);
    disk.read(0, block.as_mut())?;
    Ok(named(block.as_ref()))
}

/// Reads the kind and UUID of the file system on an attached drive, through its device or file.
pub(crate) fn find_in(shown: &Path) -> std::io::Result<Option<(FileSystemKind, String)>> {
    let mut block = vec![0; BLOCK_BYTES as usize];
    File::open(shown)?.read_exact_at(&mut block, 0)?;
    Ok(named(&block))
}

/// Parses a superblock. XFS: `XFSB` at 0, UUID at 32 (`fs/xfs/libxfs/xfs_format.h`). Ext4, at 1024:
/// 0xEF53 at 56, UUID at 104 (`Documentation/filesystems/ext4/super.rst`).
fn named(block: &[u8]) -> Option<(FileSystemKind, String)> {
    if block.starts_with(b"XFSB") {
        return Some((FileSystemKind::Xfs, uuid(block.get(32..48)?)));
    }
    let superblock = block.get(1024..)?;
    let is_ext4 = superblock.get(56..58)? == [0x53, 0xef];
    is_ext4.then(|| Some((FileSystemKind::Ext4, uuid(superblock.get(104..120)?))))?
}

fn uuid(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex[part].to_owned());
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_mkfs_made_is_known_and_nothing_else() {
        assert_eq!(named(&[0; 4096]), None);
        assert_eq!(named(&[]), None);
        let wanted = "12345678-9abc-def0-1234-56789abcdef0";
        for (kind, program, words) in [
            (FileSystemKind::Ext4, "mkfs.ext4", &["-q", "-F", "-U", wanted][..]),
            (
                FileSystemKind::Xfs,
                "mkfs.xfs",
                &["-q", "-f", "-m", "uuid=12345678-9abc-def0-1234-56789abcdef0"],
            ),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(512 << 20).unwrap();
            let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
            let made =
                Command::new(program).args(words).arg(file.path()).env("PATH", path).status();
            if !made.is_ok_and(|status| status.success()) {
                assay_testing::skip(program);
                continue;
            }
            let mut block = vec![0; 4096];
            file.as_file().read_exact_at(&mut block, 0).unwrap();
            assert_eq!(named(&block), Some((kind, wanted.into())));
        }
    }
}
