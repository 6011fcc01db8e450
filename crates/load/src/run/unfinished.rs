//! The events waiting at the end of the window: those in flight, and those due that no thread had
//! started.
//!
//! Events are counted when they end, so a stall that reaches past the end of the window leaves no
//! trace in the percentiles. This is its trace. It is computed after all threads have ended.

use std::sync::atomic::Ordering;

use crate::outcome::Unfinished;
use crate::record::Between;
use crate::worker::Shared;

/// The events planned before `over` and unfinished then; both in ns of the clock, as is the load's
/// `start`.
pub(super) fn at<T>(over: u64, start: u64, shared: &Shared<'_, T>) -> Unfinished {
    let in_hand = shared.unfinished.iter().map(|planned| planned.load(Ordering::Relaxed));
    let in_hand: Vec<u64> = in_hand.filter(|planned| *planned < over).collect();
    let (not_begun, next) = not_begun(over, start, shared).unzip();
    let oldest = in_hand.iter().copied().chain(next).min();
    Unfinished {
        events: in_hand.len() as u64 + not_begun.unwrap_or(0),
        wait_ms_max: oldest.map_or(0.0, |oldest| (over - oldest) as f64 / 1e6),
    }
}

impl Unfinished {
    /// The same with the events that turns cut off from the counted time.
    pub(super) fn and(self, between: Between) -> Unfinished {
        Unfinished {
            events: self.events + between.longer,
            wait_ms_max: self.wait_ms_max.max(between.longest_ns as f64 / 1e6),
        }
    }
}

/// The number of planned events that no thread had started, and the planned start of the first. A
/// run that ends by its number of events counts no more than it lacks.
fn not_begun<T>(over: u64, start: u64, shared: &Shared<'_, T>) -> Option<(u64, u64)> {
    let (count, first) = shared.pacer.as_ref()?.left_before(over.saturating_sub(start))?;
    let lacking = match shared.events_max {
        0 => count,
        most => most.saturating_sub(shared.begun.load(Ordering::Relaxed)),
    };
    (lacking > 0).then(|| (count.min(lacking), start + first))
}
