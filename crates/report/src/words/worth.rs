//! Assumptions in costs, as sentences.

use assay_judge::worth::Assumption;
use assay_study::Events;

/// An assumption in the cost of a configuration.
pub(crate) fn assumption(events: Events, assumption: Assumption) -> String {
    let Assumption::SeveralDrives(drives) = assumption;
    format!(
        "The cost includes {drives} drives per server, but the throughput is that of the one \
        disk in the study (for a scaled model: the full device). That fits a mirror, or a disk \
        that consists of all of them; if they share the load, {} costs less. Their total \
        capacity is capacity_bytes, and unknown without it.",
        events.one()
    )
}
