//! Thread counts as a plan lists them: `[1, 8, 64]`. A number alone is refused by a line that shows
//! the list.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};

/// Reads the list.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<u32>, D::Error> {
    deserializer.deserialize_any(ThreadCounts)
}

struct ThreadCounts;

impl<'de> Visitor<'de> for ThreadCounts {
    type Value = Vec<u32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of thread counts, e.g. [1, 8]")
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<Vec<u32>, E> {
        Err(E::custom(format!("thread counts are a list: write [{count}]")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u32>, A::Error> {
        let mut counts = Vec::new();
        while let Some(count) = items.next_element()? {
            counts.push(count);
        }
        Ok(counts)
    }
}
