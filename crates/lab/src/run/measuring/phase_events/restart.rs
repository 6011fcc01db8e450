//! A restart of the server: shut down in order, started again on the same data, timed until it
//! answers. The judge finds the end of its warm-up in the series.

use anyhow::Result;

use super::{EventClock, EventContext};
use crate::rig::server::Restarted;
use assay_study::Done;

/// Restarts the server, and reports the end and the successor of its process to the monitor.
pub(super) fn restart(
    context: &EventContext<'_>,
    clock: &EventClock,
    done: &mut Option<Done>,
) -> Result<()> {
    let own = context.own()?;
    let mut server = own.server.lock();
    own.followed.turn_to(None);
    let restarted = server.restart(own.binary, &own.start, clock.end_of_window())?;
    own.followed.turn_to(Some(server.pid()));
    let Restarted { stop, answer, is_orderly } = restarted;
    *done = Some(Done::Restart {
        stop_s: stop.as_secs_f64(),
        answer_s: answer.as_secs_f64(),
        is_orderly,
    });
    Ok(())
}
