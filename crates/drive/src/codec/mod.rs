//! Compression of blocks for the media.
//!
//! A [`Coder`] holds the compressors' state of one worker. Each stored record names its
//! [`Encoding`] in one byte, so records written under one [`Codec`] can be read under any other.

mod coder;
mod dictionary;
mod packed;
mod probe;
mod simulated;
#[cfg(test)]
mod tests;
mod zstandard;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

pub use coder::Coder;
pub use dictionary::{DICTIONARY_BYTES, Dictionary};
pub use probe::{is_zero, looks_incompressible};
pub use simulated::stand_in;

/// Overhead of a stored unit in bytes: 5 for the header in the log, 16 for the tables.
pub const RECORD_OVERHEAD_BYTES: u64 = 21;

/// The codec for new data. The numbers are stored on media and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// No compression.
    None = 0,
    /// LZ4 block format: matches without entropy coding.
    Lz4 = 1,
    /// Raw DEFLATE (RFC 1951), as produced by gzip hardware.
    Deflate = 2,
    /// Zstandard (RFC 8878), level 1.
    Zstd = 3,
    /// Stand-ins for blocks of which only the stored size is known, see [`stand_in`]. In memory
    /// only, and not in [`Codec::ALL`].
    Simulated = 15,
}

impl Codec {
    /// All codecs for data, in the order of their numbers.
    pub const ALL: [Codec; 4] = [Codec::None, Codec::Lz4, Codec::Deflate, Codec::Zstd];

    /// All names, for messages and help.
    pub const NAMES: &str = "none, lz4, deflate, zstd";

    /// The number that is stored on media.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The codec with this number.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Codec> {
        Codec::ALL.into_iter().chain([Codec::Simulated]).find(|codec| codec.id() == id)
    }

    /// The name, as in options and status.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Lz4 => "lz4",
            Codec::Deflate => "deflate",
            Codec::Zstd => "zstd",
            Codec::Simulated => "simulated",
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A name that belongs to no codec.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no codec is called `{0}`; use one of {names}", names = Codec::NAMES)]
pub struct UnknownCodec(String);

impl FromStr for Codec {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Codec, UnknownCodec> {
        Codec::ALL
            .into_iter()
            .find(|codec| codec.name() == name)
            .ok_or_else(|| UnknownCodec(name.to_owned()))
    }
}

/// The encoding of a record: its codec id, the low four bits of a byte on media. The numbers never
/// change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// The data, unchanged.
    Raw = 0,
    /// One LZ4 block without a size.
    Lz4 = 1,
    /// One raw DEFLATE stream.
    Deflate = 2,
    /// One zstd frame without its magic number, content size and checksum.
    Zstd = 3,
    /// The version of a dictionary (1 to 255), then a frame as in `Zstd` that needs this
    /// dictionary.
    ZstdDictionary = 4,
    /// A node of the map: the fields of its words as differences from the least ones.
    Packed = 5,
    /// The beginning of a stand-in; never on media.
    Simulated = 15,
}

impl Encoding {
    /// The codec id.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The encoding of a codec id.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Encoding> {
        use Encoding::{Deflate, Lz4, Packed, Raw, Simulated, Zstd, ZstdDictionary};
        [Raw, Lz4, Deflate, Zstd, ZstdDictionary, Packed, Simulated]
            .into_iter()
            .find(|encoding| encoding.id() == id)
    }
}

/// The reason for which stored bytes cannot be decoded, or are no dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodecError {
    /// A codec id that no version of the drive has written so far.
    #[error("codec id {0} is unknown: the record is damaged or a newer version wrote it")]
    UnknownEncoding(u8),
    /// The record needs a dictionary that is not available.
    #[error("dictionary {0} is missing, without which the record cannot be read")]
    MissingDictionary(u8),
    /// The bytes are not the encoding of data of this length.
    #[error("the stored {encoding:?} bytes do not become {length} bytes of data")]
    Malformed {
        /// Expected encoding.
        encoding: Encoding,
        /// Expected length of the data, in bytes.
        length: usize,
    },
    /// The bytes are no dictionary, or the version is 0.
    #[error("dictionary {0} is damaged")]
    BadDictionary(u8),
    /// A compressor's state could not be allocated.
    #[error("no memory for a compressor")]
    NoMemory,
}
