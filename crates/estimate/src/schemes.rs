//! The storage schemes that an estimate compares.

use assay_drive::Codec;

pub const SCHEME_COUNT: usize = SCHEMES.len();

/// One number for each scheme, in the order of [`SCHEMES`].
pub type PerScheme<T> = [T; SCHEME_COUNT];

#[derive(Debug)]
pub struct Scheme {
    /// Name in JSON: the layer that stores, the codec, and the unit where there is a choice.
    pub key: &'static str,
    /// Heading above the columns of the layer.
    pub group: &'static str,
    /// Heading of the scheme's column.
    pub label: &'static str,
    pub method: Method,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Assay's software drive: each unit of this many bytes as one record of any length.
    Drive(Codec, usize),
    /// InnoDB's page compression: whole blocks behind the compressed page are punched out.
    Innodb(PageCodec),
    /// dm-vdo: fragments of blocks packed into blocks.
    Vdo,
    /// btrfs: extents rounded up to whole blocks.
    Btrfs,
}

/// Codec of InnoDB's page compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCodec {
    Zlib,
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

/// Position in [`SCHEMES`] of the scheme with this key.
#[must_use]
pub fn place(key: &str) -> Option<usize> {
    SCHEMES.iter().position(|scheme| scheme.key == key)
}
