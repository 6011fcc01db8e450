//! How charts of devices' models are drawn, which a study has only where a configuration stands on
//! one.

use crate::charts::layout::{Layout, lines, of_drive};
use assay_study::metrics::{Chart as Series, Shown};

/// Charts of the model, for configurations that have one.
pub(crate) const CHARTS: [Layout; 3] = [
    of_drive(lines(
        Series::ModelLatency,
        "model-latency",
        "Model: latency",
        Shown::Milliseconds,
        "Read and write latency of the modelled device, and the latency achieved here; means per \
        second.",
    )),
    Layout {
        is_stacked: true,
        ..of_drive(lines(
            Series::ModelWaits,
            "model-waits",
            "Model: what I/Os waited for",
            Shown::PerSecond,
            "I/Os by the component that each waited for longest, whether it was busy with others \
            or served this I/O.",
        ))
    },
    of_drive(lines(
        Series::ModelMissedDeadlines,
        "model-missed-deadlines",
        "Model: missed deadlines",
        Shown::PerSecond,
        "Emulated I/Os that missed their deadline because the host's CPUs were busy, and those \
        that the device would answer faster than this machine can emulate.",
    )),
];
