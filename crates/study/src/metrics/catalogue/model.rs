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
        "reads issued to the device",
    ),
    series(Model, "model_read_latency_ms", Milliseconds, "read, as modelled (model)")
        .latency()
        .weighted_by("model_reads_per_s")
        .column(
            Group::Model,
            4,
            "read",
            Shown::Milliseconds,
            "modelled latency of a read",
        )
        .line(Chart::ModelLatency, 1, "read, modelled"),
    series(Model, "model_read_achieved_latency_ms", Milliseconds, "read, achieved (model)")
        .latency()
        .weighted_by("model_reads_per_s")
        .column(Group::Model, 5, "achieved", Shown::Milliseconds, "latency achieved on this machine")
        .line(Chart::ModelLatency, 2, "read, achieved"),
    series(Model, "model_writes_per_s", PerSecond, "writes (model)").column(
        Group::Model,
        9,
        "writes",
        Shown::PerSecond,
        "writes issued to the device",
    ),
    series(Model, "model_write_latency_ms", Milliseconds, "write, as modelled (model)")
        .latency()
        .weighted_by("model_writes_per_s")
        .column(
            Group::Model,
            6,
            "write",
            Shown::Milliseconds,
            "modelled latency of a write",
        )
        .line(Chart::ModelLatency, 3, "write, modelled"),
    series(Model, "model_write_achieved_latency_ms", Milliseconds, "write, achieved (model)")
        .latency()
        .weighted_by("model_writes_per_s")
        .column(Group::Model, 7, "achieved", Shown::Milliseconds, "latency achieved on this machine")
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
        "I/Os too fast to emulate here (model)",
    )
    .better_lower()
    .line(Chart::ModelMissedDeadlines, 2, "too fast"),
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
        "stall time of the daemon (model)",
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
            "emulated I/Os that missed their deadline because the host's CPUs were busy; above 1 % the run is flagged, and not comparable unless what other programs and the host took explains it",
        ),
    result(Model, "model_too_fast_percent", Percent, "I/Os too fast to emulate (model)")
        .quotient("model_too_fast_per_s", "model_commands_per_s", 100.0)
        .better_lower()
        .column(
            Group::Model,
            2,
            "too fast",
            Shown::Percent,
            "I/Os that the device would answer faster than one round trip to the model takes on this machine",
        ),
    result(Model, "model_added_percent", Percent, "time added to all I/Os (model)")
        .better_lower()
        .column(
            Group::Model,
            3,
            "added",
            Shown::Percent,
            "total time of all I/Os beyond the modelled time; above 5 % the run is flagged, and not comparable unless what other programs and the host took explains it",
        ),
    result(Model, "fill_begin_percent", Percent, "full at the beginning").column(
        Group::Model,
        12,
        "full",
        Shown::Percent,
        "share of the sold capacity in use at the beginning of the measurement",
    ),
    result(Model, "fill_end_percent", Percent, "full at the end").column(
        Group::Model,
        13,
        "at the end",
        Shown::Percent,
        "share of the sold capacity in use at the end of the measurement",
    ),
];
