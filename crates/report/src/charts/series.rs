//! Series as the page carries them: at most 600 points each, two characters a point.
//!
//! A study of 200 runs holds millions of samples; as plain JSON they would not fit into a page that
//! opens at once. The page draws pictures, so a point is coded in 12 bits on a logarithmic scale
//! between the series' own smallest and largest value: with a thousandfold range that is 0.1 % of
//! the value. The exact samples are in the store and in `tables/series/`.
//!
//! Guarantees: seconds without a value stay without one; zero stays zero; the whole is within its
//! budget, if need be with fewer points and without series that stand in no chart, and says so.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use assay_study::metrics::{self, Layer, Unit};
use assay_study::{Events, Series};

/// Points that a chart of a page's width can tell apart.
const MAX_POINTS: usize = 600;

/// Fewer are never drawn, whatever the size.
const MIN_POINTS: usize = 75;

/// 64 characters that mean themselves in HTML, JavaScript and JSON.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const MISSING: u16 = 0;
const ZERO: u16 = 1;
const FIRST: u16 = 2;
const LAST: u16 = 4095;

/// A series at no more points than can be seen: `values[i]` stands for the `step` seconds from
/// `first + i × step`.
#[derive(Debug, Clone, PartialEq)]
struct Reduced {
    first: u32,
    step: u32,
    values: Vec<Option<f64>>,
    is_worst: bool,
}

impl Reduced {
    /// Seconds are averaged where they do not fit; of latencies the longest is kept, for an average
    /// hides a stall.
    fn of(series: &Series) -> Option<Reduced> {
        let (first, last) = (series.points.first()?.0, series.points.last()?.0);
        let step = (last.checked_sub(first)? as usize + 1).div_ceil(MAX_POINTS);
        let is_worst = metrics::find(&series.name).is_some_and(|metric| metric.is_latency);
        let mut values = vec![None; (last - first) as usize / step + 1];
        for of_step in series.points.chunk_by(|a, b| {
            let place = |point: &(u32, f64)| (point.0 - first) as usize / step;
            place(a) == place(b)
        }) {
            let present: Vec<Option<f64>> = of_step.iter().map(|(_, value)| Some(*value)).collect();
            let place = of_step.first().map_or(0, |point| (point.0 - first) as usize / step);
            values[place] = one_of(&present, is_worst);
        }
        Some(Reduced { first, step: step as u32, values, is_worst })
    }

    fn thin(&mut self, factor: usize) {
        if factor > 1 {
            self.values =
                self.values.chunks(factor).map(|some| one_of(some, self.is_worst)).collect();
            self.step *= factor as u32;
        }
    }

    /// `[first, step, low, high, codes]`, or `[first, step, count, value]` for a constant.
    fn encode(&self) -> Value {
        let present = || self.values.iter().flatten().copied();
        let constant = self.values.first().copied().flatten();
        if let Some(constant) = constant.filter(|one| self.values.iter().all(|v| *v == Some(*one)))
        {
            return json!([self.first, self.step, self.values.len(), short(constant)]);
        }
        let is_negative = present().any(|value| value < 0.0);
        let on_scale = || present().filter(move |value| is_negative || *value != 0.0);
        let low = short(on_scale().fold(f64::INFINITY, f64::min));
        let high = short(on_scale().fold(f64::NEG_INFINITY, f64::max));
        let code = |value: Option<f64>| match value {
            None => MISSING,
            Some(0.0) => ZERO,
            Some(value) => code_of(value, low, high),
        };
        let codes: String = self.values.iter().flat_map(|value| digits(code(*value))).collect();
        json!([self.first, self.step, low, high, codes])
    }
}

fn one_of(values: &[Option<f64>], is_worst: bool) -> Option<f64> {
    let present: Vec<f64> = values.iter().flatten().copied().collect();
    let sum: f64 = present.iter().sum();
    match present.len() {
        0 => None,
        _ if is_worst => present.into_iter().reduce(f64::max),
        count => Some(sum / count as f64),
    }
}

/// Place of a value between `low` and `high`: logarithmic, or linear where values can be negative.
fn code_of(value: f64, low: f64, high: f64) -> u16 {
    let place = if low < 0.0 {
        (value - low) / (high - low)
    } else {
        (value / low).ln() / (high / low).ln()
    };
    let place = if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 };
    FIRST + (place * f64::from(LAST - FIRST)).round() as u16
}

fn digits(code: u16) -> [char; 2] {
    [code / 64, code % 64].map(|digit| char::from(DIGITS[usize::from(digit)]))
}

/// Seven significant digits are more than a code can tell apart, and shorter to write.
fn short(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// Facts about a series over all runs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Head {
    /// Stored name.
    pub(crate) name: String,
    /// The label shown to people.
    pub(crate) label: String,
    /// Unit of its values.
    pub(crate) unit: Unit,
    /// The layer it was read at.
    pub(crate) layer: Layer,
}

impl Head {
    /// Puts the label of the catalogue in the place of the stored one, which names transactions
    /// whatever the load.
    fn name_events(&mut self, events: Events) {
        let known = metrics::find(&self.name).filter(|one| one.stored_label() == self.label);
        if let Some(metric) = known {
            self.label = metric.label(events).into_owned();
        }
    }
}

/// The series of all runs on their way into the page.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    heads: Vec<Head>,
    places: BTreeMap<String, usize>,
    trials: Vec<BTreeMap<usize, Reduced>>,
}

/// The series as the page carries them.
#[derive(Debug)]
pub(crate) struct Embedded {
    /// Every recorded series, also those left out.
    pub(crate) heads: Vec<Head>,
    /// For each run, by place among the heads, the coded points.
    pub(crate) trials: Vec<BTreeMap<usize, Value>>,
    /// Names that did not fit.
    pub(crate) left_out: Vec<String>,
    /// The most seconds that a point stands for.
    pub(crate) coarsest_step_s: u32,
}

impl Collector {
    /// Takes the next run's series, none included.
    pub(crate) fn push(&mut self, series: &[Series]) {
        let reduced = series.iter().filter_map(|one| Some((self.place(one), Reduced::of(one)?)));
        let trial = reduced.collect();
        self.trials.push(trial);
    }

    fn place(&mut self, series: &Series) -> usize {
        *self.places.entry(series.name.clone()).or_insert_with(|| {
            self.heads.push(Head {
                name: series.name.clone(),
                label: series.label.clone(),
                unit: series.unit,
                layer: series.layer,
            });
            self.heads.len() - 1
        })
    }

    /// Names of all series recorded in any run.
    pub(crate) fn recorded(&self) -> BTreeSet<&str> {
        self.heads.iter().map(|head| head.name.as_str()).collect()
    }

    /// Codes everything into at most `budget` bytes; series in `charted` come first.
    pub(crate) fn embed(
        mut self,
        events: Events,
        charted: &BTreeSet<&str>,
        budget: usize,
    ) -> Embedded {
        self.heads.iter_mut().for_each(|head| head.name_events(events));
        let is_charted: Vec<bool> =
            self.heads.iter().map(|head| charted.contains(head.name.as_str())).collect();
        let mut coded = self.encode();
        let size_of = |coded: &[BTreeMap<usize, Value>], place: usize| -> usize {
            coded.iter().filter_map(|trial| trial.get(&place)).map(size).sum()
        };
        let charted_size = |coded: &[BTreeMap<usize, Value>]| -> usize {
            (0..is_charted.len())
                .filter(|&place| is_charted[place])
                .map(|p| size_of(coded, p))
                .sum()
        };
        while charted_size(&coded) > budget && self.longest() > MIN_POINTS {
            self.halve();
            coded = self.encode();
        }
        let mut left = budget.saturating_sub(charted_size(&coded));
        let mut left_out = Vec::new();
        for (place, head) in self.heads.iter().enumerate().filter(|(place, _)| !is_charted[*place])
        {
            let size = size_of(&coded, place);
            if size > left {
                left_out.push(head.name.clone());
                coded.iter_mut().for_each(|trial| drop(trial.remove(&place)));
            } else {
                left -= size;
            }
        }
        let steps = self.trials.iter().flat_map(BTreeMap::values).map(|reduced| reduced.step);
        let coarsest_step_s = steps.max().unwrap_or(1);
        Embedded { heads: self.heads, trials: coded, left_out, coarsest_step_s }
    }

    fn encode(&self) -> Vec<BTreeMap<usize, Value>> {
        let coded = |(place, reduced): (&usize, &Reduced)| (*place, reduced.encode());
        self.trials.iter().map(|trial| trial.iter().map(coded).collect()).collect()
    }

    fn longest(&self) -> usize {
        let lengths = self.trials.iter().flat_map(BTreeMap::values).map(|one| one.values.len());
        lengths.max().unwrap_or(0)
    }

    fn halve(&mut self) {
        for reduced in self.trials.iter_mut().flat_map(BTreeMap::values_mut) {
            reduced.thin(2);
        }
    }
}

/// Bytes of a coded series in the page, its key and commas included, a few too many.
fn size(coded: &Value) -> usize {
    let codes = coded.get(4).and_then(Value::as_str).map_or(0, str::len);
    codes + 52
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn series(name: &str, points: Vec<(u32, f64)>) -> Series {
        Series {
            name: name.into(),
            unit: Unit::PerSecond,
            label: name.into(),
            layer: Layer::Load,
            points,
        }
    }

    /// The page's script does the same.
    pub(in super::super) fn decode(coded: &Value) -> Vec<(u32, f64)> {
        let number = |place: usize| coded[place].as_f64().unwrap();
        let (first, step) = (number(0) as u32, number(1) as u32);
        let Some(codes) = coded.get(4).and_then(Value::as_str) else {
            return (0..number(2) as u32).map(|i| (first + i * step, number(3))).collect();
        };
        let (low, high) = (number(2), number(3));
        let digit = |byte: u8| DIGITS.iter().position(|one| *one == byte).unwrap() as u16;
        let value = |code: u16| match code {
            ZERO => 0.0,
            code => {
                let place = f64::from(code - FIRST) / f64::from(LAST - FIRST);
                if low < 0.0 { low + place * (high - low) } else { low * (high / low).powf(place) }
            }
        };
        let pairs = codes.as_bytes().chunks(2).map(|pair| digit(pair[0]) * 64 + digit(pair[1]));
        pairs
            .enumerate()
            .filter(|(_, code)| *code != MISSING)
            .map(|(i, code)| (first + i as u32 * step, value(code)))
            .collect()
    }

    fn round_trip(points: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        decode(&Reduced::of(&series("tps", points)).unwrap().encode())
    }

    #[test]
    fn values_come_back_within_their_precision() {
        let points = vec![(3, 0.0), (4, 2.0), (6, 1999.0), (7, 55.5), (8, 0.0)];
        let back = round_trip(points.clone());
        assert_eq!(back.len(), points.len());
        for ((second, value), (second_back, value_back)) in points.iter().zip(&back) {
            assert_eq!(second, second_back, "a second without a value stays without");
            assert!((value - value_back).abs() <= value * 0.001, "{value} became {value_back}");
        }
        assert_eq!(back[0].1, 0.0);
        let negative = round_trip(vec![(0, -10.0), (1, 0.0), (2, 30.0)]);
        assert!((negative[0].1 + 10.0).abs() < 0.01 && (negative[2].1 - 30.0).abs() < 0.01);
        assert_eq!(negative[1].1, 0.0);
        assert_eq!(round_trip(vec![(1, 7.0), (2, 7.0)]), [(1, 7.0), (2, 7.0)]);
        assert_eq!(round_trip(vec![(1, 7.0), (3, 7.0)]), [(1, 7.0), (3, 7.0)]);
        assert!(Reduced::of(&series("tps", vec![])).is_none());
    }

    #[test]
    fn a_long_series_keeps_its_mean_and_a_latency_its_worst() {
        let points: Vec<(u32, f64)> =
            (0..6000).map(|i| (i, if i == 4321 { 900.0 } else { 1.0 })).collect();
        let latency = Reduced::of(&series("latency_ms_p99", points.clone())).unwrap();
        assert_eq!((latency.values.len(), latency.step), (600, 10));
        assert_eq!(latency.values.iter().flatten().copied().fold(0.0, f64::max), 900.0);
        let rate = Reduced::of(&series("tps", points)).unwrap();
        assert!((rate.values[432].unwrap() - 90.9).abs() < 1e-9);
    }

    #[test]
    fn the_budget_is_kept_and_what_was_left_out_is_named() {
        let noisy =
            |name: &str| series(name, (0..600).map(|i| (i, f64::from(i % 7) + 1.0)).collect());
        let collector = || {
            let mut collector = Collector::default();
            for _ in 0..10 {
                collector.push(&[noisy("tps"), noisy("qps"), noisy("odd")]);
            }
            collector
        };
        let charted = BTreeSet::from(["tps"]);
        let all = collector().embed(Events::Transactions, &charted, 1_000_000);
        assert_eq!((all.left_out.len(), all.coarsest_step_s, all.trials[9].len()), (0, 1, 3));
        let some = collector().embed(Events::Transactions, &charted, 26_000);
        assert_eq!((some.left_out.as_slice(), some.coarsest_step_s), (&["odd".to_string()][..], 1));
        let few = collector().embed(Events::Transactions, &charted, 7_000);
        assert_eq!((few.left_out.len(), few.coarsest_step_s), (2, 2));
        let written = serde_json::to_string(&few.trials).unwrap();
        assert!(written.len() <= 7_000, "{}", written.len());
        assert_eq!(few.heads.len(), 3);
    }
}
