//! A restart of the server: shut down in order, started again on the same data, timed until it answers. When it is warm again
//! the judge reads off the series.

use anyhow::Result;

use super::{EventClock, EventContext};
use crate::rig::server::Restarted;
use assay_study::Done;

/// Restarts it; whoever follows its process learns when it is gone and which there is then.
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
