//! From counters to values: the arithmetic that all layers share.
//!
//! A probe declares its *fields* (counters and gauges) and computes its series from them, each by a
//! formula. Rates divide by the time that really passed between two readings. An absent field, or a
//! counter that went backwards, makes a gap in every series built on it.

use std::time::Instant;

use super::series::SeriesInfo;
use assay_study::metrics::MetricEntry;

/// Index of a field in a reading.
pub(super) type Field = usize;

/// NaN where a field is absent.
pub(super) type Reading = Vec<f64>;

/// A computation on two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Formula {
    /// The field itself.
    Value(Field),
    /// Part of a whole, both gauges, in percent.
    Share { part: Field, whole: Field },
    /// Growth per second, times the scale.
    Rate { field: Field, scale: f64 },
    /// Growth of one counter without that of another that is part of it, per second.
    RateWithout { field: Field, without: Field },
    /// `base + scale × growth of over / growth of under`; a gap while `under` stands still.
    Quotient { over: Field, under: Field, base: f64, scale: f64 },
}

/// Fields and series of a probe.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Sheet {
    fields: usize,
    series: Vec<(SeriesInfo, Formula)>,
}

impl Sheet {
    /// Declares a counter whose growth each second is recorded.
    pub(super) fn counter(&mut self, metric: &'static MetricEntry, whose: &str) -> Field {
        let field = self.field();
        self.series(metric, whose, Formula::Rate { field, scale: 1.0 });
        field
    }

    /// Declares a counter of seconds whose growth is recorded in percent of the time.
    pub(super) fn seconds(&mut self, metric: &'static MetricEntry) -> Field {
        let field = self.field();
        self.series(metric, "", Formula::Rate { field, scale: 100.0 });
        field
    }

    /// Declares a gauge, recorded unchanged.
    pub(super) fn gauge(&mut self, metric: &'static MetricEntry, whose: &str) -> Field {
        let field = self.field();
        self.series(metric, whose, Formula::Value(field));
        field
    }

    /// Declares a field that only formulas use.
    pub(super) fn field(&mut self) -> Field {
        self.fields += 1;
        self.fields - 1
    }

    /// Declares a series computed by `formula`.
    pub(super) fn series(&mut self, metric: &'static MetricEntry, whose: &str, formula: Formula) {
        self.series.push((SeriesInfo::of(metric, whose), formula));
    }

    pub(super) fn infos(&self) -> impl Iterator<Item = &SeriesInfo> {
        self.series.iter().map(|(info, _)| info)
    }

    pub(super) fn len(&self) -> usize {
        self.series.len()
    }

    /// A reading in which every field is absent.
    pub(super) fn blank(&self) -> Reading {
        vec![f64::NAN; self.fields]
    }

    /// Computes every series that two readings determine, with its index.
    pub(super) fn compute(&self, before: &Moment, now: &Moment, mut known: impl FnMut(usize, f64)) {
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64();
        for (place, (_, formula)) in self.series.iter().enumerate() {
            let value = formula.value(&before.reading, &now.reading, seconds);
            if value.is_finite() {
                known(place, value);
            }
        }
    }
}

/// A reading with its time.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    pub(super) at: Instant,
    pub(super) reading: Reading,
}

impl Formula {
    fn value(self, before: &[f64], now: &[f64], seconds: f64) -> f64 {
        let growth = |field: Field| match now[field] - before[field] {
            grown if grown >= 0.0 => grown,
            _ => f64::NAN,
        };
        match self {
            Formula::Value(field) => now[field],
            Formula::Share { part, whole } => 100.0 * now[part] / now[whole],
            Formula::Rate { field, scale } => scale * growth(field) / seconds,
            Formula::RateWithout { field, without } => {
                let rest = growth(field) - growth(without);
                // Two counters are not read in one instant, so their difference may dip by one; NaN
                // stays NaN.
                if rest < 0.0 { 0.0 } else { rest / seconds }
            }
            Formula::Quotient { over, under, base, scale } => match growth(under) {
                grown if grown > 0.0 => base + scale * growth(over) / grown,
                _ => f64::NAN,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use assay_study::metrics::metric;

    fn sheet() -> Sheet {
        let mut sheet = Sheet::default();
        let writes = sheet.counter(metric!("disk_writes_per_s"), "vda");
        let spent = sheet.field();
        let formula = Formula::Quotient { over: spent, under: writes, base: 0.0, scale: 1.0 };
        sheet.series(metric!("disk_write_latency_ms"), "vda", formula);
        sheet.gauge(metric!("disk_in_flight"), "vda");
        sheet
    }

    fn computed(before: [f64; 3], now: [f64; 3], millis: u64) -> Vec<(String, f64)> {
        let sheet = sheet();
        let start = Instant::now();
        let before = Moment { at: start, reading: before.to_vec() };
        let now = Moment { at: start + Duration::from_millis(millis), reading: now.to_vec() };
        let mut values = Vec::new();
        let names: Vec<_> = sheet.infos().map(|info| info.name.clone()).collect();
        sheet.compute(&before, &now, |place, value| values.push((names[place].clone(), value)));
        values
    }

    #[test]
    fn rates_divide_by_the_time_that_really_passed() {
        let values = computed([100.0, 10.0, 0.0], [400.0, 70.0, 2.0], 1500);
        let expected = [
            ("disk_writes_per_s".to_owned(), 200.0),
            ("disk_write_latency_ms".to_owned(), 0.2),
            ("disk_in_flight".to_owned(), 2.0),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_second_without_io_has_a_rate_and_no_latency() {
        let values = computed([100.0, 10.0, 0.0], [100.0, 10.0, 0.0], 1000);
        let expected = [("disk_writes_per_s".to_owned(), 0.0), ("disk_in_flight".to_owned(), 0.0)];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_reset_or_absent_counter_is_a_gap() {
        for now in [[3.0, 11.0, 1.0], [f64::NAN, 11.0, 1.0]] {
            let values = computed([100.0, 10.0, 0.0], now, 1000);
            assert_eq!(values, [("disk_in_flight".to_owned(), 1.0)]);
        }
        assert!(computed([f64::NAN; 3], [f64::NAN; 3], 1000).is_empty());
    }

    #[test]
    fn a_difference_never_dips_below_zero_and_keeps_gaps() {
        let formula = Formula::RateWithout { field: 0, without: 1 };
        assert_eq!(formula.value(&[10.0, 5.0], &[30.0, 15.0], 2.0), 5.0);
        assert_eq!(formula.value(&[10.0, 5.0], &[11.0, 7.0], 1.0), 0.0);
        assert!(formula.value(&[10.0, 5.0], &[11.0, 1.0], 1.0).is_nan());
    }
}
