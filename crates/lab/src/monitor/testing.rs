//! Helpers of the tests of probes.

use assay_serve::Health;

/// Health of a drive that has been used.
pub(super) fn used_health() -> Health {
    Health::parse(include_str!("../../../serve/src/used.json")).unwrap()
}
