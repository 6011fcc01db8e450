//! How charts of devices' models are drawn, which a study has only where a configuration stands on one.

use super::layout::{Layout, lines, of_drive};
use assay_study::metrics::{Chart as Series, Shown};

/// Charts of the model, for configurations that have one.
pub(super) const CHARTS: [Layout; 3] = [
    of_drive(lines(
        Series::ModelLatency,
        "model-latency",
        "Model: latency",
        Shown::Milliseconds,
        "How long the modelled device takes for a read and a write, and how long they took here, means of each second.",
    )),
    Layout {
        is_stacked: true,
        ..of_drive(lines(
            Series::ModelWaits,
            "model-waits",
            "Model: what commands waited for",
            Shown::PerSecond,
            "Commands by what each waited for longest: something that was busy with others, or what worked on the command itself.",
        ))
    },
    of_drive(lines(
        Series::ModelMissedDeadlines,
        "model-missed-deadlines",
        "Model: commands out of time",
        Shown::PerSecond,
        "Emulated I/Os that missed their deadline because the host's CPUs were busy, and those that the device would have answered faster than can be shown here.",
    )),
];
