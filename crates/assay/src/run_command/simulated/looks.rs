//! Tests studies that may end after some of their repeats.

use assay_study::{Outcome, RunState, Warning};

use super::site::done;
use super::{PLAN, RUN, World};

fn with_looks() -> String {
    PLAN.replace("extra_runs = 0", "extra_runs = 0\nrepeats = { at_most = 5, looks = [2, 3, 5] }")
}

#[test]
fn a_study_ends_after_the_look_that_decides_it_and_stays_ended() {
    // Twice the throughput, to a thousandth: two repeats decide that.
    let world = World::playing(|run| {
        let level = if run.key.config == "on" { 100.0 } else { 200.0 };
        done(level + f64::from(run.key.repeat) * 0.001)
    });
    world.write("plan.toml", &with_looks());
    let ended = world.run(&RUN);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(world.attempts().len(), 8, "two repeats of four runs");
    assert!(ended.stderr.contains("decided after 2 repeats (12 runs not needed)"), "{ended:?}");
    assert_eq!(world.states(), [RunState::Done; 8], "the others are not waited for");
    let [look] = &world.study().looks[..] else { panic!("{:?}", world.study().looks) };
    assert!((look.repeats, look.is_planned) == (2, true) && look.alpha < 0.01, "{look:?}");
    let again = world.run(&RUN);
    assert_eq!((again.code, again.stdout.starts_with("nothing to do\n")), (Some(0), true));
    assert_eq!(world.attempts().len(), 8);
}

#[test]
fn a_study_that_no_look_decides_runs_to_its_end() {
    // The sides change places from repeat to repeat, whatever the order of the runs.
    let world = World::playing(|run| {
        let is_up = (run.key.config == "on") == run.key.repeat.is_multiple_of(2);
        done(if is_up { 140.0 } else { 100.0 })
    });
    world.write("plan.toml", &with_looks());
    let ended = world.run(&RUN);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(world.attempts().len(), 20, "{ended:?}");
    assert!(!ended.stderr.contains("not needed"), "{ended:?}");
}

#[test]
fn a_question_whose_runs_may_not_be_compared_keeps_the_study_open() {
    let world = World::playing(|run| {
        let is_base = run.key.config == "on";
        let stall = Warning::ModelStall { length_s: 1.0 };
        let warnings = if is_base { vec![stall] } else { Vec::new() };
        Outcome { warnings, ..done(if is_base { 100.0 } else { 200.0 }) }
    });
    let question = "[[compare]]\nconfig = \"off\"\nagainst = \"on\"\n";
    world.write("plan.toml", &format!("{}{question}", with_looks()));
    let ended = world.run(&RUN);
    assert!(!ended.stderr.contains("not needed"), "{ended:?}");
    assert_eq!(world.attempts().len(), 20, "{ended:?}");
}
