//! One phase of one run: its figures, from the seconds that are stored of it.
//!
//! Counters are summed up by the catalogue's rules, as those of a whole run are, over the phase's
//! window in the place of the run's. Percentiles are those of all transactions that ended in the
//! phase, from the histograms of its seconds, whose buckets are at most 1.6 % wide.

use std::collections::BTreeMap;

use serde::Serialize;

use assay_load::PhasePace;
use assay_study::metrics::{Window, metric};
use assay_study::{
    Phase, Results, SecondLatencies, Series, Trial, TrialKey, longest_ns, over_window, quotients,
};

/// Throughput that is back at this share of what it was is warm again.
const WARM_SHARE: f64 = 0.9;

/// So many seconds in a row must be, as their mean: one alone may be luck.
const WARM_SECONDS: u32 = 3;

/// A phase of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfPhase {
    /// Which run.
    #[serde(flatten)]
    pub key: TrialKey,
    /// The phase as it was run.
    #[serde(flatten)]
    pub phase: Phase,
    /// Its figures, by the names that those of runs have.
    pub results: Results,
    /// Transactions that were due and not begun when it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_length_end: Option<f64>,
    /// Seconds from a restart of the server in this phase until throughput was back at 90 % of the
    /// phase before. `None` if that phase asked for something else, or throughput was not back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_s: Option<f64>,
}

/// Response times of a phase: how many transactions took at most so many ns, from a few buckets.
pub type Buckets = Vec<(u64, u64)>;

/// The phases of a run, from its series and its latencies.
pub fn phases(trial: &Trial, series: &[Series], latencies: &SecondLatencies) -> Vec<OfPhase> {
    let of = |(place, phase): (usize, &Phase)| OfPhase {
        key: trial.key.clone(),
        phase: phase.clone(),
        results: results(series, &buckets(latencies, phase.window), phase.window),
        queue_length_end: last(series, metric!("queue_length").name, phase.window),
        warm_s: warm_s(&trial.phases, place, series),
    };
    trial.phases.iter().enumerate().map(of).collect()
}

/// Response times of all transactions that ended in a window.
pub fn buckets(latencies: &SecondLatencies, window: Window) -> Buckets {
    let mut all: BTreeMap<u32, u64> = BTreeMap::new();
    let seconds = latencies.seconds().into_iter();
    for second in seconds.filter(|one| window.contains_second(one.second)) {
        for (bucket, count) in second.buckets {
            *all.entry(bucket).or_default() += count;
        }
    }
    all.into_iter().map(|(bucket, count)| (longest_ns(bucket), count)).collect()
}

fn results(series: &[Series], times: &Buckets, window: Window) -> Results {
    let mut results = over_window(series, window);
    let inside = |name: &str| inside(series, name, window);
    let mut put = |metric: &assay_study::metrics::MetricEntry, value: Option<f64>| {
        results.extend(value.map(|value| (metric.name.to_owned(), value)));
    };
    put(metric!("tps"), mean(&inside(metric!("tps").name)));
    put(metric!("qps"), mean(&inside(metric!("qps").name)));
    let all: u64 = times.iter().map(|(_, count)| count).sum();
    put(metric!("transactions"), Some(all as f64));
    let longest = inside(metric!("latency_ms_max").name).into_iter().reduce(f64::max);
    let most_ms = longest.unwrap_or(f64::INFINITY);
    if all > 0 {
        put(metric!("latency_ms_max"), longest);
        put(metric!("latency_ms_mean"), mean_latency(series, window));
        for (metric, share) in [
            (metric!("latency_ms_p50"), 0.5),
            (metric!("latency_ms_p95"), 0.95),
            (metric!("latency_ms_p99"), 0.99),
            (metric!("latency_ms_p999"), 0.999),
        ] {
            put(metric, within(times, all, share).map(|ms| ms.min(most_ms)));
        }
    }
    let derived = quotients(&results);
    results.extend(derived);
    results
}

/// The time that this share of all does not exceed, in ms.
fn within(times: &Buckets, all: u64, share: f64) -> Option<f64> {
    let rank = (all as f64 * share).ceil() as u64;
    let mut seen = 0;
    let place = times.iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    place.map(|(ns, _)| *ns as f64 / 1e6)
}

/// Mean latency from the seconds' means, weighted by the transactions that ended in each.
fn mean_latency(series: &[Series], window: Window) -> Option<f64> {
    let tps: BTreeMap<u32, f64> = points(series, metric!("tps").name, window).collect();
    let weighed: Vec<(f64, f64)> = points(series, metric!("latency_ms_mean").name, window)
        .filter_map(|(second, ms)| Some((ms, *tps.get(&second)?)))
        .collect();
    let total: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    let sum: f64 = weighed.iter().map(|(ms, weight)| ms * weight).sum();
    (total > 0.0).then_some(sum / total)
}

fn points<'a>(
    series: &'a [Series],
    name: &'a str,
    window: Window,
) -> impl Iterator<Item = (u32, f64)> + 'a {
    let its = series.iter().filter(move |one| one.name == name).flat_map(|one| &one.points);
    its.copied().filter(move |(second, _)| window.contains_second(*second))
}

fn inside(series: &[Series], name: &str, window: Window) -> Vec<f64> {
    points(series, name, window).map(|(_, value)| value).collect()
}

fn last(series: &[Series], name: &str, window: Window) -> Option<f64> {
    points(series, name, window).last().map(|(_, value)| value)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How long after a restart, or the loss of a store, began throughput was back, as long as the same
/// is asked for as before.
fn warm_s(phases: &[Phase], place: usize, series: &[Series]) -> Option<f64> {
    let happened = phases.get(place)?.happened.as_ref()?;
    let answered_s =
        happened.ended_s.filter(|_| happened.happening.is_outage() && happened.error.is_none())?;
    let before = phases.get(place.checked_sub(1)?)?;
    let is_alike = |phase: &&Phase| asked(phase) == asked(before);
    let to_s = phases[place..].iter().take_while(is_alike).last()?.window.to_s;
    let usual = mean(&inside(series, metric!("tps").name, before.window))?;
    let after = Window { from_s: answered_s, to_s };
    let tps: Vec<(u32, f64)> = points(series, metric!("tps").name, after).collect();
    let is_warm = |seconds: &&[(u32, f64)]| {
        seconds.iter().map(|(_, tps)| tps).sum::<f64>()
            >= WARM_SHARE * usual * f64::from(WARM_SECONDS)
    };
    let found = tps.windows(WARM_SECONDS as usize).find(is_warm)?;
    Some(f64::from(found.first()?.0) - happened.began_s)
}

fn asked(phase: &Phase) -> (PhasePace, Option<&str>) {
    (phase.pace, phase.workload.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::{Happened, Happening, metrics::find};

    fn series(points: impl Iterator<Item = (u32, f64)>) -> Vec<Series> {
        vec![Series { points: points.collect(), ..Series::of(find("tps").unwrap()) }]
    }

    fn phase(from_s: f64, to_s: f64, pace: PhasePace, happened: Option<Happened>) -> Phase {
        let window = Window { from_s, to_s };
        Phase { name: "p".into(), window, pace, workload: None, happened }
    }

    fn restart() -> Option<Happened> {
        Some(Happened {
            happening: Happening::Restart,
            began_s: 10.0,
            ended_s: Some(13.2),
            error: None,
            done: None,
        })
    }

    #[test]
    fn a_server_is_warm_when_throughput_is_back_for_some_seconds_in_a_row() {
        // 100 a second, nothing while it restarts, one lucky second, then slowly up again.
        let tps = |second: u32| match second {
            0..=10 => 100.0,
            11..=14 => 0.0,
            15 => 95.0,
            16..=20 => 40.0,
            21 => 85.0,
            _ => 98.0,
        };
        let series = series((1..=40).map(|second| (second, tps(second))));
        let closed = PhasePace::Closed;
        let of = |second: PhasePace, third: PhasePace| {
            let phases = [
                phase(0.0, 10.0, closed, None),
                phase(10.0, 18.0, second, restart()),
                phase(18.0, 40.0, third, None),
            ];
            warm_s(&phases, 1, &series)
        };
        assert_eq!(of(closed, closed), Some(11.0), "second 21 and the two behind it");
        assert_eq!(of(closed, PhasePace::Paused), None, "not within what asks the same");
        assert_eq!(of(PhasePace::Paused, closed), None, "nothing to compare with");
        let unharmed = [phase(0.0, 10.0, closed, None), phase(10.0, 40.0, closed, None)];
        assert_eq!(warm_s(&unharmed, 1, &series), None);
    }
}
