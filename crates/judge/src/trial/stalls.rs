//! Seconds in which the load broke down: found, dated, sized, and set beside what the layers below
//! did then.
//!
//! A second is a **drop** if its throughput lies more than a fifth and more than five deviations
//! below the median of the seconds around it, or is a tenth of that or less, whatever the
//! deviation. It is a **stall** if its longest response time is twice what is usual and more than
//! four deviations (of logarithms) beyond, and at least half as many transactions as there are
//! connections took half as long: one slow transaction is a tail, all of them at once are a stall.
//! A second of which all this holds but the four deviations is one if it belongs to a train of such
//! seconds at regular intervals that chance would hardly make. Deviations are those of the median,
//! which what is looked for cannot inflate (Hampel, 1974).

use serde::Serialize;

use crate::statistics::{median, median_deviation};
use crate::trial::measured::{CLOCK_BEGAN, Measured};
use crate::trial::period::{Period, period, train};
use assay_study::metrics::{Layer, MetricEntry, Window, metric};
use assay_study::{SecondLatency, Series, Trial, bucket_of};

/// Windows shorter than this have no usual second.
const SECONDS_LEAST: usize = 10;

/// Seconds on either side whose median a second is held against.
const AROUND_S: usize = 15;

/// A drop is at least so deep, as a share of the median around it,
pub const DEPTH_LEAST: f64 = 0.2;
/// and so many deviations.
const DROP_DEVIATIONS: f64 = 5.0;
/// Throughput is never taken for steadier than this share of its median.
const DEVIATION_LEAST: f64 = 0.02;

/// Share of the surrounding median below which a second is a drop, however much the others vary.
const REST_MOST: f64 = 0.1;
/// where so many transactions a second are usual: of a Poisson process of this mean a second has a
/// tenth or less with a chance of 5 in a million.
const USUAL_LEAST: f64 = 15.0;

/// A stall is at least so many times the usual longest response,
const STALL_TIMES: f64 = 2.0;
/// and so many deviations of its logarithm,
const STALL_DEVIATIONS: f64 = 4.0;
/// or so many where no histogram of the second tells how many transactions it met.
const STALL_DEVIATIONS_ALONE: f64 = 6.0;
/// The logarithm of the longest response is never taken for steadier than this.
const LOG_DEVIATION_LEAST: f64 = 0.15;

/// Departures of lower layers that are reported for each event.
const DEPARTURES: usize = 4;

/// The breakdowns of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stalls {
    /// Each, in order.
    pub events: Vec<Stall>,
    /// Whether they come at regular intervals.
    pub period: Option<Period>,
    /// The smallest drop of throughput in a second that would have been found, in percent of the
    /// median; nothing where the seconds vary so much that not even one to zero would.
    pub smallest_drop_percent: Option<f64>,
}

/// One breakdown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stall {
    /// First second of the run's clock that it touches; second n ends n seconds after the clock
    /// began.
    pub from_second: u32,
    /// Last.
    pub to_second: u32,
    /// When the first began, RFC 3339 in UTC, where the run's clock is known.
    pub at: Option<String>,
    /// How far throughput was below the median around it, in percent, in the worst second.
    pub depth_percent: f64,
    /// How much longer than usual the longest response took, in ms: about how long nothing was
    /// answered.
    pub delay_ms: Option<f64>,
    /// Transactions that took at least half as long as the longest.
    pub transactions: Option<u64>,
    /// The series below the load that departed furthest from their own median.
    pub departures: Vec<Departure>,
}

/// A series in a second that was not like the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Departure {
    /// Its name.
    pub series: String,
    /// Its layer.
    pub layer: Layer,
    /// Its value furthest from the median.
    pub value: f64,
    /// Its median over the window.
    pub median: f64,
    /// How many deviations that is.
    pub deviations: f64,
}

/// The breakdowns of a run, from its series; nothing of a window too short to have a usual second.
pub fn stalls(trial: &Trial, measured: &Measured, series: &[Series]) -> Option<Stalls> {
    let window = trial.window?;
    let tps = inside(series, metric!("tps"), window);
    if tps.len() < SECONDS_LEAST {
        return None;
    }
    let longest = inside(series, metric!("latency_ms_max"), window);
    let usual_ms = median(&inside(series, metric!("latency_ms_p50"), window).values());
    let seconds = measured.latencies.seconds();
    let flagged = flagged(&tps, &longest, &seconds, trial.key.threads);
    let below: Vec<(&Series, Points)> = series
        .iter()
        .filter(|one| one.layer != Layer::Load)
        .map(|one| (one, inside_of(one, window)))
        .collect();
    let event = |span: &(u32, u32)| {
        let worst = within(&longest, *span).fold(f64::NAN, f64::max);
        let delay = worst - if usual_ms.is_finite() { usual_ms } else { 0.0 };
        Stall {
            from_second: span.0,
            to_second: span.1,
            at: wall_clock(trial, span.0),
            depth_percent: depth(&tps, *span) * 100.0,
            delay_ms: delay.is_finite().then_some(delay),
            transactions: delayed(&seconds, *span, worst),
            departures: departures(&below, *span),
        }
    };
    let events: Vec<Stall> = spans(&flagged).iter().map(event).collect();
    let period = regular(&events, window);
    Some(Stalls {
        events,
        period,
        smallest_drop_percent: smallest_drop(&tps).map(|one| one * 100.0),
    })
}

/// The period of events, or of those among them that have one.
fn regular(events: &[Stall], window: Window) -> Option<Period> {
    let seconds: Vec<f64> = events.iter().map(|one| f64::from(one.from_second)).collect();
    period(&seconds).or_else(|| {
        let is_event = |place: usize| {
            let second = window.from_s as u32 + 1 + place as u32;
            events.iter().any(|one| one.from_second == second)
        };
        let all: Vec<bool> = (0..window.length_s().round() as usize).map(is_event).collect();
        let places = train(&all)?;
        period(&places.iter().map(|place| *place as f64).collect::<Vec<f64>>())
    })
}

/// Seconds and values of a series within a window.
#[derive(Debug, Clone, Default)]
struct Points(Vec<(u32, f64)>);

impl Points {
    fn values(&self) -> Vec<f64> {
        self.0.iter().map(|point| point.1).collect()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

fn inside(series: &[Series], metric: &MetricEntry, window: Window) -> Points {
    series
        .iter()
        .find(|one| one.name == metric.name)
        .map_or_else(Points::default, |one| inside_of(one, window))
}

fn inside_of(series: &Series, window: Window) -> Points {
    let inside = series.points.iter().copied();
    Points(inside.filter(|(second, _)| window.contains_second(*second)).collect())
}

fn within(points: &Points, span: (u32, u32)) -> impl Iterator<Item = f64> {
    points.0.iter().filter(move |(second, _)| (span.0..=span.1).contains(second)).map(|p| p.1)
}

/// Five deviations of the seconds' throughput.
fn drop_least(tps: &Points) -> f64 {
    let values = tps.values();
    DROP_DEVIATIONS * median_deviation(&values).max(DEVIATION_LEAST * median(&values))
}

/// The share of the median that a second must lack to be a drop; nothing where none would be.
fn smallest_drop(tps: &Points) -> Option<f64> {
    let usual = median(&tps.values());
    let by_deviations = (drop_least(tps) / usual).max(DEPTH_LEAST);
    let by_rest = (usual >= USUAL_LEAST).then_some(1.0 - REST_MOST);
    let any = (by_deviations < 1.0).then_some(by_deviations).into_iter().chain(by_rest);
    any.reduce(f64::min)
}

/// The seconds in which something broke down, ascending.
fn flagged(tps: &Points, longest: &Points, seconds: &[SecondLatency], threads: u32) -> Vec<u32> {
    let least = drop_least(tps);
    let is_drop = |(place, point): (usize, &(u32, f64))| {
        let around = median_around(tps, place);
        let lack = around - point.1;
        let is_far_out = lack > DEPTH_LEAST * around && lack > least;
        let is_nearly_nothing = around >= USUAL_LEAST && point.1 <= REST_MOST * around;
        (is_far_out || is_nearly_nothing).then_some(point.0)
    };
    let mut found: Vec<u32> = tps.0.iter().enumerate().filter_map(is_drop).collect();
    let deviations = waits(longest, seconds, threads);
    let is_stall = |(point, wait): (&(u32, f64), &Option<Wait>)| {
        wait.filter(|wait| wait.deviations > wait.needed).map(|_| point.0)
    };
    found.extend(longest.0.iter().zip(&deviations).filter_map(is_stall));
    let all: Vec<bool> = deviations.iter().map(Option::is_some).collect();
    let regular = train(&all).unwrap_or_default();
    found.extend(regular.into_iter().filter_map(|place| longest.0.get(place)).map(|one| one.0));
    found.sort_unstable();
    found.dedup();
    found
}

/// How unusual the longest wait of a second was.
#[derive(Debug, Clone, Copy)]
struct Wait {
    deviations: f64,
    /// From where on it is a stall by itself.
    needed: f64,
}

/// Waits of each second in which every thread waited unusually long.
fn waits(longest: &Points, seconds: &[SecondLatency], threads: u32) -> Vec<Option<Wait>> {
    let logs: Vec<f64> = longest.values().iter().map(|ms| ms.max(1e-6).ln()).collect();
    let (centre, deviation) = (median(&logs), median_deviation(&logs).max(LOG_DEVIATION_LEAST));
    let of = |((second, ms), log): (&(u32, f64), &f64)| {
        let needed = match delayed(seconds, (*second, *second), *ms) {
            Some(met) if met as f64 >= f64::from(threads) / 2.0 => STALL_DEVIATIONS,
            Some(_) => return None,
            None => STALL_DEVIATIONS_ALONE,
        };
        let beyond = log - centre;
        (beyond > STALL_TIMES.ln()).then_some(Wait { deviations: beyond / deviation, needed })
    };
    longest.0.iter().zip(&logs).map(of).collect()
}

fn median_around(points: &Points, place: usize) -> f64 {
    let to = (place + AROUND_S + 1).min(points.len());
    let around = &points.0[place.saturating_sub(AROUND_S)..to];
    median(&around.iter().map(|point| point.1).collect::<Vec<f64>>())
}

/// Runs of seconds.
fn spans(seconds: &[u32]) -> Vec<(u32, u32)> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &second in seconds {
        match spans.last_mut() {
            Some(span) if second <= span.1 + 1 => span.1 = second,
            _ => spans.push((second, second)),
        }
    }
    spans
}

fn depth(tps: &Points, span: (u32, u32)) -> f64 {
    let of = |(place, point): (usize, &(u32, f64))| {
        let is_its = (span.0..=span.1).contains(&point.0);
        is_its.then(|| 1.0 - point.1 / median_around(tps, place))
    };
    tps.0.iter().enumerate().filter_map(of).fold(0.0, f64::max)
}

/// Transactions that ended in these seconds and took at least half of `longest_ms`; nothing without
/// histograms.
fn delayed(seconds: &[SecondLatency], span: (u32, u32), longest_ms: f64) -> Option<u64> {
    let bucket = bucket_of((longest_ms * 0.5e6) as u64);
    let its: Vec<&SecondLatency> =
        seconds.iter().filter(|one| (span.0..=span.1).contains(&one.second)).collect();
    (!its.is_empty()).then(|| its.iter().map(|one| one.count_above(bucket)).sum())
}

/// Series that were furthest from their own medians in these seconds, furthest first.
fn departures(below: &[(&Series, Points)], span: (u32, u32)) -> Vec<Departure> {
    let of = |(series, points): &(&Series, Points)| {
        let values = points.values();
        let centre = median(&values);
        let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        // A counter that stands still but for a hair is not far out when it moves.
        let least = (0.05 * centre.abs()).max(0.01 * largest).max(f64::MIN_POSITIVE);
        let deviation = median_deviation(&values).max(least);
        let value = within(points, span)
            .max_by(|a, b| (a - centre).abs().total_cmp(&(b - centre).abs()))?;
        Some(Departure {
            series: series.name.clone(),
            layer: series.layer,
            value,
            median: centre,
            deviations: (value - centre) / deviation,
        })
    };
    let mut all: Vec<Departure> = below.iter().filter_map(of).collect();
    all.retain(|one| one.deviations.is_finite() && one.deviations.abs() > DROP_DEVIATIONS);
    all.sort_by(|a, b| b.deviations.abs().total_cmp(&a.deviations.abs()));
    all.truncate(DEPARTURES);
    all
}

/// When a second of the run's clock began.
fn wall_clock(trial: &Trial, second: u32) -> Option<String> {
    let began: jiff::Timestamp = trial.facts.get(CLOCK_BEGAN)?.parse().ok()?;
    let at = began.checked_add(jiff::SignedDuration::from_secs(i64::from(second) - 1)).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

#[cfg(test)]
mod tests;
