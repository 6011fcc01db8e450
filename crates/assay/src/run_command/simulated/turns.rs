//! Runs that take turns are begun, kept, discarded and resumed together.

use assay_study::{Outcome, RunState, Warning};

use super::site::{done, failed};
use super::{RUN, World};

/// Two configurations, two thread counts: two starts of two runs.
const PLAN: &str = r#"
title = "turns"
design = "switchback"
noise_floor = false
extra_runs = 2
threads = [1, 2]
seconds = 4
[data]
table_size = 2000
[rig]
kind = "directory"
[workloads.reads]
recipe = "oltp_read_only"
[configs.small.settings]
innodb_buffer_pool_size = "32M"
[configs.large.settings]
innodb_buffer_pool_size = "64M"
"#;

#[test]
fn a_start_that_the_machine_disturbed_is_made_again_as_a_whole() {
    let world = World::playing(|run| match (run.position, run.attempt) {
        (2, 1) => {
            let warnings = vec![Warning::Stopped { length_s: 2.0 }];
            Outcome { warnings, ..done(50.0) }
        }
        _ => done(90.0),
    });
    world.write("plan.toml", PLAN);
    let ended = world.run(&RUN);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(world.attempts(), [1, 2, 3, 4, 1, 2]);
    assert!(ended.stderr.contains("repeated later with the run that it is compared with"));
    let discarded = world.study().discarded;
    let because: Vec<bool> = discarded.iter().map(|one| one.because_of.is_some()).collect();
    assert_eq!(because, [false, true]);
    assert_eq!(world.states(), [RunState::Done; 4]);
}

#[test]
fn a_start_that_was_interrupted_is_made_again_as_a_whole() {
    let world = World::playing(|run| match (run.position, run.attempt) {
        (4, 1) => {
            run.wait_for("never");
            failed("interrupted")
        }
        _ => done(90.0),
    });
    world.write("plan.toml", PLAN);
    let mut killed = world.start(&RUN);
    world.wait_for_attempts(4);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let ended = world.run(&RUN);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(world.attempts(), [1, 2, 3, 4, 3, 4]);
    assert_eq!(world.states(), [RunState::Done; 4]);
}

#[test]
fn a_side_that_fails_takes_no_other_with_it() {
    let world = World::playing(|run| match (run.position, run.attempt) {
        (1, 1) => failed("the server ended with signal 9"),
        _ => done(90.0),
    });
    world.write("plan.toml", PLAN);
    assert_eq!(world.run(&RUN).code, Some(2));
    assert_eq!(world.states()[..2], [RunState::Failed, RunState::Done]);
    let again = world.run(&[&RUN[..], &["--retry-failed"]].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(world.attempts()[4..], [1, 2], "both sides of the start");
}
