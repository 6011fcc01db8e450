//! Compression and reading of the software drive, as people write it: a codec's name, `"16k"`, a
//! read-ahead.

use std::fmt;

use assay_base::Size;
use assay_drive::{BLOCK_BYTES, Codec};
use clap::ValueEnum;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Most that a drive reads ahead: what cloud volumes count as one operation.
const READ_AHEAD_MAX: Size = Size(256 << 10);

/// The size, if a drive can read that much ahead.
///
/// # Errors
/// A sentence: it is not a whole number of blocks up to 256 KiB.
pub fn read_ahead(size: Size) -> Result<Size, String> {
    if size <= READ_AHEAD_MAX && size.0.is_multiple_of(BLOCK_BYTES) {
        Ok(size)
    } else {
        Err(format!("a read-ahead of {size} is not supported; give at most 256K, in steps of 4K"))
    }
}

/// Bytes that a drive compresses together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum CompressionUnit {
    /// Each block of 4 KiB.
    #[default]
    #[value(name = "4k")]
    #[serde(rename = "4k")]
    Block,
    /// Aligned 16 KiB that are written at once.
    #[value(name = "16k")]
    #[serde(rename = "16k")]
    Page,
}

impl fmt::Display for CompressionUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CompressionUnit::Block => "4 KiB",
            CompressionUnit::Page => "16 KiB",
        })
    }
}

/// A codec by its name, where there may be none.
pub mod codec_name {
    use super::{Codec, Deserialize, Deserializer, Error, Serializer};

    #[allow(clippy::ref_option, reason = "serde hands over what the field is")]
    pub fn serialize<S: Serializer>(codec: &Option<Codec>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&codec.map(Codec::name).unwrap_or_default())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Codec>, D::Error> {
        String::deserialize(from)?.parse().map(Some).map_err(D::Error::custom)
    }
}
