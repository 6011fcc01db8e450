//! The schemes of an estimate: every way to store the data that is compared.

use assay_drive::Codec;

/// How many schemes there are.
pub const SCHEME_COUNT: usize = SCHEMES.len();

/// One number for each scheme, in the order of [`SCHEMES`].
pub type PerScheme<T> = [T; SCHEME_COUNT];

/// One way to store data.
#[derive(Debug)]
pub struct Scheme {
    /// Its name in JSON: who stores, with what, and in which unit where there is a choice.
    pub key: &'static str,
    /// Heading over its columns.
    pub group: &'static str,
    /// Heading of its column.
    pub label: &'static str,
    /// How its bytes are found.
    pub method: Method,
}

/// How a scheme stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Assay's software drive: each unit of so many bytes as one record of any length.
    Drive(Codec, usize),
    /// InnoDB's page compression: the rest of a page is punched out in whole blocks.
    Innodb(PageCodec),
    /// dm-vdo: fragments of blocks packed into blocks.
    Vdo,
    /// btrfs: extents rounded up to whole blocks.
    Btrfs,
}

/// What InnoDB compresses pages with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCodec {
    /// `COMPRESSION='zlib'`.
    Zlib,
    /// `COMPRESSION='lz4'`.
    Lz4,
}

/// All schemes, in the order of the table's columns.
pub const SCHEMES: [Scheme; 10] = [
    drive("drive_lz4_4k", "lz4", Codec::Lz4, SMALL_UNIT),
    drive("drive_deflate_4k", "deflate", Codec::Deflate, SMALL_UNIT),
    drive("drive_zstd_4k", "zstd", Codec::Zstd, SMALL_UNIT),
    drive("drive_lz4_16k", "lz4", Codec::Lz4, LARGE_UNIT),
    drive("drive_deflate_16k", "deflate", Codec::Deflate, LARGE_UNIT),
    drive("drive_zstd_16k", "zstd", Codec::Zstd, LARGE_UNIT),
    innodb("innodb_zlib", "zlib", PageCodec::Zlib),
    innodb("innodb_lz4", "lz4", PageCodec::Lz4),
    Scheme { key: "vdo_lz4", group: "VDO", label: "lz4", method: Method::Vdo },
    Scheme { key: "btrfs_zstd", group: "btrfs", label: "zstd", method: Method::Btrfs },
];

const SMALL_UNIT: usize = 4 << 10;
const LARGE_UNIT: usize = 16 << 10;

const fn drive(key: &'static str, label: &'static str, codec: Codec, unit_bytes: usize) -> Scheme {
    let group = if unit_bytes == SMALL_UNIT { "drive, 4 KiB" } else { "drive, 16 KiB" };
    Scheme { key, group, label, method: Method::Drive(codec, unit_bytes) }
}

const fn innodb(key: &'static str, label: &'static str, codec: PageCodec) -> Scheme {
    Scheme { key, group: "InnoDB", label, method: Method::Innodb(codec) }
}

/// Place of the scheme with that key.
#[must_use]
pub fn place(key: &str) -> Option<usize> {
    SCHEMES.iter().position(|scheme| scheme.key == key)
}
