//! A resource that serves one thing at a time, where urgent work goes before the rest.

use super::super::time::Time;

/// A die or a channel: reads go one after another and interrupt what else it does, which is done that much later.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lane {
    urgent_until: Time,
    busy_until: Time,
}

impl Lane {
    /// When urgent work that comes at `at` could begin, if nothing had to be interrupted.
    pub(super) fn urgent_from(&self, at: Time) -> Time {
        at.max(self.urgent_until)
    }

    /// Whether other work must be interrupted for urgent work at `at`. Urgent work that follows on other urgent work finds it
    /// interrupted already.
    pub(super) fn must_interrupt(&self, at: Time) -> bool {
        self.busy_until > at && self.urgent_until < at
    }

    /// Does urgent work for `span` from `from`, after an interruption that takes `interruption`; gives when it is done.
    pub(super) fn do_urgent(&mut self, from: Time, interruption: Time, span: Time) -> Time {
        self.interrupt(from, interruption + span);
        self.urgent_until = from + interruption + span;
        self.urgent_until
    }

    /// Other work stands still for `span` from `from` on, if there is any then.
    pub(super) fn interrupt(&mut self, from: Time, span: Time) {
        if self.busy_until > from {
            self.busy_until += span;
        }
    }

    /// Does other work for `span` once everything before it is done, from `at` at the earliest; gives when it is done.
    pub(super) fn do_later(&mut self, at: Time, span: Time) -> Time {
        self.busy_until = at.max(self.busy_until).max(self.urgent_until) + span;
        self.busy_until
    }
}
