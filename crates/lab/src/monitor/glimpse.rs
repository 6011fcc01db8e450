//! The last seconds of a few series of a running monitor.
//!
//! Reading them copies some numbers under the lock that the monitor takes once a second; no counter
//! is read.

use parking_lot::Mutex;
use std::sync::Arc;

use super::series::{Monitored, SeriesId};

/// Samples of a running monitor; empty once the monitor has ended.
#[derive(Debug, Clone)]
pub struct Glimpse<const N: usize> {
    monitored: Arc<Mutex<Monitored>>,
    places: [Option<SeriesId>; N],
}

impl<const N: usize> Glimpse<N> {
    pub(super) fn of(monitored: &Arc<Mutex<Monitored>>, names: [&str; N]) -> Glimpse<N> {
        let series = &monitored.lock().series;
        let place = |name| {
            let place = series.iter().position(|info| info.name == name)?;
            SeriesId::try_from(place).ok()
        };
        Glimpse { monitored: Arc::clone(monitored), places: names.map(place) }
    }

    pub fn is_counted(&self) -> bool {
        self.places.iter().any(Option::is_some)
    }

    /// Values of the last seconds, oldest first, at most `seconds` of them; `None` where not known.
    /// A second that not all threads of the monitor have sampled yet is left for the next call.
    pub fn last(&self, seconds: usize) -> Vec<[Option<f64>; N]> {
        let monitored = self.monitored.lock();
        let from = monitored.samples.len().saturating_sub(seconds);
        let value = |values: &[(SeriesId, f64)], place: Option<SeriesId>| {
            values.iter().find(|(id, _)| Some(*id) == place).map(|(_, value)| *value)
        };
        let sample =
            |sample: &super::series::Sample| self.places.map(|place| value(&sample.values, place));
        let mut seconds: Vec<_> = monitored.samples[from..].iter().map(sample).collect();
        if seconds.last().is_some_and(|values| values.iter().all(Option::is_none)) {
            seconds.pop();
        }
        seconds
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::SeriesInfo;
    use super::*;
    use assay_study::metrics::metric;

    #[test]
    fn the_last_seconds_are_seen_in_order_with_their_gaps() {
        let metrics = [metric!("disk_reads_per_s"), metric!("disk_writes_per_s")];
        let series = metrics.map(|metric| SeriesInfo::of(metric, "vda")).to_vec();
        let monitored = Arc::new(Mutex::new(Monitored { series, ..Monitored::default() }));
        let glimpse = Glimpse::of(&monitored, ["disk_writes_per_s", "disk_flushes_per_s"]);
        assert!(glimpse.last(3).is_empty() && glimpse.is_counted());
        for second in 1..=4 {
            let values = if second == 3 { vec![] } else { vec![(0, 9.0), (1, f64::from(second))] };
            monitored.lock().add(second, &values);
        }
        assert_eq!(glimpse.last(2), [[None, None], [Some(4.0), None]]);
        assert_eq!(glimpse.last(9).len(), 4);
        monitored.lock().add(5, &[(0, 9.0)]);
        assert_eq!(glimpse.last(9).len(), 4, "its writes are still to come");
        assert!(!Glimpse::of(&monitored, ["disk_flushes_per_s"]).is_counted());
    }
}
