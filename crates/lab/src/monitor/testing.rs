//! What tests of probes share.

use assay_serve::Health;

/// What a server told of a drive.
pub(super) fn used_health() -> Health {
    Health::parse(include_str!("../../../serve/src/used.json")).unwrap()
}
