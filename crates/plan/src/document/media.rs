//! Behaviour of a rig's media at a power cut.

use anyhow::{Result, ensure};
use assay_models::power::{Keeps, TearsAt, Volatility};
use serde::{Deserialize, Serialize};

use assay_base::Size;

/// The smallest sector: writes are torn at multiples of it at the finest.
const SECTOR_BYTES: u64 = 512;

/// Tearing of media under a drive, whose log tolerates it.
const UNDER_DRIVE: Tears = Tears::At(Size(SECTOR_BYTES));

/// Tearing of other disks by default: most guarantee a block (NVM Express, AWUPF).
const PLAIN: Tears = Tears::At(Size(4096));

/// The volatile cache by default.
const CACHE: Size = Size(64 << 20);

/// Behaviour of media at a power cut.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaSpec {
    /// Where a write is torn that was not durable: a size such as `"4K"`, or `"never"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tears_at: Option<Tears>,
    /// Bytes of the volatile cache. Default: 64M.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Size>,
    /// Whether flushes are answered and make nothing durable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignores_flush: bool,
    /// Which writes survive that were not durable: `"any"` of them, or the `"oldest"`.
    #[serde(default)]
    pub keeps: Keeps,
}

/// The place where a write is torn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tears {
    /// At multiples of this size.
    At(Size),
    Never,
}

impl TryFrom<String> for Tears {
    type Error = String;

    fn try_from(text: String) -> Result<Tears, String> {
        if text == "never" { Ok(Tears::Never) } else { Size::parse(&text).map(Tears::At) }
    }
}

impl From<Tears> for String {
    fn from(tears: Tears) -> String {
        match tears {
            Tears::At(size) => size.to_string(),
            Tears::Never => "never".into(),
        }
    }
}

impl MediaSpec {
    /// The effect of a power cut on the media, with a drive on them or without.
    ///
    /// # Errors
    /// One line naming the key and what it should be: there can be no such media.
    pub fn volatility(&self, is_under_drive: bool) -> Result<Volatility> {
        let default = if is_under_drive { UNDER_DRIVE } else { PLAIN };
        let tears_at = match self.tears_at.unwrap_or(default) {
            Tears::At(size) => {
                ensure!(
                    size.0.is_power_of_two() && (SECTOR_BYTES..=1 << 20).contains(&size.0),
                    "tears_at is {size}; give \"never\", or a power of two from 512 to 1M"
                );
                TearsAt::Bytes(size.0)
            }
            Tears::Never => TearsAt::Command,
        };
        let cache = self.cache.unwrap_or(CACHE);
        ensure!((1 << 20..=1 << 30).contains(&cache.0), "cache is {cache}; give from 1M to 1G");
        Ok(Volatility {
            tears_at,
            cache_bytes: cache.0,
            ignores_flush: self.ignores_flush,
            keeps: self.keeps,
        })
    }
}
