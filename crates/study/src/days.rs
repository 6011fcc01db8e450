//! The days on which the runs of a study were made.
//!
//! Guarantee: sessions that lie too close together to show how days differ are of one day.

use std::ops::RangeInclusive;

use assay_base::clock::seconds;
use serde::Serialize;

use crate::records::Trial;
use crate::sessions::Sessions;

/// Sessions that begin less than so many hours after a day's first are of that day, and tell
/// nothing of how days differ.
pub const HOURS_APART: i64 = 12;

/// Repeats of one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Day {
    /// First and last repeat.
    pub first: u32,
    pub last: u32,
    /// Beginning of its first run, UTC, as the store has it; absent before it has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<String>,
}

impl Day {
    /// The days of a study's runs: sessions, of which those that begin within [`HOURS_APART`] of a
    /// day's first belong to it.
    #[must_use]
    pub fn all(sessions: &Sessions, trials: &[Trial]) -> Vec<Day> {
        let last = trials.iter().map(|trial| trial.key.repeat).max().unwrap_or(0);
        let whole = || vec![1..=last.max(1)];
        let bounds: Vec<RangeInclusive<u32>> = sessions.bounds().collect();
        let bounds = if bounds.is_empty() { whole() } else { bounds };
        let mut days: Vec<Day> = Vec::new();
        for bounds in bounds {
            let began = trials
                .iter()
                .filter(|trial| bounds.contains(&trial.key.repeat))
                .filter_map(|trial| trial.started_at.clone())
                .min();
            match days.last_mut() {
                Some(day) if !are_apart(day.began.as_deref(), began.as_deref()) => {
                    day.last = *bounds.end();
                }
                _ => days.push(Day { first: *bounds.start(), last: *bounds.end(), began }),
            }
        }
        days
    }

    /// Returns true if the repeat was made on it.
    #[must_use]
    pub fn has(&self, repeat: u32) -> bool {
        (self.first..=self.last).contains(&repeat)
    }
}

/// Whether two times lie so far apart; those that are not known do not.
fn are_apart(earlier: Option<&str>, later: Option<&str>) -> bool {
    let (Some(earlier), Some(later)) = (earlier.and_then(seconds), later.and_then(seconds)) else {
        return false;
    };
    later - earlier >= HOURS_APART * 3600
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::TrialKey;

    fn trial(repeat: u32, started_at: &str) -> Trial {
        let key = TrialKey { config: "a".into(), workload: "w".into(), threads: 1, repeat };
        Trial { started_at: Some(started_at.into()), ..Trial::done(key, &[]) }
    }

    fn days(repeats: &[u32], began: &[&str]) -> Vec<(u32, u32)> {
        let trials: Vec<Trial> = (1..).zip(began).map(|(repeat, at)| trial(repeat, at)).collect();
        let sessions = Sessions { repeats: repeats.to_vec(), order_seed: None };
        Day::all(&sessions, &trials).iter().map(|day| (day.first, day.last)).collect()
    }

    #[test]
    fn sessions_of_one_day_count_as_one() {
        let began = [
            "2026-11-01T08:00:00Z",
            "2026-11-01T08:10:00Z",
            "2026-11-01T19:59:59Z",
            "2026-11-02T07:59:59Z",
            "2026-11-02T20:00:00Z",
        ];
        assert_eq!(days(&[], &began), [(1, 5)], "a study of one session");
        assert_eq!(days(&[2, 1], &began), [(1, 3)], "less than half a day later");
        assert_eq!(days(&[2, 1, 1], &began), [(1, 3), (4, 4)], "by the beginning of the day");
        assert_eq!(days(&[2, 2, 1], &began), [(1, 4), (5, 5)]);
        assert_eq!(days(&[3, 1, 1], &began), [(1, 3), (4, 4), (5, 5)]);
        assert_eq!(days(&[3, 2], &began), [(1, 3), (4, 5)]);
        assert_eq!(days(&[3, 3], &began[..3]), [(1, 6)], "nobody knows when the second began");
        assert_eq!(days(&[], &[]), [(1, 1)]);
    }
}
