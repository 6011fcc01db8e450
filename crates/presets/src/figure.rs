//! A number with where it comes from.

use serde::{Deserialize, Serialize};

/// The origin of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Somebody has published it.
    Published,
    /// It follows from published ones.
    Computed,
    /// Remembered from a publication that is not at hand: a hint, not a fact.
    Unsourced,
    /// Nobody has published it: chosen so that published ones come out, or as is usual.
    Fitted,
}

impl Mark {
    /// Every mark, the strongest first.
    pub const ALL: [Mark; 4] = [Mark::Published, Mark::Computed, Mark::Unsourced, Mark::Fitted];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mark::Published => "published",
            Mark::Computed => "computed",
            Mark::Unsourced => "unsourced",
            Mark::Fitted => "fitted",
        }
    }
}

/// A value, how it came to be, and from where.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetFigure<T> {
    /// The value, in the unit that its name ends with.
    pub value: T,
    pub mark: Mark,
    /// Its source, or the reason for its value.
    #[allow(dead_code, reason = "shown from the preset's text, where every number stands alike")]
    pub source: String,
}

/// A published figure of a device, to be compared with the one that follows from its preset.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The value, in the unit that its name ends with.
    pub value: f64,
    pub mark: Mark,
    pub source: String,
    /// Bytes of one command, where it is not as usual.
    pub bytes: Option<u64>,
    /// Share of the device that holds data, of random writes.
    pub fill: Option<f64>,
    /// Why the model does something else; nothing where it does not.
    pub differs: Option<String>,
}
