//! What a replay found: latencies beside the recorded ones, what was waited for, what it cost the flash.

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

/// A latency's distribution, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// On average.
    pub mean_us: f64,
    /// Half were faster.
    pub p50_us: f64,
    /// One in a hundred was slower.
    pub p99_us: f64,
}

/// Commands of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfKind {
    /// How many.
    pub commands: usize,
    /// How long the recorded model should have taken.
    pub recorded_modelled: Latency,
    /// How long they took then, the port's round trip included.
    pub recorded_achieved: Latency,
    /// How long they take on the device that was asked.
    pub predicted: Latency,
    /// Mean predicted for mean modelled; none where that is nothing.
    pub predicted_per_modelled: Option<f64>,
    /// Mean predicted for mean achieved.
    pub predicted_per_achieved: Option<f64>,
}

/// A device and its scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// What the preset is called by.
    pub name: String,
    /// By how much it is divided.
    pub scale: Scale,
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The device that was recorded.
    pub recorded: Named,
    /// The one that was asked.
    pub predicted: Named,
    /// Whether commands came when they came, whatever was answered.
    pub as_recorded: bool,
    /// What data were taken to shrink to, where that was not recorded.
    pub assumed_ratio: Option<f64>,
    /// The round trip of the port, which is part of what was achieved, in microseconds.
    pub port_us: f64,
    /// What is compared arrived from here, in seconds since recording began,
    pub from_s: f64,
    /// to here.
    pub to_s: f64,
    /// Commands that were replayed in all.
    pub replayed_commands: usize,
    /// Those compared, by what they ask for.
    pub kinds: BTreeMap<&'static str, OfKind>,
    /// Those compared, by what they waited for longest on the device that was asked.
    pub waited: BTreeMap<&'static str, u64>,
    /// Bytes that the host wrote meanwhile, where flash holds them.
    pub write_bytes_host: Option<u64>,
    /// Bytes that were written to flash meanwhile.
    pub write_bytes_media: Option<u64>,
    /// Those for each of the host's.
    pub write_amplification: Option<f64>,
    /// Of the blocks read meanwhile, the share that was never written, which flash answers without being read.
    pub unwritten_read_share: Option<f64>,
    /// Time that went by on the device for all that was replayed, in seconds.
    pub virtual_s: f64,
    /// Time that it took, in seconds, preconditioning left out.
    pub elapsed_s: f64,
    /// Seconds of the device's time in one of ours.
    pub times_real_time: f64,
}

/// What is gathered while it runs.
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
    /// Nothing so far.
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

    /// A command was answered.
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

    /// What came of it.
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

/// Of what took this long; nothing of nothing. A share of them is faster than the next one in order (nearest rank).
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
        let one = latency(vec![Time::from_us(3.0)]).unwrap();
        assert_eq!((one.mean_us, one.p50_us, one.p99_us), (3.0, 3.0, 3.0));
    }
}
