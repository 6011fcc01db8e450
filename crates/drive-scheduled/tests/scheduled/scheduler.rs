//! The choice of the thread that goes on at each lock, by a seed.
//!
//! A seed has its pace: the time for which a thread goes on before another does, and the rate at
//! which one rests for long, like a thread that lost its CPU, so that the others get far ahead of
//! it.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

use crate::common::random::Random;

/// Longest rest, in decisions, as a power of two: enough for garbage collection and checkpoints to
/// begin and end.
const LONGEST_REST: u64 = 16;

pub struct Paced {
    random: Random,
    /// Rate at which a thread goes on although another could, in percent.
    stays: u64,
    /// A thread rests at one decision in so many; zero: none does.
    rests_one_in: u64,
    resting: Vec<(TaskId, u64)>,
    decisions: u64,
    has_begun: bool,
}

impl Paced {
    pub fn new(seed: u64) -> Paced {
        let mut random = Random::new(!seed);
        Paced {
            stays: *random.pick(&[0, 50, 80, 95]),
            rests_one_in: *random.pick(&[0, 300, 1000, 3000]),
            random,
            resting: Vec::new(),
            decisions: 0,
            has_begun: false,
        }
    }

    /// Lets the thread rest now and then.
    fn rest_sometimes(&mut self, current: TaskId) {
        if self.rests_one_in > 0 && self.random.below(self.rests_one_in) == 0 {
            let longest = 1 << self.random.below(LONGEST_REST + 1);
            self.resting.push((current, self.decisions + longest));
        }
    }

    fn is_awake(&self, task: TaskId) -> bool {
        self.resting.iter().all(|(resting, _)| *resting != task)
    }
}

impl Scheduler for Paced {
    fn new_execution(&mut self) -> Option<Schedule> {
        // A seed is run once.
        (!std::mem::replace(&mut self.has_begun, true)).then(|| Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        if let [only] = runnable {
            return Some(only.id());
        }
        self.decisions += 1;
        let now = self.decisions;
        self.resting.retain(|(_, until)| *until > now);
        current.into_iter().for_each(|current| self.rest_sometimes(current));
        let awake = |task: &&&Task| self.is_awake(task.id());
        // If all runnable threads rest, one of them is woken.
        let number = match runnable.iter().filter(awake).count() as u64 {
            0 => return Some(self.random.pick(runnable).id()),
            number => number,
        };
        let goes_on = current.filter(|current| {
            !is_yielding
                && self.is_awake(*current)
                && runnable.iter().any(|task| task.id() == *current)
        });
        if goes_on.is_some() && self.random.chance(self.stays) {
            return goes_on;
        }
        let chosen = self.random.below(number) as usize;
        runnable.iter().filter(|task| self.is_awake(task.id())).nth(chosen).map(|task| task.id())
    }

    fn next_u64(&mut self) -> u64 {
        self.random.next()
    }
}
