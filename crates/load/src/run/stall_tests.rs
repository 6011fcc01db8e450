use super::*;
use crate::fake::{FakeServer, load};
use crate::mode::Mode;
use crate::outcome::Second;
use crate::recipe::Recipe;
use crate::schedule::{Arrivals, Pace};
use crate::schema::Schema;
use crate::workload::Workload;

/// A server that stops answering at the statement numbered `first`, until the last second of the
/// window was reported.
#[derive(Clone, Default)]
struct Stall(Arc<AtomicBool>);

impl Stall {
    fn server(&self, first: usize) -> FakeServer {
        let stall = self.clone();
        let holds = move |number| number >= first && !stall.0.load(Ordering::Relaxed);
        FakeServer::new(Duration::ZERO).that_holds(holds)
    }
}

impl LoadObserver for Stall {
    fn second(&self, second: &Second) {
        if second.end_s >= 1.0 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// One second of point selects; the statement numbered `stalled` gets no answer.
fn second_of_load(mode: Mode, pace: Pace, stalled: usize) -> LoadOutcome {
    let stall = Stall::default();
    let workload = Workload { recipe: Recipe::OltpPointSelect, mode, ..Workload::default() };
    let schedule = Schedule { threads: 8, seconds: 1.0, pace, ..Schedule::default() };
    let (schema, stop) = (Schema::default(), AtomicBool::new(false));
    let server = stall.server(stalled);
    run_on(&server, &load(&schema, &workload, &schedule), Start::AtOnce, &stall, &stop).unwrap()
}

const RATE: Pace = Pace::Rate { per_second: 200.0, arrivals: Arrivals::Even };

#[test]
fn a_stall_at_the_windows_end_is_told_with_all_that_was_planned_meanwhile() {
    let outcome = second_of_load(Mode::Strict, RATE, 100);
    assert!(outcome.events <= 99, "{}", outcome.events);
    assert_eq!(outcome.events + outcome.unfinished.events, 200, "all that was planned in a second");
    // The hundredth was planned for 495 ms.
    assert!(outcome.unfinished.wait_ms_max >= 504.9, "{:?}", outcome.unfinished);
    let longest_ms = outcome.latency_of("transaction").unwrap().response.latency_ms_max;
    assert!(longest_ms < 504.9, "the histogram does not show it");
    assert_eq!(outcome.hidden_wait(), Some(outcome.unfinished));
    assert!(outcome.unfinished_percent() >= 50.5, "{}", outcome.unfinished_percent());
}

#[test]
fn without_a_stall_nothing_is_told() {
    let outcome = second_of_load(Mode::Strict, RATE, usize::MAX);
    assert_eq!(outcome.events + outcome.unfinished.events, 200);
    assert_eq!(outcome.hidden_wait(), None, "{:?}", outcome.unfinished);
}

#[test]
fn in_closed_loop_what_each_thread_has_in_hand_is_unfinished() {
    let outcome = second_of_load(Mode::Strict, Pace::Closed, 100);
    assert_eq!((outcome.events, outcome.unfinished.events, outcome.events_late), (99, 8, 8));
    assert_eq!(outcome.hidden_wait(), Some(outcome.unfinished));
}

#[test]
fn sysbenchs_window_ends_with_the_events_in_hand_and_leaves_only_those_not_begun() {
    let closed = second_of_load(Mode::Compat, Pace::Closed, 100);
    assert_eq!((closed.events, closed.unfinished.events), (107, 0));
    let open = second_of_load(Mode::Compat, RATE, 100);
    assert_eq!((open.events, open.unfinished.events), (107, 93));
}

#[test]
fn a_run_that_ends_by_its_number_of_events_leaves_none_behind() {
    let workload = Workload { recipe: Recipe::OltpPointSelect, ..Workload::default() };
    let schedule =
        Schedule { threads: 4, events: 50, seconds: 0.0, pace: RATE, ..Schedule::default() };
    let (server, schema) = (FakeServer::new(Duration::ZERO), Schema::default());
    let stop = AtomicBool::new(false);
    let outcome =
        run_on(&server, &load(&schema, &workload, &schedule), Start::AtOnce, &(), &stop).unwrap();
    assert_eq!((outcome.events, outcome.unfinished.events), (50, 0));
}
