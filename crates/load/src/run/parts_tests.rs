//! Parts of a load that start together, each on a fake server of its own.

use std::collections::BTreeSet;
use std::sync::Barrier;

use super::*;
use crate::fake::{FakeServer, load};
use crate::mode::Mode;
use crate::part::LoadPart;
use crate::recipe::Recipe;
use crate::schedule::{Arrivals, Pace};
use crate::schema::Schema;
use crate::together::together;
use crate::workload::Workload;

/// Starts all parts shortly after the last of them is ready.
struct Meeting {
    all: Barrier,
    begin: std::sync::OnceLock<Instant>,
}

impl Meeting {
    fn of(parts: u32) -> Meeting {
        Meeting { all: Barrier::new(parts as usize), begin: std::sync::OnceLock::new() }
    }
}

impl Rendezvous for Meeting {
    fn meet(&self) -> Option<Instant> {
        self.all.wait();
        Some(*self.begin.get_or_init(|| Instant::now() + Duration::from_millis(50)))
    }
}

struct CalledOff<'a>(&'a AtomicBool);

impl Rendezvous for CalledOff<'_> {
    fn meet(&self) -> Option<Instant> {
        self.0.store(true, Ordering::Relaxed);
        None
    }
}

fn workload(recipe: Recipe) -> Workload {
    Workload { recipe, mode: Mode::Strict, ..Workload::default() }
}

/// Runs all parts concurrently. Returns each outcome, and its server's log.
fn run_parts(of: u32, recipe: Recipe, schedule: &Schedule) -> Vec<(LoadOutcome, Vec<String>)> {
    let meeting = Meeting::of(of);
    let (schema, stop) = (Schema::default(), AtomicBool::new(false));
    let part = |number| {
        let server = FakeServer::new(Duration::from_micros(100));
        let schedule = Schedule { part: LoadPart { number, of }, ..schedule.clone() };
        let start = Start::Together(&meeting);
        let workload = workload(recipe);
        let outcome = run_on(&server, &load(&schema, &workload, &schedule), start, &(), &stop);
        (outcome.unwrap(), server.log())
    };
    thread::scope(|scope| {
        let parts: Vec<_> = (0..of).map(|number| scope.spawn(move || part(number))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    })
}

fn outcomes(parts: &[(LoadOutcome, Vec<String>)]) -> Vec<LoadOutcome> {
    parts.iter().map(|(outcome, _)| outcome.clone()).collect()
}

#[test]
fn parts_do_together_what_was_asked_of_the_whole() {
    let schedule = Schedule { threads: 5, events: 103, seconds: 0.0, ..Schedule::default() };
    let parts = run_parts(3, Recipe::OltpReadWrite, &schedule);
    let all = together(&outcomes(&parts)).unwrap();
    assert_eq!((all.events, all.queries.total(), all.threads.len()), (103, 103 * 20, 5));
    assert_eq!(all.latency_of("transaction").unwrap().response.count, 103);
    assert_eq!(all.schedule, schedule);
    let (_, statements): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let events: usize =
        statements.iter().flatten().filter(|text| text.as_str() == "COMMIT").count();
    assert_eq!(events, 103, "what is summed is what the servers saw");
}

#[test]
fn no_two_parts_draw_the_same_and_no_number_is_given_twice() {
    let schedule = Schedule { threads: 2, events: 400, seconds: 0.0, ..Schedule::default() };
    let parts = run_parts(2, Recipe::OltpPointSelect, &schedule);
    let texts = |place: usize| -> Vec<&String> { parts[place].1.iter().take(100).collect() };
    assert_ne!(texts(0), texts(1));

    let schema = Schema { auto_inc: false, ..Schema::default() };
    let meeting = Meeting::of(2);
    let stop = AtomicBool::new(false);
    let inserted = |number| {
        let server = FakeServer::new(Duration::ZERO);
        let schedule = Schedule { part: LoadPart { number, of: 2 }, ..schedule.clone() };
        let (start, workload) = (Start::Together(&meeting), workload(Recipe::OltpInsert));
        run_on(&server, &load(&schema, &workload, &schedule), start, &(), &stop).unwrap();
        let inserts = server.log().into_iter().filter(|text| text.starts_with("INSERT"));
        inserts
            .map(|text| {
                text.split("VALUES (").nth(1).unwrap().split(',').next().unwrap().to_owned()
            })
            .collect::<Vec<String>>()
    };
    let (a, b) = thread::scope(|scope| {
        let (a, b) = (scope.spawn(|| inserted(0)), scope.spawn(|| inserted(1)));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!((a.len(), b.len()), (200, 200));
    assert_eq!(a.iter().chain(&b).collect::<BTreeSet<_>>().len(), 400);
}

#[test]
fn parts_begin_together_and_have_one_window_and_the_whole_rate() {
    let pace = Pace::Rate { per_second: 400.0, arrivals: Arrivals::Even };
    let schedule = Schedule { threads: 4, seconds: 1.0, pace, ..Schedule::default() };
    let parts = outcomes(&run_parts(2, Recipe::OltpPointSelect, &schedule));
    for part in &parts {
        assert_eq!((part.measure_start_s, part.measure_end_s), (0.0, 1.0));
        assert_eq!((part.rate_target, part.schedule.threads), (Some(200.0), 2));
    }
    let all = together(&parts).unwrap();
    assert_eq!((all.rate_target, all.schedule), (Some(400.0), schedule));
    assert_eq!(all.events + all.unfinished.events, 400);
}

#[test]
fn what_is_called_off_does_nothing() {
    let server = FakeServer::new(Duration::ZERO);
    let stop = AtomicBool::new(false);
    let schedule = Schedule { threads: 3, seconds: 600.0, ..Schedule::default() };
    let (start, schema) = (Start::Together(&CalledOff(&stop)), Schema::default());
    let workload = workload(Recipe::OltpPointSelect);
    let outcome = run_on(&server, &load(&schema, &workload, &schedule), start, &(), &stop).unwrap();
    assert!(outcome.interrupted && outcome.events == 0, "{outcome:?}");
    let sent: Vec<String> = server.log();
    let is_before = |text: &String| text == "connect" || text.starts_with("prepare ");
    assert!(sent.iter().all(is_before), "{sent:?}");
}
