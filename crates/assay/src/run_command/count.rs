//! Progress of a study: runs, seconds, and the time left.

use std::time::{Duration, Instant};

use assay_load::Warmup;
use assay_load::capacity::{SearchStep, runs_expected};
use assay_plan::Experiment;

/// Longest time of `runs` runs of a plan, without loading tables; the estimate before any run was
/// timed.
pub(crate) fn planned_seconds(experiment: &Experiment, runs: usize) -> f64 {
    runs as f64 * Lengths::of(experiment).trial_seconds()
}

/// Estimated time of building and removing a rig on a small machine, until runs have been timed.
const RIG_SECONDS_GUESS: f64 = 6.0;

/// Number of closed-loop runs with which a search begins.
const CLOSED_LOOPS: u32 = 1;

/// Lengths of a plan's runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    /// Measuring window.
    pub seconds: f64,
    /// Warm-up before it.
    pub warmup_seconds: f64,
    /// Whether the warm-up may end sooner.
    pub is_warmup_a_cap: bool,
    /// Whether the measuring window may end sooner.
    pub is_measuring_a_cap: bool,
    /// Expected number of runs of a search for the rate that 95 % of windows meet; `None` if runs
    /// are no searches.
    pub search_runs: Option<u32>,
}

/// A search in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Searching {
    runs: u32,
    /// Expected number of further runs.
    left: u32,
    /// End of the last run, since the study's beginning.
    told: Duration,
}

/// Number of runs done and to do, with their times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    /// Runs that have ended.
    pub done: usize,
    /// All runs, ended ones included.
    pub trials: usize,
    pub lengths: Lengths,
    began: Instant,
    /// End of the last ended run, since the beginning.
    last_ended: Duration,
    searching: Option<Searching>,
}

impl Lengths {
    pub fn of(experiment: &Experiment) -> Lengths {
        Lengths {
            seconds: experiment.seconds,
            warmup_seconds: experiment.warmup_seconds(),
            is_warmup_a_cap: matches!(experiment.warmup, Warmup::Steady { .. }),
            is_measuring_a_cap: experiment.events.is_some(),
            search_runs: experiment
                .search
                .as_ref()
                .map(|search| CLOSED_LOOPS + runs_expected(search.resolution, search.runs_max)),
        }
    }

    /// Seconds from one run to the next, before any run has been timed.
    pub fn trial_seconds(&self) -> f64 {
        self.loaded_seconds() + RIG_SECONDS_GUESS
    }

    /// Longest time under load.
    pub fn loaded_seconds(&self) -> f64 {
        let one = self.seconds + self.warmup_seconds;
        one * f64::from(self.search_runs.unwrap_or(1))
    }

    /// Describes the load at `end_s` of a run's clock; `window_s` is the beginning of its measuring
    /// window, if it has begun.
    fn phase(&self, end_s: f64, window_s: Option<f64>) -> String {
        let at_most = |is_cap: bool| if is_cap { "at most " } else { "" };
        match window_s {
            Some(window_s) => format!(
                "measuring, second {:.0} of {}{:.0}",
                end_s - window_s,
                at_most(self.is_measuring_a_cap),
                self.seconds
            ),
            None => format!(
                "warming up, second {:.0} of {}{:.0}",
                // The load begins at the next whole second of the clock.
                end_s.min(self.warmup_seconds),
                at_most(self.is_warmup_a_cap),
                self.warmup_seconds
            ),
        }
    }
}

impl Count {
    pub fn new(lengths: Lengths, trials: usize) -> Count {
        let (began, last_ended) = (Instant::now(), Duration::ZERO);
        Count { done: 0, trials, lengths, began, last_ended, searching: None }
    }

    /// Describes the load at `end_s` of the current run's clock; `window_s` is the beginning of its
    /// measuring window, if it has begun.
    pub fn phase(&self, end_s: f64, window_s: Option<f64>) -> String {
        let Some(expected) = self.lengths.search_runs else {
            return self.lengths.phase(end_s, window_s);
        };
        let (runs, left) =
            self.searching.map_or((0, expected), |search| (search.runs, search.left));
        let run = runs + 1;
        format!(
            "searching for the rate that 95 % of windows meet: run {run} of about {}, second \
             {end_s:.0}",
            (runs + left).max(run)
        )
    }

    /// A run of the search in hand has ended.
    pub fn searched(&mut self, step: &SearchStep) {
        self.searched_after(step, self.began.elapsed());
    }

    fn searched_after(&mut self, step: &SearchStep, told: Duration) {
        let (runs, left) = (step.runs, step.runs_left);
        self.searching = Some(Searching { runs, left, told });
    }

    /// Counts a run.
    pub fn ended(&mut self) {
        self.ended_after(self.began.elapsed());
    }

    fn ended_after(&mut self, elapsed: Duration) {
        self.done += 1;
        self.last_ended = elapsed;
        self.searching = None;
    }

    /// Estimated time left: from the timed runs, or from the plan before the first has ended.
    pub fn seconds_left(&self) -> f64 {
        self.seconds_left_after(self.began.elapsed())
    }

    fn seconds_left_after(&self, elapsed: Duration) -> f64 {
        let per_trial = match self.done {
            0 => self.lengths.trial_seconds(),
            done => self.last_ended.as_secs_f64() / done as f64,
        };
        let in_hand = elapsed.saturating_sub(self.last_ended).as_secs_f64();
        let behind_it = self.trials.saturating_sub(self.done + 1) as f64;
        // A run that takes longer than others does not predict the later ones.
        let of_this = match self.searching {
            Some(searching) => {
                let since_told = elapsed.saturating_sub(searching.told).as_secs_f64();
                (self.search_seconds_left(&searching) - since_told).max(0.0)
            }
            None => (per_trial - in_hand).max(0.0),
        };
        match self.done < self.trials {
            true => of_this + per_trial * behind_it,
            false => 0.0,
        }
    }

    /// Time left for a search when its last run ended, by the mean length of its runs.
    fn search_seconds_left(&self, searching: &Searching) -> f64 {
        let took_s = searching.told.saturating_sub(self.last_ended).as_secs_f64();
        took_s * f64::from(searching.left) / f64::from(searching.runs.max(1))
    }

    /// Share of all runs that is done, from 0 to 1, after `trial_s` seconds of load in the current
    /// run.
    pub fn share(&self, trial_s: f64) -> f64 {
        let of_trial = match self.searching {
            Some(Searching { runs, left, .. }) => f64::from(runs) / f64::from((runs + left).max(1)),
            None => (trial_s / self.lengths.loaded_seconds()).clamp(0.0, 1.0),
        };
        let of_trial = if of_trial.is_nan() { 0.0 } else { of_trial };
        ((self.done as f64 + of_trial) / self.trials.max(1) as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use assay_load::capacity::{Purpose, Tried};

    use super::*;

    const LENGTHS: Lengths = Lengths {
        seconds: 60.0,
        warmup_seconds: 30.0,
        is_warmup_a_cap: true,
        is_measuring_a_cap: false,
        search_runs: None,
    };

    #[test]
    fn time_left_is_the_plans_until_a_trial_was_timed() {
        let mut count = Count::new(LENGTHS, 4);
        assert_eq!(count.seconds_left_after(Duration::from_secs(10)), 4.0 * 96.0 - 10.0);
        count.ended_after(Duration::from_secs(50));
        assert_eq!(count.seconds_left_after(Duration::from_secs(50)), 150.0);
        assert_eq!(count.seconds_left_after(Duration::from_secs(80)), 120.0, "it only falls");
        assert_eq!(count.seconds_left_after(Duration::from_secs(500)), 100.0);
        assert_eq!(count.share(45.0), 0.375);
        (0..3).for_each(|_| count.ended_after(Duration::from_secs(210)));
        assert_eq!(count.seconds_left_after(Duration::from_secs(210)), 0.0);
        assert_eq!(count.share(90.0), 1.0);
    }

    #[test]
    fn a_search_is_as_long_as_its_runs_say() {
        let lengths = Lengths { search_runs: Some(20), ..LENGTHS };
        let mut count = Count::new(lengths, 2);
        assert_eq!(count.seconds_left_after(Duration::ZERO), 2.0 * (20.0 * 90.0 + 6.0));
        let text = "searching for the rate that 95 % of windows meet: \
                    run 1 of about 20, second 80";
        assert_eq!(count.phase(80.0, Some(30.0)), text);
        let tried = Tried {
            purpose: Purpose::Probe,
            rate: 100.0,
            achieved: 100.0,
            latency_ms: 1.0,
            is_met: true,
        };
        let step = |runs, runs_left| SearchStep { tried, runs, runs_left };
        count.searched_after(&step(4, 12), Duration::from_secs(400));
        assert_eq!(count.seconds_left_after(Duration::from_secs(450)), 1150.0 + 1806.0);
        assert_eq!(count.share(450.0), 0.125);
        let text = "searching for the rate that 95 % of windows meet: \
                    run 5 of about 16, second 401";
        assert_eq!(count.phase(401.0, None), text);
        count.searched_after(&step(16, 0), Duration::from_secs(1600));
        let text = "searching for the rate that 95 % of windows meet: \
                    run 17 of about 17, second 1601";
        assert_eq!(count.phase(1601.0, None), text);
        count.ended_after(Duration::from_secs(1600));
        assert_eq!(count.seconds_left_after(Duration::from_secs(1600)), 1600.0);
    }

    #[test]
    fn a_phase_is_counted_from_its_own_beginning() {
        assert_eq!(LENGTHS.phase(3.0, None), "warming up, second 3 of at most 30");
        assert_eq!(LENGTHS.phase(14.0, Some(12.0)), "measuring, second 2 of 60");
    }
}
