//! The monitor's results: series and samples.
//!
//! A *sample* is one second of every counter; a *series* is one counter's values in order. An
//! unknown value is absent, never zero: a counter that went backwards, a latency in a second
//! without I/O, a layer that has ended. Samples name their series by position in the list of
//! `SeriesInfo`, which is fixed when the monitor starts.

use assay_study::Warning;
use std::collections::BTreeMap;

use assay_study::metrics::MetricEntry;

/// Name and metric of one series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeriesInfo {
    pub(crate) metric: &'static MetricEntry,
    /// Name in store and report: the metric's, with the number of a CPU.
    pub(crate) name: String,
    /// Shown to users, e.g. "bytes written (vda)".
    pub(crate) label: String,
}

impl SeriesInfo {
    /// The series of a device or a CPU; `whose` is ignored by metrics without either.
    pub(super) fn of(metric: &'static MetricEntry, whose: &str) -> SeriesInfo {
        SeriesInfo { metric, name: metric.name_of(whose), label: metric.label_of(whose) }
    }
}

pub(crate) type SeriesId = u16;

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sample {
    /// Seconds after the origin; the sample covers the time since the previous one, commonly one
    /// second.
    pub(crate) second: u32,
    /// Values in no particular order; an absent series is a gap.
    pub(crate) values: Vec<(SeriesId, f64)>,
}

/// Everything that the monitor recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Monitored {
    pub(crate) series: Vec<SeriesInfo>,
    /// Ascending by second, without missed seconds.
    pub(crate) samples: Vec<Sample>,
    /// Sources of some counters, where servers and kernels differ.
    pub(crate) facts: BTreeMap<String, String>,
    /// Layers that could not be monitored, and warnings of the drive.
    pub(crate) warnings: Vec<Warning>,
    pub(crate) gaps: Vec<Gap>,
}

/// A period in which this process was stopped, or the machine was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gap {
    /// Last tick before the gap, in seconds of the run's clock.
    pub(crate) from_s: f64,
    /// First tick after the gap.
    pub(crate) to_s: f64,
    /// Delay of that tick in seconds; the stop lasted up to a second longer. Includes time in which
    /// the machine slept, which the run's clock leaves out.
    pub(crate) length_s: f64,
}

impl Monitored {
    /// Adds values to the sample of `second`; threads do so in any order.
    pub(super) fn add(&mut self, second: u32, values: &[(SeriesId, f64)]) {
        let samples = &mut self.samples;
        match samples.binary_search_by_key(&second, |sample| sample.second) {
            Ok(place) => samples[place].values.extend_from_slice(values),
            Err(place) => samples.insert(place, Sample { second, values: values.to_vec() }),
        }
    }
}
