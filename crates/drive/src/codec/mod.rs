//! How blocks are made smaller on their way to the media, and whole again on their way back.
//!
//! A [`Coder`] is what one worker keeps: the compressors' state, made once and used again. What it stores says by
//! one byte how it is stored ([`Encoding`]), so records written under one [`Codec`] stay readable under any other.

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

/// What a stored unit costs beside its payload, in bytes: 5 of header in the log, 16 in the tables.
pub const RECORD_OVERHEAD_BYTES: u64 = 21;

/// What a drive compresses with. The numbers are stored on media and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// Store as it is.
    None = 0,
    /// LZ4 block format: finds repeats only.
    Lz4 = 1,
    /// Raw DEFLATE (RFC 1951), as gzip hardware makes it.
    Deflate = 2,
    /// Zstandard (RFC 8878), level 1.
    Zstd = 3,
    /// Stand-ins for blocks whose stored size alone is known, see [`stand_in`]; in memory only, and not among
    /// [`Codec::ALL`].
    Simulated = 15,
}

impl Codec {
    /// Every codec for data, in the order of their numbers.
    pub const ALL: [Codec; 4] = [Codec::None, Codec::Lz4, Codec::Deflate, Codec::Zstd];

    /// Every name, for messages and help.
    pub const NAMES: &str = "none, lz4, deflate, zstd";

    /// The number that is stored on media.
    #[must_use]
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The codec of a number from the media.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Codec> {
        Codec::ALL.into_iter().chain([Codec::Simulated]).find(|codec| codec.id() == id)
    }

    /// The name that people use.
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

/// A name that is no codec's.
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

/// How one record is stored: its codec id, the low four bits of a byte on media. The numbers never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// The data itself.
    Raw = 0,
    /// One LZ4 block without a size.
    Lz4 = 1,
    /// One raw DEFLATE stream.
    Deflate = 2,
    /// One zstd frame without its magic number, content size and checksum.
    Zstd = 3,
    /// The version of a dictionary (1 to 255), then a frame as in `Zstd` that needs this dictionary.
    ZstdDictionary = 4,
    /// A node of the map, its words' fields above the least ones.
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

/// Why stored bytes do not become data again, or a dictionary is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CodecError {
    /// A codec id that no version of the drive has written so far.
    #[error("codec id {0} is unknown: the record is damaged or a newer version wrote it")]
    UnknownEncoding(u8),
    /// The record needs a dictionary that is not at hand.
    #[error("dictionary {0} is missing, without which the record cannot be read")]
    MissingDictionary(u8),
    /// The stored bytes are not what a coder has made of data of this length.
    #[error("the stored {encoding:?} bytes do not become {length} bytes of data")]
    Malformed {
        /// How they should be stored.
        encoding: Encoding,
        /// Bytes wanted.
        length: usize,
    },
    /// What should be a dictionary is none, or has version 0.
    #[error("dictionary {0} is damaged")]
    BadDictionary(u8),
    /// A compressor's state could not be allocated.
    #[error("no memory for a compressor")]
    NoMemory,
}
