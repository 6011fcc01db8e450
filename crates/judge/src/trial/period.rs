//! Whether events come at regular intervals.

use serde::Serialize;

/// Events at regular intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Period {
    /// From one to the next, in seconds.
    pub seconds: f64,
    /// Events seen.
    pub seen: usize,
    /// Events that there would have been from the first to the last.
    pub expected: usize,
}

/// How far an event that is known to a second may lie from where it should, in seconds: half a
/// second of rounding at either end.
const OFF_MOST_S: f64 = 1.0;

/// The share of the expected events that must be there.
const SEEN_LEAST: f64 = 0.75;

/// The chance that random events would look so at most.
const CHANCE_MOST: f64 = 0.01;

/// The period of events at these seconds, ascending; nothing if they have none or are too few to
/// tell.
pub fn period(events_s: &[f64]) -> Option<Period> {
    let gaps: Vec<f64> = events_s.windows(2).map(|two| two[1] - two[0]).collect();
    let fits = gaps.iter().filter_map(|gap| fit(events_s, *gap, gaps.len()));
    fits.max_by(|a, b| share(a).total_cmp(&share(b)))
}

fn share(period: &Period) -> f64 {
    period.seen as f64 / period.expected as f64
}

/// Numbers the events by a first guess, fits a line through numbers and times, and judges what is
/// left.
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

/// Fewer periods than this in a window are no train.
const PERIODS_LEAST: usize = 5;

/// The seconds of a train of events that come at regular intervals among others that do not:
/// `is_event` tells of each second whether something happened in it. Every period from 3 s on and
/// every phase is tried; of m places with h events, k of n seconds being events, the chance is
/// hypergeometric (Fisher's exact test), times the number of trials (Bonferroni). Nothing if even
/// the best is chance.
pub fn train(is_event: &[bool]) -> Option<Vec<usize>> {
    // An event at the edge of a second may fall into the next.
    let wide: Vec<bool> = (0..is_event.len())
        .map(|t| is_event[t] || is_event.get(t + 1).copied().unwrap_or(false))
        .collect();
    let (mut best, mut trials) = (None, 0.0);
    for series in [is_event, &wide] {
        let chance = Chance::of(series);
        for places in combs(series.len()) {
            trials += 1.0;
            let hits = places.iter().filter(|place| series[**place]).count();
            if (hits as f64) < SEEN_LEAST * places.len() as f64 {
                continue;
            }
            let by_chance = chance.at_least(hits, places.len());
            if best.as_ref().is_none_or(|(least, _)| by_chance < *least) {
                best = Some((by_chance, places));
            }
        }
    }
    let (_, places) = best.filter(|(by_chance, _)| by_chance * trials <= CHANCE_MOST)?;
    let at =
        |place: usize| [place, place + 1].into_iter().find(|t| is_event.get(*t) == Some(&true));
    Some(places.into_iter().filter_map(at).collect())
}

/// The shortest period looked for, in seconds.
const PERIOD_LEAST_S: f64 = 3.0;

/// Places one period apart, for every phase and for periods in steps that move the last place by
/// half a second.
fn combs(n: usize) -> impl Iterator<Item = Vec<usize>> {
    let longest = n as f64 / PERIODS_LEAST as f64;
    let step = 1.0 + 0.5 / n.max(1) as f64;
    let periods = std::iter::successors(Some(PERIOD_LEAST_S), move |period| Some(period * step));
    periods.take_while(move |period| *period <= longest).flat_map(move |period| {
        (0..period as usize).map(move |phase| {
            let at = move |k: usize| (phase as f64 + k as f64 * period).round() as usize;
            (0..).map(at).take_while(|place| *place < n).collect::<Vec<usize>>()
        })
    })
}

/// The chance of so many hits by places that know nothing of the events.
struct Chance {
    log_factorials: Vec<f64>,
    events: usize,
}

impl Chance {
    fn of(is_event: &[bool]) -> Chance {
        let mut log_factorials = vec![0.0];
        for k in 1..=is_event.len() {
            log_factorials.push(log_factorials[k - 1] + (k as f64).ln());
        }
        Chance { log_factorials, events: is_event.iter().filter(|one| **one).count() }
    }

    fn log_choose(&self, n: usize, k: usize) -> f64 {
        let log = &self.log_factorials;
        if k > n { f64::NEG_INFINITY } else { log[n] - log[k] - log[n - k] }
    }

    /// The upper tail of the hypergeometric distribution.
    fn at_least(&self, hits: usize, places: usize) -> f64 {
        let n = self.log_factorials.len() - 1;
        let all = self.log_choose(n, places);
        let term = |h: usize| {
            let both =
                self.log_choose(self.events, h) + self.log_choose(n - self.events, places - h);
            (both - all).exp()
        };
        (hits..=places.min(self.events)).map(term).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulated::Noise;

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

    #[test]
    fn a_train_is_found_among_other_events_and_none_among_random_ones() {
        // As seen of a model that stalls every ten seconds, on a machine that had other work.
        let seen = [4, 6, 12, 16, 26, 36, 46, 49, 52, 56];
        let of = |seconds: &[usize]| (1..=64).map(|t| seconds.contains(&t)).collect::<Vec<bool>>();
        let found: Vec<usize> = train(&of(&seen)).unwrap().iter().map(|place| place + 1).collect();
        assert_eq!(found, [6, 16, 26, 36, 46, 56]);
        // At the edge of a second, which takes longer to tell from chance.
        let edge: Vec<usize> = (0..12).map(|k| 6 + 10 * k + k % 2).collect();
        let long: Vec<bool> = (1..=120).map(|t| edge.contains(&t)).collect();
        assert_eq!(train(&long).unwrap().len(), 12);
        let mut noise = Noise::new(10);
        let mut trains = 0;
        for case in 0..200 {
            let share = 0.05 + 0.3 * f64::from(case % 10) / 10.0;
            let random: Vec<bool> = (0..64).map(|_| noise.uniform() < share).collect();
            trains += u32::from(train(&random).is_some());
        }
        assert!(trains <= 5, "{trains} of 200");
        assert!(train(&[]).is_none() && train(&[true; 30]).is_none());
    }
}
