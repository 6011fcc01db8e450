//! What the monitor hands on: series and samples.
//!
//! A *sample* is one second of every counter; a *series* is one counter's values in order. A value that could not
//! be known is absent, never zero: a counter that went backwards, a latency in a second without I/O, a layer that
//! has gone. Samples name their series by position in the list of `SeriesInfo`, which is fixed when the monitor
//! starts.

use assay_study::Warning;
use std::collections::BTreeMap;

use assay_study::metrics::Metric;

/// What one series is.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesInfo {
    pub metric: &'static Metric,
    /// Its one word in store and report: the metric's, with the CPU's number where it is of one.
    pub name: String,
    /// What a person reads, e.g. "bytes written (vda)".
    pub label: String,
}

impl SeriesInfo {
    /// Of a device of this name or a CPU of this number; of most metrics there is one, and it stands for nothing.
    pub(super) fn of(metric: &'static Metric, whose: &str) -> SeriesInfo {
        SeriesInfo { metric, name: metric.name_of(whose), label: metric.label_of(whose) }
    }
}

/// Position in the list of series.
pub type SeriesId = u16;

/// One second of every counter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// Taken this many seconds after the origin; it covers the time since the sample before, commonly one second.
    pub second: u32,
    /// Values in no particular order; an absent series is a gap.
    pub values: Vec<(SeriesId, f64)>,
}

/// Everything that was seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Monitored {
    /// What the samples' positions mean.
    pub series: Vec<SeriesInfo>,
    /// Samples, ascending by second; seconds that were missed are not there.
    pub samples: Vec<Sample>,
    /// How some of it was counted, where servers and kernels differ: nothing is wrong with it.
    pub facts: BTreeMap<String, String>,
    /// What could not be monitored and why, and what the drive said of itself.
    pub warnings: Vec<Warning>,
    /// When we did not run ourselves.
    pub gaps: Vec<Gap>,
}

/// A time in which the monitor did not run although it should have: this process was stopped, or the machine was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// When the monitor was last seen to run, in seconds of the origin's clock.
    pub from_s: f64,
    /// When it ran again.
    pub to_s: f64,
    /// How late it ran, in seconds: it was kept from running for so long and up to a second more. Time in which the
    /// machine slept counts, which the clock leaves out.
    pub length_s: f64,
}

impl Monitored {
    /// Puts values into the sample of `second`; every thread does, in any order.
    pub(super) fn add(&mut self, second: u32, values: &[(SeriesId, f64)]) {
        let samples = &mut self.samples;
        match samples.binary_search_by_key(&second, |sample| sample.second) {
            Ok(place) => samples[place].values.extend_from_slice(values),
            Err(place) => samples.insert(place, Sample { second, values: values.to_vec() }),
        }
    }
}
