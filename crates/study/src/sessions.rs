//! Sessions of a study: repeats that were made in one go, on base snapshots of their own.
//!
//! Repeats of one session share the machine as it was that day, and the files that were loaded for
//! it. What another day or another load of the same tables would change shows between sessions
//! alone.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// How a study's repeats were divided into sessions, and in which order their runs are made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Repeats of each session, in the order of time; empty for a study of one session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<u32>,
    /// Seed of the runs' order, which is drawn for each study; of studies that have none, the
    /// plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_seed: Option<u64>,
}

impl Sessions {
    /// Returns true if nothing is to be kept of them.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Sessions::default()
    }

    /// First and last repeat of each; nothing for a study of one session.
    pub fn bounds(&self) -> impl Iterator<Item = RangeInclusive<u32>> {
        self.repeats.iter().scan(0_u32, |before, repeats| {
            let first = before.saturating_add(1);
            *before = before.saturating_add(*repeats);
            Some(first..=*before)
        })
    }
}
