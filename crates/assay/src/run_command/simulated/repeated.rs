//! Runs that are made again: failed and incomparable ones on request, and those that the machine
//! disturbed without one.

use assay_study::{Outcome, RunState, Warning};

use super::site::{done, failed};
use super::{PLAN, RUN, World};

fn run_with(world: &World, flag: &str) -> super::Ended {
    world.run(&[&RUN[..], &[flag]].concat())
}

/// A run during which the machine slept.
fn stopped(length_s: f64) -> Outcome {
    Outcome { warnings: vec![Warning::Stopped { length_s }], ..done(50.0) }
}

#[test]
fn a_run_that_fails_costs_no_other_and_is_made_again_if_asked() {
    let world = World::playing(|run| match (run.position, run.attempt) {
        (2, 1) => failed("the server ended with signal 9"),
        _ => done(90.0),
    });
    let first = world.run(&RUN);
    assert_eq!(first.code, Some(2), "{first:?}");
    let line = first.stderr.lines().find(|line| line.starts_with("[2/4] ")).unwrap();
    assert!(line.contains("repeat 1: FAILED: the server ended with signal 9 ("), "{line}");
    let says = "1 of 4 runs failed; the report says why, --retry-failed runs them again";
    assert!(first.last().ends_with(says), "{first:?}");
    assert_eq!(world.states(), [RunState::Done, RunState::Failed, RunState::Done, RunState::Done]);
    assert_eq!(world.trials()[1].reason.as_deref(), Some("the server ended with signal 9"));
    assert!(super::read(&world.path("study/report.html")).contains("ended with signal 9"));

    let unasked = world.run(&RUN);
    assert_eq!((unasked.code, unasked.stdout.starts_with("nothing to do\n")), (Some(2), true));
    assert!(unasked.last().ends_with(says), "{unasked:?}");
    assert_eq!(run_with(&world, "--retry-flagged").code, Some(2), "it is not flagged");
    assert_eq!(world.attempts().len(), 4);

    let again = run_with(&world, "--retry-failed");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stderr.contains("[1/1] "), "{again:?}");
    assert_eq!(world.attempts()[4..], [2]);
    assert_eq!(world.states(), [RunState::Done; 4]);
}

#[test]
fn a_run_that_may_not_be_compared_is_named_and_made_again_if_asked() {
    let world = World::playing(|run| match (run.position, run.attempt) {
        (3, 1) => stopped(2.5),
        _ => done(90.0),
    });
    let first = world.run(&RUN);
    assert_eq!(first.code, Some(0), "it is a result: {first:?}");
    let line = first.stderr.lines().find(|line| line.starts_with("[3/4] ")).unwrap();
    assert!(line.contains("50.0 tps, p99 3.00 ms, not comparable: "), "{line}");
    assert_eq!(first.stderr.matches("not comparable: ").count(), 1, "{first:?}");
    let hint = "1 of 4 runs are not comparable because the machine disturbed them; once it is \
                quieter, run the same command with --retry-flagged to repeat them";
    assert_eq!(first.last(), hint);
    assert_eq!(world.states(), [RunState::Done; 4]);

    assert_eq!(run_with(&world, "--retry-failed").last(), hint, "it did not fail");
    assert_eq!(world.attempts().len(), 4);
    let again = run_with(&world, "--retry-flagged");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(!again.stderr.contains("not comparable"), "{again:?}");
    assert_eq!(world.attempts()[4..], [3, 4], "with the run that it is compared with");
    assert_eq!(run_with(&world, "--retry-flagged").stdout.lines().next(), Some("nothing to do"));
}

#[test]
fn a_run_that_the_machine_spoilt_is_repeated_beside_what_it_is_compared_with() {
    let world = World::playing(|run| match (run.position, run.attempt) {
        (1, 1) | (4, 1) => stopped(2.0),
        (6, 1) => failed("the server ended"),
        (7, 1) => Outcome { warnings: vec![Warning::NotSettled], ..done(90.0) },
        (8, 1..=2) => stopped(2.0),
        _ => done(90.0),
    });
    world.write("plan.toml", &PLAN.replace("extra_runs = 0", "extra_runs = 4\nrepeats = 2"));
    let ended = world.run(&RUN);
    assert_eq!(ended.code, Some(2), "one failed: {ended:?}");
    // Runs 1 to 4 are the first repeat; 1 is compared with 2, and 3 with 4. A run that fails or has
    // not settled is not repeated. For run 8, run 7 would have to be made again: one too many.
    assert_eq!(world.attempts(), [1, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8]);
    let repeated: Vec<&str> =
        ended.stderr.lines().filter(|line| line.contains(": repeated later")).collect();
    let told = [
        ("[1/9] ", "repeated later, ", "3 more runs"),
        ("[3/11] ", "repeated later with the run that it is compared with, ", "1 more run"),
    ];
    assert_eq!(repeated.len(), told.len(), "{ended:?}");
    for (line, (begin, with, left)) in repeated.iter().zip(told) {
        assert!(line.starts_with(begin) && line.contains(with), "{line}");
        assert!(line.contains(&format!(", {left} may be repeated)")), "{line}");
    }
    assert!(ended.stderr.contains("[11/11] "), "{ended:?}");
    let trials = world.trials();
    assert_eq!(trials[0].warnings, []);
    assert_eq!(trials[7].warnings, [Warning::Stopped { length_s: 2.0 }], "kept as it was");
    let discarded = world.study().discarded;
    let because: Vec<bool> = discarded.iter().map(|one| one.because_of.is_some()).collect();
    assert_eq!(because, [false, false, true]);
}

#[test]
fn extra_runs_that_were_made_count_when_the_study_is_resumed() {
    let world = World::playing(|run| match (run.position, run.attempt) {
        (1, 1) | (3, 1) => stopped(2.0),
        (4, 1) => {
            run.wait_for("never");
            failed("interrupted")
        }
        _ => done(90.0),
    });
    world.write("plan.toml", &PLAN.replace("extra_runs = 0", "extra_runs = 1"));
    let mut killed = world.start(&RUN);
    world.wait_for_attempts(3);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let ended = world.run(&RUN);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains("repeated later"), "the one extra run is used: {ended:?}");
    let mut attempts = world.attempts();
    attempts.sort_unstable();
    assert_eq!(attempts, [1, 1, 2, 3, 4, 4]);
}
