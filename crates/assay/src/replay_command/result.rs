//! Measures a replay: latencies next to the recorded ones, resources waited for, bytes written to
//! flash.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use assay_drive::{Counts, Drive};
use assay_models::{KINDS, ReplayedCommand, Time};
use serde::Serialize;

use super::prepared::PreparedReplay;
use super::unwritten;
use assay_presets::Scale;
use assay_serve::kind_name;

/// Summary of a latency distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct LatencySummary {
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

/// Latencies of one kind of command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct KindSummary {
    /// Number of commands.
    pub commands: usize,
    /// Latency by the recorded model.
    pub recorded_modelled: LatencySummary,
    /// Latency while recording, with the port's round trip.
    pub recorded_achieved: LatencySummary,
    /// Latency on the device of the replay.
    pub predicted: LatencySummary,
    /// Mean predicted latency per mean modelled one; `None` if that is zero.
    pub predicted_per_modelled: Option<f64>,
    /// Mean predicted latency per mean achieved one; `None` if that is zero.
    pub predicted_per_achieved: Option<f64>,
}

/// A device and its scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ScaledDevice {
    /// Name of the preset.
    pub name: String,
    pub scale: Scale,
}

/// Result of a replay, in the form that `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ReplayResult {
    /// The device that was recorded.
    pub recorded: ScaledDevice,
    /// The device of the replay.
    pub predicted: ScaledDevice,
    /// Whether commands arrived at their recorded times (open loop).
    pub as_recorded: bool,
    /// Compression ratio of the data, where the recording has none.
    pub assumed_ratio: Option<f64>,
    /// Round trip of the port, which is part of the achieved latencies.
    pub port_us: f64,
    /// Beginning of the compared window, in seconds since recording began.
    pub from_s: f64,
    /// End of the compared window, in seconds since recording began.
    pub to_s: f64,
    /// Number of replayed commands, compared or not.
    pub replayed_commands: usize,
    /// Compared commands by kind.
    pub kinds: BTreeMap<&'static str, KindSummary>,
    /// Number of compared commands by the resource that they waited for longest.
    pub waited: BTreeMap<&'static str, u64>,
    /// Bytes that the host wrote in the window, on a device with flash.
    pub write_bytes_host: Option<u64>,
    /// Bytes that were written to flash in the window.
    pub write_bytes_media: Option<u64>,
    /// Bytes to flash per byte of the host.
    pub write_amplification: Option<f64>,
    /// Share of the blocks read in the window that were never written; flash answers them without a
    /// read.
    pub unwritten_read_share: Option<f64>,
    /// Virtual time of all replayed commands.
    pub virtual_s: f64,
    /// Real time of the replay, without preconditioning.
    pub elapsed_s: f64,
    /// Virtual seconds per real second.
    pub times_real_time: f64,
}

/// Collects the answers of a replay.
pub(crate) struct ReplayMeter<'a> {
    prepared: &'a PreparedReplay,
    drive: Option<Arc<Drive>>,
    before: Option<Counts>,
    spans: [Spans; KINDS.len()],
    waited: BTreeMap<&'static str, u64>,
    commands: usize,
    first: Option<Time>,
    last: Time,
    began: Instant,
}

/// Latencies of one kind of command.
#[derive(Default)]
struct Spans {
    modelled: Vec<Time>,
    achieved: Vec<Time>,
    predicted: Vec<Time>,
}

impl<'a> ReplayMeter<'a> {
    pub fn new(prepared: &'a PreparedReplay, drive: Option<Arc<Drive>>) -> ReplayMeter<'a> {
        ReplayMeter {
            prepared,
            drive,
            before: None,
            spans: Default::default(),
            waited: BTreeMap::new(),
            commands: 0,
            first: None,
            last: Time::ZERO,
            began: Instant::now(),
        }
    }

    /// Adds an answered command.
    pub fn add(&mut self, answer: &ReplayedCommand) {
        self.commands += 1;
        self.first.get_or_insert(answer.arrival);
        self.last = self.last.max(answer.arrival + answer.latency);
        if !self.prepared.counts(answer.recorded_arrival) {
            return;
        }
        if self.before.is_none() {
            self.before = self.counts();
        }
        let spans = &mut self.spans[answer.kind as usize];
        spans.modelled.push(answer.recorded_modelled);
        spans.achieved.push(answer.recorded_achieved);
        spans.predicted.push(answer.latency);
        *self.waited.entry(answer.resource.name()).or_default() += 1;
    }

    /// Computes the result.
    #[must_use]
    pub fn result(self, prepared: &PreparedReplay, as_recorded: bool) -> ReplayResult {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let virtual_s = (self.last - self.first.unwrap_or_default()).as_s();
        let written = self.before.zip(self.counts()).map(|(before, after)| {
            let media = after.write_bytes_media() - before.write_bytes_media();
            (after.write_bytes_host - before.write_bytes_host, media)
        });
        let (from_s, to_s) = prepared.window_s();
        let recorded = &prepared.head.model;
        let kinds = KINDS
            .iter()
            .zip(self.spans)
            .filter_map(|(kind, spans)| Some((kind_name(*kind), spans.summary()?)));
        ReplayResult {
            recorded: ScaledDevice { name: recorded.name.clone(), scale: recorded.scale },
            predicted: ScaledDevice { name: prepared.preset.name.clone(), scale: prepared.scale },
            as_recorded,
            assumed_ratio: prepared.assumed_ratio,
            port_us: prepared.head.port_us,
            from_s,
            to_s,
            replayed_commands: self.commands,
            kinds: kinds.collect(),
            waited: self.waited,
            write_bytes_host: written.map(|(host, _)| host),
            write_bytes_media: written.map(|(_, media)| media),
            write_amplification: written
                .filter(|(host, _)| *host > 0)
                .map(|(host, media)| media as f64 / host as f64),
            unwritten_read_share: unwritten::share(prepared),
            virtual_s,
            elapsed_s,
            times_real_time: virtual_s / elapsed_s,
        }
    }

    fn counts(&self) -> Option<Counts> {
        self.drive.as_ref().map(|drive| drive.status().counts)
    }
}

impl Spans {
    fn summary(self) -> Option<KindSummary> {
        let commands = self.predicted.len();
        let recorded_modelled = latency(self.modelled)?;
        let recorded_achieved = latency(self.achieved)?;
        let predicted = latency(self.predicted)?;
        let per = |other: LatencySummary| {
            (other.mean_us > 0.0).then(|| predicted.mean_us / other.mean_us)
        };
        Some(KindSummary {
            commands,
            recorded_modelled,
            recorded_achieved,
            predicted,
            predicted_per_modelled: per(recorded_modelled),
            predicted_per_achieved: per(recorded_achieved),
        })
    }
}

/// Summarizes latencies; percentiles by nearest rank. `None` without any.
fn latency(mut spans: Vec<Time>) -> Option<LatencySummary> {
    spans.sort_unstable();
    let at = |share: f64| {
        let rank = (share * spans.len() as f64).ceil() as usize;
        spans.get(rank.max(1) - 1).map(|span| span.as_us())
    };
    let sum: f64 = spans.iter().map(|span| span.as_us()).sum();
    let mean_us = sum / spans.len() as f64;
    Some(LatencySummary { mean_us, p50_us: at(0.5)?, p99_us: at(0.99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_told_by_its_ranks() {
        let spans: Vec<Time> = (1..=100).rev().map(|us| Time::from_us(f64::from(us))).collect();
        let summary = latency(spans).unwrap();
        assert_eq!((summary.p50_us, summary.p99_us), (50.0, 99.0));
        assert!((summary.mean_us - 50.5).abs() < 1e-9);
        assert_eq!(latency(Vec::new()), None);
        let single = latency(vec![Time::from_us(3.0)]).unwrap();
        assert_eq!((single.mean_us, single.p50_us, single.p99_us), (3.0, 3.0, 3.0));
    }
}
