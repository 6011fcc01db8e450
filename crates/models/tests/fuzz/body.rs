//! The body of the fuzz target `trace`, shared with the test next to it.

use assay_models::Trace;

/// Reads a trace. Its commands are in order, and their ends are numbers.
pub fn trace(bytes: &[u8]) {
    let Ok(trace) = Trace::read(bytes) else { return };
    assert!(trace.events.is_sorted_by_key(|event| event.command.arrival));
    for event in &trace.events {
        assert!(event.command.offset.checked_add(event.command.length).is_some());
    }
}
