//! The result of a replay: latencies next to the recorded ones, waiting times, write amplification.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use assay_drive::{Counts, Drive};
use assay_models::{KINDS, ReplayedCommand, Time};
use serde::Serialize;

use super::question::Question;
use super::unwritten;
use assay_presets::Scale;
use assay_serve::kind_name;

/// The distribution of a latency, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
}

/// Commands of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfKind {
    pub commands: usize,
    /// Latency in the recorded model's own time.
    pub recorded_modelled: Latency,
    /// Latency at the time, including the port's round trip.
    pub recorded_achieved: Latency,
    /// Latency on the replayed device.
    pub predicted: Latency,
    /// Mean predicted per mean modelled latency; `None` if the latter is zero.
    pub predicted_per_modelled: Option<f64>,
    /// Mean predicted per mean achieved latency.
    pub predicted_per_achieved: Option<f64>,
}

/// A device and its scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// Name of the preset.
    pub name: String,
    pub scale: Scale,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The recorded device.
    pub recorded: Named,
    /// The replayed device.
    pub predicted: Named,
    /// True if commands kept their recorded arrival times (open loop).
    pub as_recorded: bool,
    /// Compression ratio, if it was assumed and not recorded.
    pub assumed_ratio: Option<f64>,
    /// Round trip of the port, a part of the achieved latency.
    pub port_us: f64,
    /// Start of the compared window, in seconds since recording began.
    pub from_s: f64,
    /// End of the window.
    pub to_s: f64,
    /// Number of replayed commands.
    pub replayed_commands: usize,
    /// Compared commands by kind.
    pub kinds: BTreeMap<&'static str, OfKind>,
    /// Compared commands by the resource that they waited for longest on the replayed device.
    pub waited: BTreeMap<&'static str, u64>,
    /// Bytes written by the host meanwhile, for a device with flash.
    pub write_bytes_host: Option<u64>,
    /// Bytes written to flash meanwhile.
    pub write_bytes_media: Option<u64>,
    /// Bytes written to flash per byte of the host.
    pub write_amplification: Option<f64>,
    /// Share of the blocks read meanwhile that were never written, which flash answers without a
    /// read.
    pub unwritten_read_share: Option<f64>,
    /// Device time of the whole replay.
    pub virtual_s: f64,
    /// Duration of the replay, without preconditioning.
    pub elapsed_s: f64,
    /// Device time per second of the replay.
    pub times_real_time: f64,
}

/// The measurements during a replay.
pub struct Measured<'a> {
    question: &'a Question,
    drive: Option<Arc<Drive>>,
    before: Option<Counts>,
    spans: [Spans; KINDS.len()],
    waited: BTreeMap<&'static str, u64>,
    commands: usize,
    first: Option<Time>,
    last: Time,
    began: Instant,
}

/// Latencies of one kind.
#[derive(Default)]
struct Spans {
    modelled: Vec<Time>,
    achieved: Vec<Time>,
    predicted: Vec<Time>,
}

impl<'a> Measured<'a> {
    pub fn new(question: &'a Question, drive: Option<Arc<Drive>>) -> Measured<'a> {
        Measured {
            question,
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
        if !self.question.counts(answer.recorded_arrival) {
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

    /// The result for the compared window.
    #[must_use]
    pub fn outcome(self, question: &Question, as_recorded: bool) -> Outcome {
        let elapsed_s = self.began.elapsed().as_secs_f64();
        let virtual_s = (self.last - self.first.unwrap_or_default()).as_s();
        let written = self.before.zip(self.counts()).map(|(before, after)| {
            let media = after.write_bytes_media() - before.write_bytes_media();
            (after.write_bytes_host - before.write_bytes_host, media)
        });
        let (from_s, to_s) = question.window_s();
        let recorded = &question.head.model;
        let kinds = KINDS
            .iter()
            .zip(self.spans)
            .filter_map(|(kind, spans)| Some((kind_name(*kind), spans.summed_up()?)));
        Outcome {
            recorded: Named { name: recorded.name.clone(), scale: recorded.scale },
            predicted: Named { name: question.preset.name.clone(), scale: question.scale },
            as_recorded,
            assumed_ratio: question.assumed_ratio,
            port_us: question.head.port_us,
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
            unwritten_read_share: unwritten::share(question),
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
    fn summed_up(self) -> Option<OfKind> {
        let commands = self.predicted.len();
        let recorded_modelled = latency(self.modelled)?;
        let recorded_achieved = latency(self.achieved)?;
        let predicted = latency(self.predicted)?;
        let per = |other: Latency| (other.mean_us > 0.0).then(|| predicted.mean_us / other.mean_us);
        Some(OfKind {
            commands,
            recorded_modelled,
            recorded_achieved,
            predicted,
            predicted_per_modelled: per(recorded_modelled),
            predicted_per_achieved: per(recorded_achieved),
        })
    }
}

/// The distribution of these latencies; `None` without any. A percentile is the next value in order
/// (nearest rank).
fn latency(mut spans: Vec<Time>) -> Option<Latency> {
    spans.sort_unstable();
    let at = |share: f64| {
        let rank = (share * spans.len() as f64).ceil() as usize;
        spans.get(rank.max(1) - 1).map(|span| span.as_us())
    };
    let sum: f64 = spans.iter().map(|span| span.as_us()).sum();
    Some(Latency { mean_us: sum / spans.len() as f64, p50_us: at(0.5)?, p99_us: at(0.99)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_told_by_its_ranks() {
        let spans: Vec<Time> = (1..=100).rev().map(|us| Time::from_us(f64::from(us))).collect();
        let told = latency(spans).unwrap();
        assert_eq!((told.p50_us, told.p99_us), (50.0, 99.0));
        assert!((told.mean_us - 50.5).abs() < 1e-9);
        assert_eq!(latency(Vec::new()), None);
        let single = latency(vec![Time::from_us(3.0)]).unwrap();
        assert_eq!((single.mean_us, single.p50_us, single.p99_us), (3.0, 3.0, 3.0));
    }
}
