//! The guarantees of a kernel for writes, by its version.

use serde::{Deserialize, Serialize};

/// A kernel's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The release as printed by `uname -r`.
    pub release: String,
    /// The first two numbers; `None` if they cannot be parsed.
    pub version: Option<(u32, u32)>,
    pub guarantee: Guarantee,
}

/// The guarantee of a kernel for programs that request atomic writes (`RWF_ATOMIC`), if the disk
/// supports them. No server is known to request them (MySQL and MariaDB, 2026).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// Nothing: before 6.11.
    Nothing,
    /// To raw block devices: since 6.11.
    RawDevices,
    /// To files too, one block of the file system at a time: ext4 and XFS since 6.13.
    OneBlock,
    /// To files, several blocks: ext4 with bigalloc, and XFS, since 6.16.
    SeveralBlocks,
}

impl Kernel {
    /// The running kernel.
    #[must_use]
    pub fn here() -> Kernel {
        Kernel::of(&rustix::system::uname().release().to_string_lossy())
    }

    /// The kernel of a release.
    #[must_use]
    pub fn of(release: &str) -> Kernel {
        let mut numbers = release.split(|sign: char| !sign.is_ascii_digit());
        let mut number = || numbers.next()?.parse::<u32>().ok();
        let version = number().zip(number());
        let guarantee = match version {
            Some(version) if version >= (6, 16) => Guarantee::SeveralBlocks,
            Some(version) if version >= (6, 13) => Guarantee::OneBlock,
            Some(version) if version >= (6, 11) => Guarantee::RawDevices,
            _ => Guarantee::Nothing,
        };
        Kernel { release: release.to_owned(), version, guarantee }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_guarantees_what_its_version_brought() {
        let guarantee = |release: &str| Kernel::of(release).guarantee;
        assert_eq!(guarantee("5.10.0-32-amd64"), Guarantee::Nothing);
        assert_eq!(guarantee("6.9.12"), Guarantee::Nothing);
        assert_eq!(guarantee("6.11.0-9-generic"), Guarantee::RawDevices);
        assert_eq!(guarantee("6.15-rc1"), Guarantee::OneBlock);
        assert_eq!(guarantee("6.18.44"), Guarantee::SeveralBlocks);
        assert_eq!(guarantee("7.0"), Guarantee::SeveralBlocks);
        assert_eq!(guarantee("custom"), Guarantee::Nothing);
        assert_eq!(Kernel::here().release, Kernel::of(&Kernel::here().release).release);
    }
}
