//! What the report shows of devices' models: figures and charts that a study has only where an arm stands on one.

use super::metrics::{Metric, metric};
use super::second::{Chart, lines, of_drive};

/// Columns of the models' table.
pub(super) const FIGURES: [Metric<'static>; 13] = [
    metric(
        "model_late_percent",
        "late",
        "%",
        1.0,
        "commands that our own processors made late; above 1 % the cell is not comparable",
    ),
    metric(
        "model_too_fast_percent",
        "too fast",
        "%",
        1.0,
        "commands that the device would have answered faster than a round trip to the model takes here",
    ),
    metric(
        "model_added_percent",
        "added",
        "%",
        1.0,
        "by how much longer than modelled all commands took together; above 5 % the cell is not comparable",
    ),
    metric("model_read_latency_ms", "read", "ms", 1.0, "how long a read of the device takes"),
    metric("model_read_shown_latency_ms", "shown", "ms", 1.0, "how long it took here"),
    metric("model_write_latency_ms", "write", "ms", 1.0, "how long a write to the device takes"),
    metric("model_write_shown_latency_ms", "shown", "ms", 1.0, "how long it took here"),
    metric("model_reads_per_s", "reads", "1/s", 1.0, "reads that the device was asked for"),
    metric("model_writes_per_s", "writes", "1/s", 1.0, "writes that the device was asked for"),
    metric(
        "media_write_bytes_per_transaction",
        "to flash",
        "kB/trx",
        1e-3,
        "bytes written to the modelled flash for each transaction, collection included",
    ),
    metric(
        "drive_write_amplification",
        "amplification",
        "",
        1.0,
        "bytes written to the modelled flash for each byte from the host; compression makes it less",
    ),
    metric(
        "fill_begin_percent",
        "full",
        "%",
        1.0,
        "share of what the device is sold with that held data when measuring began",
    ),
    metric(
        "fill_end_percent",
        "at the end",
        "%",
        1.0,
        "share of what the device is sold with that held data when measuring ended",
    ),
];

/// Charts of the model, for arms that have one.
pub(super) const CHARTS: [Chart; 3] = [
    of_drive(lines(
        "model-latency",
        "Model: latency",
        "ms",
        "How long the modelled device takes for a read and a write, and how long they took here, means of each second.",
        &[
            ("model_read_latency_ms", "read, modelled"),
            ("model_read_shown_latency_ms", "read, shown"),
            ("model_write_latency_ms", "write, modelled"),
            ("model_write_shown_latency_ms", "write, shown"),
        ],
    )),
    Chart {
        is_stacked: true,
        ..of_drive(lines(
            "model-waits",
            "Model: what commands waited for",
            "1/s",
            "Commands by what each waited for longest: something that was busy with others, or what worked on the command itself.",
            &[
                ("model_waited_for_firmware_per_s", "firmware"),
                ("model_waited_for_controller_per_s", "controller"),
                ("model_waited_for_link_per_s", "link"),
                ("model_waited_for_engine_per_s", "compression engine"),
                ("model_waited_for_buffer_per_s", "write buffer"),
                ("model_waited_for_flash_per_s", "flash"),
                ("model_waited_for_die_per_s", "die busy"),
                ("model_waited_for_channel_per_s", "channel"),
                ("model_waited_for_seek_per_s", "seek"),
                ("model_waited_for_rotation_per_s", "rotation"),
                ("model_waited_for_spindle_per_s", "spindle busy"),
                ("model_waited_for_operations_per_s", "operations paid for"),
                ("model_waited_for_bytes_per_s", "bytes paid for"),
                ("model_waited_for_network_per_s", "network"),
            ],
        ))
    },
    of_drive(lines(
        "model-late",
        "Model: commands out of time",
        "1/s",
        "Commands that our own processors made late, and those that the device would have answered faster than can be shown here.",
        &[("model_late_per_s", "late"), ("model_too_fast_per_s", "too fast to show")],
    )),
];
