//! An event that is repeated during a whole load: a backup after a backup, a rebuild after a
//! rebuild.

use std::time::Duration;

use super::{EventClock, EventContext, perform};
use crate::run::results::RepeatedEvent;
use assay_base::text::on_one_line;
use assay_study::Happening;

/// Pause between two rounds: without it a short event would keep its connection busy.
const PAUSE: Duration = Duration::from_secs(1);

/// Repeats the event until the load ends; returns `None` if the load ended before the first round.
pub(super) fn repeat(
    context: &EventContext<'_>,
    clock: &EventClock,
    happening: &Happening,
) -> Option<RepeatedEvent> {
    // Unbound, an event works as well: the load reports CPUs that it may not use.
    let _ = assay_ports::cpu::bind_thread(&context.cpus);
    clock.wait_for(0.0)?;
    let mut event = RepeatedEvent { happening: happening.clone(), rounds: 0, error: None };
    loop {
        let result = perform(context, clock, happening, &mut None);
        // An event that the end of the load interrupted has not failed.
        if clock.is_over() {
            return Some(event);
        }
        if let Err(error) = result {
            event.error = Some(on_one_line(&format!("{error:#}")));
            return Some(event);
        }
        event.rounds += 1;
        if clock.pause(PAUSE) {
            return Some(event);
        }
    }
}
