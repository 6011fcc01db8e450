//! The specification of a private cluster.

use anyhow::{Result, ensure};
use assay_base::Size;
use serde::{Deserialize, Serialize};

/// Minimum for losing a store and recovering.
pub const STORES_MIN: u16 = 3;

/// Each store needs some 600 MiB of memory, so more do not fit a machine for small studies.
pub const STORES_MAX: u16 = 16;

/// A smaller store has no space left after its own tables are laid out, in bytes.
pub const STORE_BYTES_MIN: u64 = 1 << 30;

/// In bytes.
const NAME_MAX: usize = 32;

/// The specification of a private cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub name: String,
    /// Number of object stores.
    pub stores: u16,
    /// Capacity of each store; its file takes space as it fills.
    pub store_bytes: u64,
}

impl Spec {
    /// Checks the name and the numbers.
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
