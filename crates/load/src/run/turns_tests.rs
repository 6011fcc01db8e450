//! Loads that take turns, each on a fake server of its own.

use std::sync::{Barrier, OnceLock};

use parking_lot::Mutex;

use super::*;
use crate::fake::{FakeServer, load};
use crate::mode::Mode;
use crate::outcome::Second;
use crate::recipe::Recipe;
use crate::schedule::Warmup;
use crate::schema::Schema;
use crate::turns::{GUARD_NS, Turns};
use crate::workload::Workload;

/// A clock that all sides start on, in its second 1.
struct Clocked {
    all: Barrier,
    origin: OnceLock<Instant>,
}

impl Rendezvous for Clocked {
    fn meet(&self) -> Option<Instant> {
        self.all.wait();
        Some(*self.origin.get_or_init(Instant::now))
    }

    fn start_s(&self) -> Option<u64> {
        Some(1)
    }
}

/// Instants at which statements were sent, from the first look of any side.
type Sent = Mutex<Vec<Instant>>;

/// Notes seconds.
#[derive(Default)]
struct Seconds(Mutex<Vec<Second>>);

impl LoadObserver for Seconds {
    fn second(&self, second: &Second) {
        self.0.lock().push(second.clone());
    }
}

struct Side {
    outcome: LoadOutcome,
    seconds: Vec<Second>,
    /// Ends of statements, in s of the shared clock.
    ends_s: Vec<f64>,
}

/// Runs sides whose servers take so long for a statement.
fn run_sides(services: &[Duration], warmup_s: f64, seconds: f64) -> Vec<Side> {
    let clock = Clocked { all: Barrier::new(services.len()), origin: OnceLock::new() };
    let (schema, stop) = (Schema::default(), AtomicBool::new(false));
    let of = services.len() as u32;
    let side = |number: u32, service: Duration| {
        let sent: Arc<Sent> = Arc::default();
        let noted = Arc::clone(&sent);
        let server = FakeServer::answering(service, move |_, _| {
            noted.lock().push(Instant::now());
            None
        });
        let schedule = Schedule {
            threads: 2,
            seconds,
            warmup: Warmup::Seconds(warmup_s),
            turns: (of > 1).then_some(Turns { side: number, of }),
            ..Schedule::default()
        };
        let recipe = Recipe::OltpPointSelect;
        let workload = Workload { recipe, mode: Mode::Strict, ..Workload::default() };
        let observer = Seconds::default();
        let start = Start::Together(&clock);
        let outcome =
            run_on(&server, &load(&schema, &workload, &schedule), start, &observer, &stop).unwrap();
        let origin = *clock.origin.get().unwrap();
        let ends_s = sent.lock().iter().map(|end| (*end - origin).as_secs_f64()).collect();
        Side { outcome, seconds: observer.0.into_inner(), ends_s }
    };
    thread::scope(|scope| {
        let each = services.iter().zip(0..);
        let sides: Vec<_> =
            each.map(|(service, number)| scope.spawn(move || side(number, *service))).collect();
        sides.into_iter().map(|side| side.join().unwrap()).collect()
    })
}

/// A statement of this length: long enough that the fake server is no bottleneck.
const SERVICE: Duration = Duration::from_millis(10);

#[test]
fn sides_send_in_their_own_turns_and_what_counts_is_exact() {
    let sides = run_sides(&[SERVICE, SERVICE], 2.0, 4.0);
    for (number, side) in (0..).zip(&sides) {
        let turns = Turns { side: number, of: 2 };
        // The load begins at second 1, and the warm-up takes four.
        let window_ns = 5 * SECOND_NS;
        assert_eq!((side.outcome.measure_start_s, side.outcome.measure_end_s), (5.0, 13.0));
        let guards = if number == 0 { 2.0 } else { 1.0 } * GUARD_NS as f64 / 1e9;
        assert!((side.outcome.elapsed_s - (4.0 - guards)).abs() < 1e-9);
        // An event in flight ends at most its own length into the next turn; a busy machine adds
        // to that.
        let slack_s = SERVICE.as_secs_f64() + 0.05;
        for end_s in &side.ends_s {
            let began_ns = ((end_s - slack_s) * 1e9) as u64;
            let is_own = |ns: u64| turns.next(ns, window_ns) == ns;
            assert!(is_own(began_ns) || is_own((end_s * 1e9) as u64), "{number}: {end_s}");
        }
        let counted = side.ends_s.iter().filter(|s| {
            let ns = (**s * 1e9) as u64;
            (window_ns..window_ns + 8 * SECOND_NS).contains(&ns) && turns.counts(ns, window_ns)
        });
        // An end is noted a moment before the worker reads its clock.
        assert!((counted.count() as u64).abs_diff(side.outcome.events) <= 8);
        let outcome = &side.outcome;
        assert!((outcome.tps - outcome.events as f64 / outcome.elapsed_s).abs() < 1e-9);
        assert!(outcome.events_between > 0 && outcome.events_warmup > 0);
        assert_eq!(outcome.latency_of("transaction").unwrap().response.count, outcome.events);
        let idle = side.seconds.iter().filter(|one| {
            !turns.has_second(one.end_s as i64 - 5) && one.events > 2 // the events in flight
        });
        assert_eq!(idle.count(), 0, "{:?}", side.seconds);
        assert!(outcome.client_cpu_s.is_some_and(|cpu| cpu < 2.0), "sleeping, not spinning");
    }
}

/// Negative control: the rates of both sides in turns, and of each by itself.
#[test]
fn turns_measure_the_rate_that_a_load_alone_has() {
    let services = [Duration::from_millis(8), Duration::from_millis(16)];
    let (in_turns, alone) = thread::scope(|scope| {
        let alone = services.map(|service| scope.spawn(move || run_sides(&[service], 0.0, 4.0)));
        (run_sides(&services, 0.0, 4.0), alone.map(|one| one.join().unwrap().remove(0).outcome))
    });
    for (side, alone) in in_turns.iter().zip(alone) {
        assert_eq!(alone.elapsed_s, 4.0);
        assert_eq!(alone.events_between, 0);
        let ratio = side.outcome.tps / alone.tps;
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }
    let ratio = in_turns[0].outcome.tps / in_turns[1].outcome.tps;
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
}

#[test]
fn an_event_that_outlasts_its_turn_is_told_as_waiting() {
    let clock = Clocked { all: Barrier::new(1), origin: OnceLock::new() };
    // The side's second turn begins with statement 200 or so; one of its last in the first turn is
    // held for a second, far into the other's turn.
    let held_until: Arc<OnceLock<Instant>> = Arc::default();
    let server = FakeServer::new(SERVICE).that_holds(move |number| {
        let until =
            if number == 180 { Some(Instant::now() + Duration::from_secs(1)) } else { None };
        if let Some(until) = until {
            let _ = held_until.set(until);
        }
        number == 180 && held_until.get().is_some_and(|until| Instant::now() < *until)
    });
    let schedule = Schedule {
        threads: 1,
        seconds: 4.0,
        turns: Some(Turns { side: 0, of: 2 }),
        ..Schedule::default()
    };
    let workload = Workload { recipe: Recipe::OltpPointSelect, ..Workload::default() };
    let stop = AtomicBool::new(false);
    let spec = load(&Schema::default(), &workload, &schedule);
    let outcome = run_on(&server, &spec, Start::Together(&clock), &(), &stop).unwrap();
    let hidden = outcome.hidden_wait().expect("it is in no percentile");
    // The other is in flight when the window ends.
    assert!((1..=2).contains(&hidden.events), "{hidden:?}");
    assert!((900.0..1500.0).contains(&hidden.wait_ms_max), "{hidden:?}");
}
