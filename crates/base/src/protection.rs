//! The redundancy and the compression of a pool, as plans and command lines spell them.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How data survives the loss of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    Replicated {
        /// 2 or 3.
        copies: u16,
    },
    /// Erasure coding.
    ErasureCoded {
        /// Number of data chunks, `k`.
        data: u16,
        /// Number of coding chunks, `m`: that many chunks can be lost.
        coding: u16,
    },
}

impl FromStr for Protection {
    type Err = String;

    /// Reads `2` or `3` copies, or `k+m`.
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
            format!(
                "`{text}` is neither a number of copies, 2 or 3, nor k+m, as 2+1, with k from \
                 2 to 12 and m from 1 to 4"
            )
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
    /// Number of stores that the pool needs.
    #[must_use]
    pub fn stores(self) -> u16 {
        match self {
            Protection::Replicated { copies } => copies,
            Protection::ErasureCoded { data, coding } => data + coding,
        }
    }

    /// Number of stores that may be down while the pool accepts writes: one for copies; for erasure
    /// coding as many as leave `k + 1`, or `k` if `m` is 1 (Ceph's default `min_size` of
    /// erasure-coded pools).
    #[must_use]
    pub fn stores_down_most(self) -> u16 {
        match self {
            Protection::Replicated { .. } => 1,
            Protection::ErasureCoded { coding, .. } => (coding - 1).max(1),
        }
    }

    /// Bytes on all stores per byte of data, before compression.
    #[must_use]
    pub fn overhead(self) -> f64 {
        match self {
            Protection::Replicated { copies } => f64::from(copies),
            Protection::ErasureCoded { data, coding } => f64::from(data + coding) / f64::from(data),
        }
    }

    /// The form that `from_str` reads.
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
    /// Reads a text, or a number of copies.
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

/// Data that a pool's stores compress (Ceph, "BlueStore Configuration Reference",
/// `compression_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionMode {
    None,
    /// Data that a client marks as compressible.
    Passive,
    /// All data except what a client marks as incompressible.
    Aggressive,
    Force,
}

/// Compressor of a pool's stores (same page, `compression_algorithm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompressionAlgorithm {
    Snappy,
    Zlib,
    Zstd,
    Lz4,
}

/// The compression settings of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolCompression {
    pub mode: CompressionMode,
    pub algorithm: CompressionAlgorithm,
}

macro_rules! named {
    ($type:ident, $($word:literal => $value:ident),+) => {
        impl $type {
            /// Every spelling.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The spelling in plans, on command lines and in Ceph.
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

named!(
    CompressionMode,
    "none" => None,
    "passive" => Passive,
    "aggressive" => Aggressive,
    "force" => Force
);
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
