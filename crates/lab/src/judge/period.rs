//! Whether events come at regular intervals.

use serde::Serialize;

/// Events at regular intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Period {
    /// From one to the next, in seconds.
    pub(crate) seconds: f64,
    /// Events seen.
    pub(crate) seen: usize,
    /// Events that there would have been from the first to the last.
    pub(crate) expected: usize,
}

/// How far an event that is known to a second may lie from where it should, in seconds: half a second of rounding at either end.
const OFF_MOST_S: f64 = 1.0;

/// The share of the expected events that must be there.
const SEEN_LEAST: f64 = 0.75;

/// The chance that random events would look so at most.
const CHANCE_MOST: f64 = 0.01;

/// The period of events at these seconds, ascending; nothing if they have none or are too few to tell.
pub(crate) fn period(events_s: &[f64]) -> Option<Period> {
    let gaps: Vec<f64> = events_s.windows(2).map(|two| two[1] - two[0]).collect();
    let fits = gaps.iter().filter_map(|gap| fit(events_s, *gap, gaps.len()));
    fits.max_by(|a, b| share(a).total_cmp(&share(b)))
}

fn share(period: &Period) -> f64 {
    period.seen as f64 / period.expected as f64
}

/// Numbers the events by a first guess, fits a line through numbers and times, and judges what is left.
fn fit(events_s: &[f64], guess: f64, tried: usize) -> Option<Period> {
    let first = *events_s.first()?;
    if events_s.len() < 3 || guess < 2.0 {
        return None;
    }
    let numbers: Vec<f64> = events_s.iter().map(|at| ((at - first) / guess).round()).collect();
    let n = events_s.len() as f64;
    let centre = (numbers.iter().sum::<f64>() / n, events_s.iter().sum::<f64>() / n);
    let both = || numbers.iter().zip(events_s);
    let products: f64 = both().map(|(k, t)| (k - centre.0) * (t - centre.1)).sum();
    let squares: f64 = numbers.iter().map(|k| (k - centre.0).powi(2)).sum();
    let seconds = products / squares;
    let off =
        both().map(|(k, t)| (t - centre.1 - seconds * (k - centre.0)).abs()).fold(0.0, f64::max);
    let expected = numbers.last()? + 1.0;
    // Two events fix period and phase; each other one falls near its place by chance so often.
    let by_chance = (2.0 * OFF_MOST_S / seconds).min(1.0).powf(n - 2.0) * tried as f64;
    let is_period = off <= OFF_MOST_S && n / expected >= SEEN_LEAST && by_chance <= CHANCE_MOST;
    let found = Period { seconds, seen: events_s.len(), expected: expected as usize };
    is_period.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::super::statistics::simulated::Noise;
    use super::*;

    #[test]
    fn a_period_is_found_with_an_event_missing() {
        let found = period(&[13.0, 23.0, 33.0, 53.0, 63.0, 73.0]).unwrap();
        assert!((found.seconds - 10.0).abs() < 0.01, "{found:?}");
        assert_eq!((found.seen, found.expected), (6, 7));
        assert!(period(&[3.0, 13.0]).is_none());
        assert!(period(&[]).is_none());
    }

    #[test]
    fn random_events_have_none() {
        let mut noise = Noise::new(9);
        let mut found = 0;
        for _ in 0..300 {
            let mut events: Vec<f64> = (0..6).map(|_| (noise.uniform() * 120.0).floor()).collect();
            events.sort_by(f64::total_cmp);
            events.dedup();
            found += u32::from(period(&events).is_some());
        }
        assert!(found <= 6, "{found} of 300");
    }
}
