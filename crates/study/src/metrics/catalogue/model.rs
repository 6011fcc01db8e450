//! A device's model, by its own counters: what it was asked, when it should have answered and when it did, and what
//! commands waited for.

use super::super::entry::{Metric, result, series};
use super::super::layer::Layer::Model;
use super::super::shown::{Chart, Group, Shown};
use super::super::unit::Unit::{Milliseconds, PerSecond, Percent};

/// Commands that waited for something longer than for anything else, and where the chart of waits shows them.
macro_rules! waited {
    ($resource:literal $($line:tt)*) => {
        series(
            Model,
            concat!("model_waited_for_", $resource, "_per_s"),
            PerSecond,
            concat!("waited longest for ", $resource, " (model)"),
        )
        $($line)*
    };
}

pub(super) const MODEL: &[Metric] = &[
    series(Model, "model_reads_per_s", PerSecond, "reads (model)").column(
        Group::Model,
        8,
        "reads",
        Shown::PerSecond,
        "reads that the device was asked for",
    ),
    series(Model, "model_read_latency_ms", Milliseconds, "read, as modelled (model)")
        .latency()
        .weighted_by("model_reads_per_s")
        .column(
            Group::Model,
            4,
            "read",
            Shown::Milliseconds,
            "how long a read of the device takes",
        )
        .line(Chart::ModelLatency, 1, "read, modelled"),
    series(Model, "model_read_achieved_latency_ms", Milliseconds, "read, achieved (model)")
        .latency()
        .weighted_by("model_reads_per_s")
        .column(Group::Model, 5, "achieved", Shown::Milliseconds, "how long it took here")
        .line(Chart::ModelLatency, 2, "read, achieved"),
    series(Model, "model_writes_per_s", PerSecond, "writes (model)").column(
        Group::Model,
        9,
        "writes",
        Shown::PerSecond,
        "writes that the device was asked for",
    ),
    series(Model, "model_write_latency_ms", Milliseconds, "write, as modelled (model)")
        .latency()
        .weighted_by("model_writes_per_s")
        .column(
            Group::Model,
            6,
            "write",
            Shown::Milliseconds,
            "how long a write to the device takes",
        )
        .line(Chart::ModelLatency, 3, "write, modelled"),
    series(Model, "model_write_achieved_latency_ms", Milliseconds, "write, achieved (model)")
        .latency()
        .weighted_by("model_writes_per_s")
        .column(Group::Model, 7, "achieved", Shown::Milliseconds, "how long it took here")
        .line(Chart::ModelLatency, 4, "write, achieved"),
    series(Model, "model_flushes_per_s", PerSecond, "flushes (model)"),
    series(Model, "model_flush_latency_ms", Milliseconds, "flush, as modelled (model)")
        .latency()
        .weighted_by("model_flushes_per_s"),
    series(Model, "model_flush_achieved_latency_ms", Milliseconds, "flush, achieved (model)")
        .latency()
        .weighted_by("model_flushes_per_s"),
    series(Model, "model_commands_per_s", PerSecond, "commands (model)"),
    series(
        Model,
        "model_missed_deadlines_per_s",
        PerSecond,
        "emulated I/Os that missed their deadline because the host's CPUs were busy (model)",
    )
    .better_lower()
    .line(Chart::ModelMissedDeadlines, 1, "missed deadlines"),
    series(
        Model,
        "model_too_fast_per_s",
        PerSecond,
        "commands faster than can be shown here (model)",
    )
    .better_lower()
    .line(Chart::ModelMissedDeadlines, 2, "too fast to show"),
    waited!("firmware".line(Chart::ModelWaits, 1, "firmware")),
    waited!("controller".line(Chart::ModelWaits, 2, "controller")),
    waited!("link".line(Chart::ModelWaits, 3, "link")),
    waited!("engine".line(Chart::ModelWaits, 4, "compression engine")),
    waited!("buffer".line(Chart::ModelWaits, 5, "write buffer")),
    waited!("flash".line(Chart::ModelWaits, 6, "flash")),
    waited!("die".line(Chart::ModelWaits, 7, "die busy")),
    waited!("channel".line(Chart::ModelWaits, 8, "channel")),
    waited!("seek".line(Chart::ModelWaits, 9, "seek")),
    waited!("rotation".line(Chart::ModelWaits, 10, "rotation")),
    waited!("spindle".line(Chart::ModelWaits, 11, "spindle busy")),
    waited!("operations".line(Chart::ModelWaits, 12, "operations paid for")),
    waited!("bytes".line(Chart::ModelWaits, 13, "bytes paid for")),
    waited!("network".line(Chart::ModelWaits, 14, "network")),
    waited!("platter"),
    waited!("fault"),
    waited!("nothing"),
    series(
        Model,
        "model_stalled_ms",
        Milliseconds,
        "its server has stalled so far (model)",
    )
    .growth()
    .better_lower(),
    result(Model, "model_missed_deadlines_percent", Percent, "missed deadlines (model)")
        .quotient("model_missed_deadlines_per_s", "model_commands_per_s", 100.0)
        .better_lower()
        .column(
            Group::Model,
            1,
            "missed",
            Shown::Percent,
            "emulated I/Os that missed their deadline because the host's CPUs were busy; above 1 % the run is not comparable",
        ),
    result(Model, "model_too_fast_percent", Percent, "commands too fast to show (model)")
        .quotient("model_too_fast_per_s", "model_commands_per_s", 100.0)
        .better_lower()
        .column(
            Group::Model,
            2,
            "too fast",
            Shown::Percent,
            "commands that the device would have answered faster than a round trip to the model takes here",
        ),
    result(Model, "model_added_percent", Percent, "time added to all commands (model)")
        .better_lower()
        .column(
            Group::Model,
            3,
            "added",
            Shown::Percent,
            "by how much longer than modelled all commands took together; above 5 % the run is not comparable",
        ),
    result(Model, "fill_begin_percent", Percent, "full when measuring began").column(
        Group::Model,
        12,
        "full",
        Shown::Percent,
        "share of what the device is sold with that held data when measuring began",
    ),
    result(Model, "fill_end_percent", Percent, "full when measuring ended").column(
        Group::Model,
        13,
        "at the end",
        Shown::Percent,
        "share of what the device is sold with that held data when measuring ended",
    ),
];
