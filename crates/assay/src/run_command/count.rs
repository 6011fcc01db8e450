//! How far a run is: runs, seconds, and the time left.

use std::time::{Duration, Instant};

use assay_plan::Plan;

/// What bringing a rig up and down takes on a small machine, in seconds, until runs have been timed.
const RIG_SECONDS_GUESS: f64 = 6.0;

/// What a search takes in runs, until searches have been timed.
const SEARCH_RUNS_GUESS: f64 = 30.0;

/// How long runs of a plan are, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Of measuring.
    pub seconds: f64,
    /// Of warming up before.
    pub warmup_seconds: f64,
    /// Whether warming up may end sooner.
    pub is_warmup_a_cap: bool,
    /// Whether measuring may end sooner.
    pub is_measuring_a_cap: bool,
    /// Whether each is a search for the highest rate within the plan's objective, which warms up and measures many times.
    pub is_search: bool,
}

/// Runs done, runs to do, and when that began.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    /// Runs that have ended.
    pub done: usize,
    /// Runs to make, those done included.
    pub trials: usize,
    /// How long they are.
    pub lengths: Lengths,
    began: Instant,
    /// When the last of those done ended, from the beginning.
    last_ended: Duration,
}

impl Lengths {
    /// Of a plan's runs.
    pub fn of(plan: &Plan) -> Lengths {
        Lengths {
            seconds: plan.seconds,
            warmup_seconds: plan.warmup_seconds,
            is_warmup_a_cap: plan.warmup_until_steady,
            is_measuring_a_cap: plan.events.is_some(),
            is_search: plan.objective.is_some(),
        }
    }

    /// Seconds from one run to the next, before any has been timed.
    pub fn trial_seconds(&self) -> f64 {
        self.loaded_seconds() + RIG_SECONDS_GUESS
    }

    /// Seconds under load, at most.
    pub fn loaded_seconds(&self) -> f64 {
        let one = self.seconds + self.warmup_seconds;
        if self.is_search { one * SEARCH_RUNS_GUESS } else { one }
    }

    /// What is being done at a second of a run's clock whose measuring window began at `window_s`, if it has.
    pub fn phase(&self, end_s: f64, window_s: Option<f64>) -> String {
        let at_most = |is_cap: bool| if is_cap { "at most " } else { "" };
        if self.is_search {
            return format!("searching for the highest rate, second {end_s:.0}");
        }
        match window_s {
            Some(window_s) => format!(
                "measuring, second {:.0} of {}{:.0}",
                end_s - window_s,
                at_most(self.is_measuring_a_cap),
                self.seconds
            ),
            None => format!(
                "warming up, second {:.0} of {}{:.0}",
                // The load begins on the next whole second of the clock.
                end_s.min(self.warmup_seconds),
                at_most(self.is_warmup_a_cap),
                self.warmup_seconds
            ),
        }
    }
}

impl Count {
    /// Of so many runs, none done.
    pub fn new(lengths: Lengths, trials: usize) -> Count {
        Count { done: 0, trials, lengths, began: Instant::now(), last_ended: Duration::ZERO }
    }

    /// A run has ended.
    pub fn ended(&mut self) {
        self.ended_after(self.began.elapsed());
    }

    fn ended_after(&mut self, elapsed: Duration) {
        self.done += 1;
        self.last_ended = elapsed;
    }

    /// From the runs timed so far, or from the plan before the first has ended.
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
        match self.done < self.trials {
            // One that takes longer than others says nothing of those behind it.
            true => (per_trial - in_hand).max(0.0) + per_trial * behind_it,
            false => 0.0,
        }
    }

    /// What part of all runs is done, of 1, when the one in hand has been under load for so many seconds.
    pub fn share(&self, trial_s: f64) -> f64 {
        let of_trial = (trial_s / self.lengths.loaded_seconds()).clamp(0.0, 1.0);
        let of_trial = if of_trial.is_nan() { 0.0 } else { of_trial };
        ((self.done as f64 + of_trial) / self.trials.max(1) as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: Lengths = Lengths {
        seconds: 60.0,
        warmup_seconds: 30.0,
        is_warmup_a_cap: true,
        is_measuring_a_cap: false,
        is_search: false,
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
    fn a_phase_is_counted_from_its_own_beginning() {
        assert_eq!(LENGTHS.phase(3.0, None), "warming up, second 3 of at most 30");
        assert_eq!(LENGTHS.phase(14.0, Some(12.0)), "measuring, second 2 of 60");
    }
}
