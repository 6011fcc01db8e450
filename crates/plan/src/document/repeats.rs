//! How often runs are repeated: a number, or at most so often with the repeats after which the
//! study is judged.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Plan;

/// Repeats after which a study is judged unless the plan names others: each costs half as much time
/// again as the one before.
const LOOKS: [u32; 7] = [3, 5, 8, 12, 18, 27, 40];

/// How often each run is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatsSpec {
    /// The most repeats; without looks all of them.
    pub at_most: u32,
    /// Repeats after which the study is judged and may end, in rising order; empty where it is
    /// judged when all have run.
    pub looks: Vec<u32>,
}

/// Seed of plans that name none.
const SEED_DEFAULT: u64 = 1;

impl Plan {
    /// Repeats of each session, of the runs that are repeated most.
    #[must_use]
    pub fn session_repeats(&self) -> u32 {
        self.repeats.at_most.max(self.compare_repeats.unwrap_or(0))
    }

    /// Returns true if each study has an order of runs of its own: else what the order does to
    /// results would be the same in all of them.
    #[must_use]
    pub fn is_order_drawn(&self) -> bool {
        self.seed == SEED_DEFAULT
    }
}

impl From<u32> for RepeatsSpec {
    fn from(at_most: u32) -> RepeatsSpec {
        RepeatsSpec { at_most, looks: Vec::new() }
    }
}

impl fmt::Display for RepeatsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.looks.is_empty() {
            true => write!(f, "{}", self.at_most),
            false => write!(f, "at most {}", self.at_most),
        }
    }
}

impl Serialize for RepeatsSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.looks.is_empty() {
            return serializer.serialize_u32(self.at_most);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("at_most", &self.at_most)?;
        map.serialize_entry("looks", &self.looks)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for RepeatsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RepeatsSpec, D::Error> {
        deserializer.deserialize_any(Repeats)
    }
}

struct Repeats;

impl<'de> Visitor<'de> for Repeats {
    type Value = RepeatsSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or { at_most = 12, looks = [3, 5, 8, 12] }")
    }

    fn visit_i64<E: Error>(self, repeats: i64) -> Result<RepeatsSpec, E> {
        let repeats = u32::try_from(repeats);
        repeats.map(RepeatsSpec::from).map_err(|_| E::custom("repeats is a number from 1 to 1000"))
    }

    fn visit_u64<E: Error>(self, repeats: u64) -> Result<RepeatsSpec, E> {
        self.visit_i64(i64::try_from(repeats).unwrap_or(-1))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RepeatsSpec, A::Error> {
        let table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        let looks = table.looks.unwrap_or_else(|| default_looks(table.at_most));
        Ok(RepeatsSpec { at_most: table.at_most, looks })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    at_most: u32,
    looks: Option<Vec<u32>>,
}

fn default_looks(at_most: u32) -> Vec<u32> {
    LOOKS.into_iter().filter(|look| *look < at_most).chain([at_most]).collect()
}
