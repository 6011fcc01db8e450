//! A resource that serves one piece of work at a time, urgent work first.

use super::super::time::Time;

/// A die or a channel: reads follow one another and interrupt other work, which ends that much
/// later.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lane {
    urgent_until: Time,
    busy_until: Time,
}

impl Lane {
    /// Earliest beginning of urgent work from `at` on, if nothing must be interrupted.
    pub(super) fn urgent_from(&self, at: Time) -> Time {
        at.max(self.urgent_until)
    }

    /// Whether urgent work at `at` interrupts other work. After other urgent work, it finds that
    /// interrupted already.
    pub(super) fn must_interrupt(&self, at: Time) -> bool {
        self.busy_until > at && self.urgent_until < at
    }

    /// Does urgent work for `span` from `from`, after an interruption that takes `interruption`;
    /// returns its end.
    pub(super) fn do_urgent(&mut self, from: Time, interruption: Time, span: Time) -> Time {
        self.interrupt(from, interruption + span);
        self.urgent_until = from + interruption + span;
        self.urgent_until
    }

    /// Delays other work by `span` from `from` on, if there is any then.
    pub(super) fn interrupt(&mut self, from: Time, span: Time) {
        if self.busy_until > from {
            self.busy_until += span;
        }
    }

    /// Does other work for `span` after everything before it, from `at` at the earliest; returns
    /// its end.
    pub(super) fn do_later(&mut self, at: Time, span: Time) -> Time {
        self.busy_until = at.max(self.busy_until).max(self.urgent_until) + span;
        self.busy_until
    }
}
