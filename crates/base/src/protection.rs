//! How a pool keeps data on several stores, as people write it: copies or parts, compressed or not.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What keeps data when stores are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Whole copies.
    Replicated {
        /// How many: 2 or 3.
        copies: u16,
    },
    /// Parts, and what restores some of them.
    ErasureCoded {
        /// Parts of data, `k`.
        data: u16,
        /// Parts that restore as many lost ones, `m`.
        coding: u16,
    },
}

impl FromStr for Protection {
    type Err = String;

    /// `2` or `3` copies, or `k+m`.
    fn from_str(text: &str) -> Result<Protection, String> {
        let number = |text: &str| text.parse::<u16>().ok();
        let parsed = match text.split_once('+') {
            Some((k, m)) => number(k)
                .zip(number(m))
                .filter(|(k, m)| (2..=12).contains(k) && (1..=4).contains(m))
                .map(|(data, coding)| Protection::ErasureCoded { data, coding }),
            None => number(text)
                .filter(|copies| [2, 3].contains(copies))
                .map(|copies| Protection::Replicated { copies }),
        };
        parsed.ok_or_else(|| {
            format!("`{text}` is neither a number of copies, 2 or 3, nor k+m, as 2+1, with k from 2 to 12 and m from 1 to 4")
        })
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protection::Replicated { copies } => write!(f, "{copies} copies"),
            Protection::ErasureCoded { data, coding } => write!(f, "erasure-coded {data}+{coding}"),
        }
    }
}

impl Protection {
    /// How many stores it takes.
    #[must_use]
    pub fn stores(self) -> u16 {
        match self {
            Protection::Replicated { copies } => copies,
            Protection::ErasureCoded { data, coding } => data + coding,
        }
    }

    /// How many stores may be down while writing goes on: of copies one at a time, of parts as many as leave `k + 1`, or `k` where
    /// there is one part more only (Ceph's default `min_size` of erasure-coded pools).
    #[must_use]
    pub fn stores_down_most(self) -> u16 {
        match self {
            Protection::Replicated { .. } => 1,
            Protection::ErasureCoded { coding, .. } => (coding - 1).max(1),
        }
    }

    /// Bytes on all stores for each byte of data, before anything is compressed.
    #[must_use]
    pub fn overhead(self) -> f64 {
        match self {
            Protection::Replicated { copies } => f64::from(copies),
            Protection::ErasureCoded { data, coding } => f64::from(data + coding) / f64::from(data),
        }
    }

    /// As it is read.
    fn written(self) -> String {
        match self {
            Protection::Replicated { copies } => copies.to_string(),
            Protection::ErasureCoded { data, coding } => format!("{data}+{coding}"),
        }
    }
}

impl Serialize for Protection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written())
    }
}

impl<'de> Deserialize<'de> for Protection {
    /// From a text, or of copies from a number too.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Protection, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Copies(u16),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Copies(copies) => copies.to_string(),
            Written::Text(text) => text,
        };
        text.parse().map_err(D::Error::custom)
    }
}

/// Which data a pool's stores compress (Ceph, "BlueStore Configuration Reference", `compression_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionMode {
    /// None.
    None,
    /// Those that a client calls compressible.
    Passive,
    /// All but those that a client calls incompressible.
    Aggressive,
    /// All.
    Force,
}

/// What a pool's stores compress with (same page, `compression_algorithm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionAlgorithm {
    /// Snappy.
    Snappy,
    /// Zlib.
    Zlib,
    /// Zstandard.
    Zstd,
    /// LZ4.
    Lz4,
}

/// What of a pool's data is compressed, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolCompression {
    /// Which data.
    pub mode: CompressionMode,
    /// With what.
    pub algorithm: CompressionAlgorithm,
}

macro_rules! named {
    ($type:ident, $($word:literal => $value:ident),+) => {
        impl $type {
            /// Every word for it.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for it, in plans, on command lines and in Ceph.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $($type::$value => $word),+ }
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(word: &str) -> Result<$type, String> {
                match word {
                    $($word => Ok($type::$value),)+
                    _ => Err(format!("`{word}` is none of {}", $type::WORDS.join(", "))),
                }
            }
        }
    };
}

named!(CompressionMode, "none" => None, "passive" => Passive, "aggressive" => Aggressive, "force" => Force);
named!(CompressionAlgorithm, "snappy" => Snappy, "zlib" => Zlib, "zstd" => Zstd, "lz4" => Lz4);

impl fmt::Display for PoolCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.mode.word(), self.algorithm.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_is_read_as_people_write_it() {
        let parse = |text: &str| text.parse::<Protection>();
        assert_eq!(parse("3"), Ok(Protection::Replicated { copies: 3 }));
        assert_eq!(parse("2+1"), Ok(Protection::ErasureCoded { data: 2, coding: 1 }));
        assert_eq!(parse("4+2").unwrap().stores(), 6);
        assert_eq!(parse("4+2").unwrap().overhead(), 1.5);
        for text in ["1", "4", "1+1", "2+0", "x", "2+", "+1", "2+1+1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_plan_gives_copies_as_a_number_or_a_text_and_parts_as_a_text() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Spec {
            protect: Protection,
        }
        let read = |text: &str| toml::from_str::<Spec>(text);
        for (text, written) in [("3", "3"), ("\"3\"", "3"), ("\"2+1\"", "2+1")] {
            let spec = read(&format!("protect = {text}")).unwrap();
            assert_eq!(toml::to_string(&spec).unwrap(), format!("protect = \"{written}\"\n"));
        }
        let error = read("protect = 7").unwrap_err().to_string();
        assert!(error.contains("neither a number of copies"), "{error}");
    }

    #[test]
    fn every_word_is_read_again_and_no_other() {
        for word in CompressionMode::WORDS {
            assert_eq!(word.parse::<CompressionMode>().unwrap().word(), *word);
        }
        for word in CompressionAlgorithm::WORDS {
            assert_eq!(word.parse::<CompressionAlgorithm>().unwrap().word(), *word);
        }
        assert!("Force".parse::<CompressionMode>().is_err());
    }
}
