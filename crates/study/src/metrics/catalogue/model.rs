//! A device's model, by its own counters: commands, their modelled and achieved latencies, and the
//! resource that each waited longest for.

use super::super::entry::{MetricEntry, metrics};

pub(super) const MODEL: &[MetricEntry] = metrics! { Model:
    series "model_reads_per_s", PerSecond, "reads (model)",
        column(Model 8 "reads" PerSecond "reads issued to the device");
    series "model_read_latency_ms", Milliseconds, "read, as modelled (model)", latency(),
        weighted_by("model_reads_per_s"),
        column(Model 4 "read" Milliseconds "modelled latency of a read"),
        line(ModelLatency 1 "read, modelled");
    series "model_read_achieved_latency_ms", Milliseconds, "read, achieved (model)", latency(),
        weighted_by("model_reads_per_s"),
        column(Model 5 "achieved" Milliseconds "latency achieved on this machine"),
        line(ModelLatency 2 "read, achieved");
    series "model_writes_per_s", PerSecond, "writes (model)",
        column(Model 9 "writes" PerSecond "writes issued to the device");
    series "model_write_latency_ms", Milliseconds, "write, as modelled (model)", latency(),
        weighted_by("model_writes_per_s"),
        column(Model 6 "write" Milliseconds "modelled latency of a write"),
        line(ModelLatency 3 "write, modelled");
    series "model_write_achieved_latency_ms", Milliseconds, "write, achieved (model)", latency(),
        weighted_by("model_writes_per_s"),
        column(Model 7 "achieved" Milliseconds "latency achieved on this machine"),
        line(ModelLatency 4 "write, achieved");
    series "model_flushes_per_s", PerSecond, "flushes (model)";
    series "model_flush_latency_ms", Milliseconds, "flush, as modelled (model)", latency(),
        weighted_by("model_flushes_per_s");
    series "model_flush_achieved_latency_ms", Milliseconds, "flush, achieved (model)", latency(),
        weighted_by("model_flushes_per_s");
    series "model_commands_per_s", PerSecond, "commands (model)";
    series "model_missed_deadlines_per_s", PerSecond,
        "emulated I/Os that missed their deadline because the host's CPUs were busy (model)",
        better_lower(), line(ModelMissedDeadlines 1 "missed deadlines");
    series "model_too_fast_per_s", PerSecond, "I/Os too fast to emulate here (model)",
        better_lower(), line(ModelMissedDeadlines 2 "too fast");
    series "model_waited_for_firmware_per_s", PerSecond, "waited longest for firmware (model)",
        line(ModelWaits 1 "firmware");
    series "model_waited_for_controller_per_s", PerSecond, "waited longest for controller (model)",
        line(ModelWaits 2 "controller");
    series "model_waited_for_link_per_s", PerSecond, "waited longest for link (model)",
        line(ModelWaits 3 "link");
    series "model_waited_for_engine_per_s", PerSecond, "waited longest for engine (model)",
        line(ModelWaits 4 "compression engine");
    series "model_waited_for_buffer_per_s", PerSecond, "waited longest for buffer (model)",
        line(ModelWaits 5 "write buffer");
    series "model_waited_for_flash_per_s", PerSecond, "waited longest for flash (model)",
        line(ModelWaits 6 "flash");
    series "model_waited_for_die_per_s", PerSecond, "waited longest for die (model)",
        line(ModelWaits 7 "die busy");
    series "model_waited_for_channel_per_s", PerSecond, "waited longest for channel (model)",
        line(ModelWaits 8 "channel");
    series "model_waited_for_seek_per_s", PerSecond, "waited longest for seek (model)",
        line(ModelWaits 9 "seek");
    series "model_waited_for_rotation_per_s", PerSecond, "waited longest for rotation (model)",
        line(ModelWaits 10 "rotation");
    series "model_waited_for_spindle_per_s", PerSecond, "waited longest for spindle (model)",
        line(ModelWaits 11 "spindle busy");
    series "model_waited_for_operations_per_s", PerSecond, "waited longest for operations (model)",
        line(ModelWaits 12 "operations paid for");
    series "model_waited_for_bytes_per_s", PerSecond, "waited longest for bytes (model)",
        line(ModelWaits 13 "bytes paid for");
    series "model_waited_for_network_per_s", PerSecond, "waited longest for network (model)",
        line(ModelWaits 14 "network");
    series "model_waited_for_platter_per_s", PerSecond, "waited longest for platter (model)";
    series "model_waited_for_fault_per_s", PerSecond, "waited longest for fault (model)";
    series "model_waited_for_nothing_per_s", PerSecond, "waited longest for nothing (model)";
    series "model_stalled_ms", Milliseconds, "stall time of the daemon (model)", growth(),
        better_lower();
    result "model_missed_deadlines_percent", Percent, "missed deadlines (model)",
        quotient("model_missed_deadlines_per_s", "model_commands_per_s", 100.0), better_lower(),
        column(Model 1 "missed" Percent
            "emulated I/Os that missed their deadline because the host's CPUs were busy; above 1 \
            % the run is flagged, and not comparable unless what other programs and the host took \
            explains it");
    result "model_too_fast_percent", Percent, "I/Os too fast to emulate (model)",
        quotient("model_too_fast_per_s", "model_commands_per_s", 100.0), better_lower(),
        column(Model 2 "too fast" Percent
            "I/Os that the device would answer faster than one round trip to the model takes on \
            this machine");
    result "model_added_percent", Percent, "time added to all I/Os (model)", better_lower(),
        column(Model 3 "added" Percent
            "total time of all I/Os beyond the modelled time; above 5 % the run is flagged, and \
            not comparable unless what other programs and the host took explains it");
    result "fill_begin_percent", Percent, "full at the beginning",
        column(Model 12 "full" Percent
            "share of the sold capacity in use at the beginning of the measurement");
    result "fill_end_percent", Percent, "full at the end",
        column(Model 13 "at the end" Percent
            "share of the sold capacity in use at the end of the measurement");
};
