//! A store of the pool is killed, or returns. The end of its recovery is read from the cluster; the
//! effect on the server is in the series.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{EventClock, EventContext};
use crate::rig::pool::RunPool;
use assay_study::Done;

/// Interval at which the cluster's state is read.
const ASKED_EVERY: Duration = Duration::from_millis(200);

/// Kills a store, as a crash would.
pub(super) fn kill(context: &EventContext<'_>, store: u16) -> Result<()> {
    pool(context)?.kill_store(store)
}

/// Starts a store again, and waits until it is up and every object has all its copies or parts;
/// `done` holds the time until it was up.
pub(super) fn bring_back(
    context: &EventContext<'_>,
    clock: &EventClock,
    store: u16,
    done: &mut Option<Done>,
) -> Result<()> {
    let pool = pool(context)?;
    let began = Instant::now();
    let up_before = pool.watch()?.stores_up;
    pool.return_store(store)?;
    loop {
        let now = pool.watch()?;
        if now.stores_up > up_before && done.is_none() {
            *done = Some(Done::ReturnStore { up_s: began.elapsed().as_secs_f64() });
        }
        let is_whole = done.is_some() && now.is_clean;
        if is_whole || clock.pause(ASKED_EVERY) {
            return Ok(());
        }
    }
}

fn pool<'a>(context: &EventContext<'a>) -> Result<&'a RunPool> {
    context.own()?.pool.context("there is no pool below this server")
}
