//! How well a model keeps its device's time, as the health reports it.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_models::{CommandTally, KINDS, Kind, Resource};
use serde::{Deserialize, Serialize};

use super::job::ModelJob;
use assay_presets::Scale;

/// If a larger share of commands missed their deadline because this machine's CPUs were busy,
/// measurements do not represent the device.
pub const MISSED_DEADLINE_SHARE_MAX: f64 = 0.01;

/// The same holds if all commands together took longer than modelled by more than this share,
/// because they were late or because the modelled time cannot be achieved.
pub const ADDED_SHARE_MAX: f64 = 0.05;

/// The same holds if the model's server stalled for longer, in milliseconds: commands that waited
/// meanwhile are not late by the model's clock.
pub const STALLED_MS_MAX: f64 = 200.0;

/// A model with its scale, and its counters since it began to keep time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelHealth {
    /// Name of the preset.
    pub name: String,
    pub scale: Scale,
    /// Round trip of the port alone, the shortest latency that can be achieved.
    pub port_us: f64,
    /// Commands of all kinds.
    pub commands: u64,
    /// Share of commands that missed their deadline because this machine's CPUs were busy.
    pub missed_deadline_share: Option<f64>,
    /// Share of commands with a modelled time shorter than the port's round trip.
    pub too_fast_share: Option<f64>,
    /// Share by which all commands together took longer than modelled.
    pub added_share: Option<f64>,
    /// Time during which the server did not run, in gaps of 50 ms and more.
    #[serde(default)]
    pub stalled_ms: f64,
    /// True if measurements represent the device: few commands were late, and little time was
    /// added.
    pub comparable: bool,
    /// Commands by kind.
    pub kinds: BTreeMap<String, KindHealth>,
    /// Commands by the resource that they waited for longest.
    pub waited: BTreeMap<String, u64>,
}

/// Commands of one kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KindHealth {
    pub commands: u64,
    /// Sum of the modelled times.
    pub modelled_s: f64,
    /// Sum of the achieved times.
    pub achieved_s: f64,
    pub modelled_mean_us: Option<f64>,
    pub achieved_mean_us: Option<f64>,
    /// Commands that missed their deadline because this machine's CPUs were busy.
    pub missed_deadlines: u64,
    /// Commands with a modelled time shorter than the port's round trip, or than the CPU time for
    /// them.
    pub too_fast: u64,
}

impl ModelHealth {
    /// The counters of `now` since `before`.
    #[must_use]
    pub fn new(
        job: &ModelJob,
        port_us: f64,
        now: &CommandTally,
        before: &CommandTally,
    ) -> ModelHealth {
        let kinds: BTreeMap<_, _> = KINDS
            .iter()
            .map(|kind| (kind_name(*kind).to_owned(), of_kind(*kind, now, before)))
            .collect();
        let sum = |count: fn(&KindHealth) -> u64| kinds.values().map(count).sum::<u64>();
        let commands = sum(|kind| kind.commands);
        let share = |part: u64| (commands > 0).then(|| part as f64 / commands as f64);
        let missed_deadline_share = share(sum(|kind| kind.missed_deadlines));
        let added_share =
            added_share(kinds.values().map(|kind| (kind.modelled_s, kind.achieved_s)));
        let waited = now.waited.iter().zip(before.waited).zip(Resource::ALL);
        let waited =
            waited.map(|((now, before), resource)| (resource.name().to_owned(), now - before));
        ModelHealth {
            name: job.name.clone(),
            scale: job.scale,
            port_us,
            commands,
            missed_deadline_share,
            too_fast_share: share(sum(|kind| kind.too_fast)),
            added_share,
            stalled_ms: 0.0,
            comparable: missed_deadline_share
                .is_none_or(|share| share <= MISSED_DEADLINE_SHARE_MAX)
                && added_share.is_none_or(|share| share <= ADDED_SHARE_MAX),
            waited: waited.filter(|(_, count)| *count > 0).collect(),
            kinds,
        }
    }
}

impl ModelHealth {
    /// Adds the time for which the server stalled.
    #[must_use]
    pub fn of_server_that_stalled(self, stalled: Duration) -> ModelHealth {
        let stalled_ms = stalled.as_secs_f64() * 1e3;
        let comparable = self.comparable && stalled_ms <= STALLED_MS_MAX;
        ModelHealth { stalled_ms, comparable, ..self }
    }

    /// Numbers of all commands, of late ones, and of those modelled too fast.
    #[must_use]
    pub fn counted(&self) -> (u64, u64, u64) {
        self.kinds.values().fold((0, 0, 0), |(commands, late, below), kind| {
            (commands + kind.commands, late + kind.missed_deadlines, below + kind.too_fast)
        })
    }
}

/// The share by which achieved times exceed modelled times, given pairs of both.
pub fn added_share(times: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (modelled, achieved) = times.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    (modelled > 0.0).then(|| achieved / modelled - 1.0)
}

/// The name of a kind of command.
#[must_use]
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Flush => "flush",
        Kind::Discard => "discard",
    }
}

fn of_kind(kind: Kind, now: &CommandTally, before: &CommandTally) -> KindHealth {
    let (now, before) = (now.of(kind), before.of(kind));
    let commands = now.commands - before.commands;
    let modelled_s = (now.modelled_ns - before.modelled_ns) as f64 / 1e9;
    let achieved_s = (now.achieved_ns - before.achieved_ns) as f64 / 1e9;
    let mean_us = |seconds: f64| (commands > 0).then(|| seconds * 1e6 / commands as f64);
    KindHealth {
        commands,
        modelled_s,
        achieved_s,
        modelled_mean_us: mean_us(modelled_s),
        achieved_mean_us: mean_us(achieved_s),
        missed_deadlines: now.missed_deadlines - before.missed_deadlines,
        too_fast: now.too_fast - before.too_fast,
    }
}
