//! Compares fio's result of one job with the model's counters of the same time, and decides whether
//! it is the device's.

use anyhow::{Context, Result};
use serde::Serialize;

use assay_presets::closed::Closed;
use assay_serve::{
    ADDED_SHARE_MAX, Health, KindHealth, MISSED_DEADLINE_SHARE_MAX, ModelHealth, STALLED_MS_MAX,
    added_share,
};

/// Largest deviation between fio's latency and the one that the model achieved, as a share. The
/// path between them was measured when the model was attached; it varies by some 10 µs with the
/// state of the CPUs.
const PATH_SHARE_MAX: f64 = 0.10;

/// A figure, derived and measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MeasuredFigure {
    /// The derived figure.
    #[serde(flatten)]
    pub closed: Closed,
    pub measured: f64,
    /// Measured value per derived value.
    pub ratio: f64,
    /// Bytes written to media per byte of the host during the job.
    pub write_amplification: Option<f64>,
    /// Share of commands that missed their deadline because our CPUs were busy.
    pub missed_deadline_share: f64,
    /// Share of commands whose modelled latency is below the port's round trip.
    pub too_fast_share: f64,
    /// Time that commands took beyond their modelled latency, as a share of that.
    pub added_share: Option<f64>,
    /// Mean latency that the model achieved for the job's kind of command.
    pub achieved_us: Option<f64>,
    /// Time for which the model's server did not run.
    pub stalled_ms: f64,
    /// Whether the figure is the device's, and not this machine's.
    pub comparable: bool,
    /// Reasons why it is not comparable.
    pub reasons: Vec<String>,
}

/// A job, with the figure that it measures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// Name of the figure.
    pub name: &'static str,
    /// Kind of its commands in the health log: `read` or `write`.
    pub kind: &'static str,
    /// Whether the figure is the latency of single commands.
    pub is_latency: bool,
}

/// Result of one job.
#[derive(Debug)]
pub(crate) struct FioResult {
    request: Request,
    measured: f64,
    write_amplification: Option<f64>,
    missed_deadline_share: f64,
    too_fast_share: f64,
    added_share: Option<f64>,
    achieved_us: Option<f64>,
    stalled_ms: f64,
}

impl FioResult {
    /// Combines the figure that fio `measured` with the drive's counters before and after the job.
    ///
    /// # Errors
    /// The server has no model.
    pub fn new(
        request: Request,
        measured: f64,
        before: &Health,
        after: &Health,
    ) -> Result<FioResult> {
        let model = |health: &'_ Health| health.model.clone().context("the server has no model");
        let (then, now) = (model(before)?, model(after)?);
        let counted = ModelHealth::counted;
        let (all_now, all_then) = (counted(&now), counted(&then));
        let commands = (all_now.0 - all_then.0).max(1) as f64;
        let written = |health: &Health| {
            let counts = &health.status.counts;
            (counts.write_bytes_media(), counts.write_bytes_host)
        };
        let (media, host) =
            (written(after).0 - written(before).0, written(after).1 - written(before).1);
        let times = now.kinds.iter().map(|(kind, now)| since(now, then.kinds.get(kind)));
        let of_kind = now.kinds.get(request.kind).map(|now| (now, then.kinds.get(request.kind)));
        Ok(FioResult {
            request,
            measured,
            write_amplification: (host > 0).then(|| media as f64 / host as f64),
            missed_deadline_share: (all_now.1 - all_then.1) as f64 / commands,
            too_fast_share: (all_now.2 - all_then.2) as f64 / commands,
            added_share: added_share(times),
            achieved_us: of_kind.and_then(|(now, then)| achieved_us(now, then)),
            stalled_ms: now.stalled_ms - then.stalled_ms,
        })
    }

    /// Name of the figure.
    pub fn name(&self) -> &'static str {
        self.request.name
    }

    /// Bytes written to media per byte of the host during the job.
    pub fn write_amplification(&self) -> Option<f64> {
        self.write_amplification
    }

    /// Puts the result next to the derived figure.
    pub fn compared_with(&self, closed: Closed) -> MeasuredFigure {
        let reasons = self.reasons();
        MeasuredFigure {
            closed,
            measured: self.measured,
            ratio: self.measured / closed.value,
            write_amplification: self.write_amplification,
            missed_deadline_share: self.missed_deadline_share,
            too_fast_share: self.too_fast_share,
            added_share: self.added_share,
            achieved_us: self.achieved_us,
            stalled_ms: self.stalled_ms,
            comparable: reasons.is_empty(),
            reasons,
        }
    }

    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for (share, most, word) in [
            (Some(self.missed_deadline_share), MISSED_DEADLINE_SHARE_MAX, "missed deadlines"),
            (Some(self.too_fast_share), MISSED_DEADLINE_SHARE_MAX, "too fast"),
            (self.added_share, ADDED_SHARE_MAX, "time added"),
        ] {
            if share.is_some_and(|share| share > most) {
                reasons.push(word.to_owned());
            }
        }
        if self.stalled_ms > STALLED_MS_MAX {
            reasons.push(format!("its server stalled for {:.0} ms", self.stalled_ms));
        }
        let achieved_us = self.achieved_us.filter(|_| self.request.is_latency);
        reasons.extend(achieved_us.and_then(|us| self.path_deviation(us)));
        reasons
    }

    /// Reason if fio's latency deviates from the one that the model achieved.
    fn path_deviation(&self, achieved_us: f64) -> Option<String> {
        let share = self.measured / achieved_us - 1.0;
        let than = if share > 0.0 { "slower" } else { "faster" };
        (share.abs() > PATH_SHARE_MAX).then(|| {
            format!(
                "the path between fio and the model was {than} than when attached (the model \
                 achieved {achieved_us:.0} us)"
            )
        })
    }
}

/// Modelled and achieved time of the commands since `then`, in seconds.
fn since(now: &KindHealth, then: Option<&KindHealth>) -> (f64, f64) {
    let (modelled_s, achieved_s) =
        then.map_or((0.0, 0.0), |then| (then.modelled_s, then.achieved_s));
    (now.modelled_s - modelled_s, now.achieved_s - achieved_s)
}

fn achieved_us(now: &KindHealth, then: Option<&KindHealth>) -> Option<f64> {
    let commands = now.commands - then.map_or(0, |then| then.commands);
    (commands > 0).then(|| since(now, then).1 * 1e6 / commands as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(measured: f64) -> FioResult {
        FioResult {
            request: Request { name: "read_latency_us", kind: "read", is_latency: true },
            measured,
            write_amplification: None,
            missed_deadline_share: 0.0,
            too_fast_share: 0.0,
            added_share: Some(0.02),
            achieved_us: Some(100.0),
            stalled_ms: 0.0,
        }
    }

    #[test]
    fn a_server_that_stalled_shows_no_device() {
        let stopped = FioResult { stalled_ms: 4000.0, ..result(100.0) };
        assert_eq!(stopped.reasons(), ["its server stalled for 4000 ms"]);
    }

    #[test]
    fn a_latency_far_from_what_the_model_showed_is_not_the_devices() {
        assert_eq!(result(109.0).reasons(), Vec::<String>::new());
        let slower = result(250.0).reasons();
        assert!(slower.len() == 1 && slower[0].contains("slower than when attached"), "{slower:?}");
        assert!(slower[0].contains("achieved 100 us"), "{slower:?}");
        assert!(result(85.0).reasons()[0].contains("faster than when attached"));
        let rate = Request { is_latency: false, ..result(0.0).request };
        assert!(FioResult { request: rate, ..result(90_000.0) }.reasons().is_empty());
    }

    #[test]
    fn time_added_is_a_reason_of_its_own() {
        let slow = FioResult { added_share: Some(0.06), ..result(100.0) };
        assert_eq!(slow.reasons(), ["time added"]);
        let both = FioResult { missed_deadline_share: 0.02, too_fast_share: 0.5, ..slow };
        assert_eq!(both.reasons(), ["missed deadlines", "too fast", "time added"]);
    }

    #[test]
    fn times_are_those_of_the_job_alone() {
        let then =
            KindHealth { commands: 10, modelled_s: 1.0, achieved_s: 3.0, ..KindHealth::default() };
        let now =
            KindHealth { commands: 30, modelled_s: 2.0, achieved_s: 4.0, ..KindHealth::default() };
        assert_eq!(since(&now, Some(&then)), (1.0, 1.0));
        assert_eq!(achieved_us(&now, Some(&then)), Some(50_000.0));
        assert_eq!(achieved_us(&then, Some(&then)), None);
    }
}
