//! What a private cluster is to be.

use anyhow::{Result, ensure};
use assay_base::Size;
use serde::{Deserialize, Serialize};

/// Fewer stores could not lose one and heal.
pub const STORES_MIN: u16 = 3;

/// More take more memory than a machine for small studies has: each some 600 MiB.
pub const STORES_MAX: u16 = 16;

/// A store smaller than this has no space left once its own tables are laid out, in bytes.
pub const STORE_BYTES_MIN: u64 = 1 << 30;

/// The longest name, in bytes.
const NAME_MAX: usize = 32;

/// What a private cluster is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// What it is called.
    pub name: String,
    /// How many object stores it has.
    pub stores: u16,
    /// The most that each of them keeps, in bytes; files take space as they fill.
    pub store_bytes: u64,
}

impl Spec {
    /// Checks it.
    ///
    /// # Errors
    /// One line: what cannot be.
    pub fn check(&self) -> Result<()> {
        let Spec { name, stores, store_bytes } = self;
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
        ensure!(
            !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_plain),
            "`{name}` is no name for a cluster; use up to {NAME_MAX} letters, digits and dashes"
        );
        ensure!(
            (STORES_MIN..=STORES_MAX).contains(stores),
            "a cluster cannot have {stores} stores; give {STORES_MIN} to {STORES_MAX}"
        );
        ensure!(
            *store_bytes >= STORE_BYTES_MIN,
            "a store of {} is too small; give {} or more",
            Size(*store_bytes),
            Size(STORE_BYTES_MIN)
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_in_a_line() {
        let spec =
            |name: &str, stores, store_bytes| Spec { name: name.into(), stores, store_bytes };
        assert!(spec("pool", 3, STORE_BYTES_MIN).check().is_ok());
        for (spec, says) in [
            (spec("a b", 3, STORE_BYTES_MIN), "`a b` is no name"),
            (spec("", 3, STORE_BYTES_MIN), "`` is no name"),
            (spec("../x", 3, STORE_BYTES_MIN), "`../x` is no name"),
            (spec("pool", 2, STORE_BYTES_MIN), "a cluster cannot have 2 stores; give 3 to 16"),
            (spec("pool", 3, 4096), "a store of 4"),
        ] {
            let line = spec.check().unwrap_err().to_string();
            assert!(line.starts_with(says), "{line}");
        }
    }
}
