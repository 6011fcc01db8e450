//! Resuming a study: finished runs are kept and the rest is made, however the last command
//! ended.

use assay_study::RunState;
use rustix::process::{Pid, Signal, kill_process};

use super::site::{done, failed};
use super::{RUN, World, ended};

const DRY: [&str; 5] = ["run", "plan.toml", "--out", "study", "--dry-run"];

#[test]
fn a_command_that_is_killed_costs_the_run_in_hand_alone() {
    let world = World::playing(|run| {
        if (run.position, run.attempt) == (2, 1) {
            run.hang_until("never");
        }
        done(90.0)
    });
    let mut killed = world.start(&RUN);
    world.wait_for_attempts(2);
    let beside = world.refused(&RUN);
    assert!(beside.contains("another assay is running in study; wait for it"), "{beside}");
    assert!(world.refused(&DRY).contains("another assay is running in study"), "nor looks it");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(world.states()[..2], [RunState::Done, RunState::Running]);
    let first = world.trials().remove(0);

    let dry = world.run(&DRY);
    assert!(dry.stderr.contains("a run that was killed left 1 resource behind"), "{dry:?}");
    assert!(dry.stdout.contains("\n3 of 4 runs, about "), "{dry:?}");
    let clean = world.run(&["clean"]);
    assert!(clean.stdout.contains("removed directory "), "{clean:?}");
    let left =
        std::fs::read_dir(world.path("study")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_str().unwrap().starts_with("assay-")));
    assert_eq!(world.run(&["clean"]).stdout, "nothing to clean\n");

    let again = world.run(&RUN);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stderr.contains("[3/3] "), "{again:?}");
    assert_eq!(world.attempts(), [1, 2, 2, 3, 4]);
    let trials = world.trials();
    assert!(trials.iter().all(|trial| trial.state == RunState::Done));
    assert_eq!(trials[0], first, "the finished run was not made again");
    assert!(world.path("study/report.html").is_file());
}

#[test]
fn ctrl_c_keeps_what_is_done_and_the_same_command_goes_on() {
    let world = World::playing(|run| {
        if (run.position, run.attempt) == (2, 1) {
            run.wait_for("never");
            return failed("interrupted");
        }
        done(90.0)
    });
    let child = world.start(&RUN);
    world.wait_for_attempts(2);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let interrupted = child.wait_with_output().unwrap();
    let said = String::from_utf8(interrupted.stderr).unwrap();
    assert_eq!(interrupted.status.code(), Some(2), "{said}");
    let last = said.lines().last().unwrap();
    assert!(
        last.ends_with("interrupted with 3 of 4 runs to go; the same command resumes"),
        "{said}"
    );
    let states = world.states();
    assert_eq!(states, [RunState::Done, RunState::Pending, RunState::Pending, RunState::Pending]);
    assert!(world.path("study/report.html").is_file(), "what is done is reported");
    assert_eq!(world.run(&RUN).code, Some(0));
    assert_eq!(world.attempts(), [1, 2, 2, 3, 4]);
}

#[test]
fn another_plan_is_refused_and_more_of_the_same_is_none() {
    let world = World::playing(|_| done(90.0));
    let plan = super::PLAN.replace("threads = [1, 2]", "threads = [1]");
    world.write("plan.toml", &plan);
    assert_eq!(world.run(&RUN).code, Some(0));
    let before = std::fs::read(world.path("study/study.sqlite")).unwrap();
    world.write("plan.toml", &plan.replace("seconds = 2", "seconds = 3"));
    for arguments in [&RUN[..], &DRY] {
        let line = world.refused(arguments);
        assert!(line.contains("the plan differs from the one that"), "{line}");
        assert!(line.contains("give another --out"), "{line}");
        assert!(line.contains("seconds was 2 and is 3"), "{line}");
    }
    let store = || std::fs::read(world.path("study/study.sqlite")).unwrap();
    assert_eq!(store(), before, "what is refused changes nothing");
    world.write("plan.toml", &plan.replace("threads = [1]", "threads = [1, 4]"));
    let dry = world.run(&DRY);
    assert!(dry.stdout.contains("\n2 of 4 runs, ") && !dry.stdout.contains("/1 "), "{dry:?}");
    assert_eq!(store(), before, "a dry run changes nothing");
    assert_eq!(world.run(&RUN).code, Some(0));
    assert_eq!(world.trials().len(), 4);
    assert_eq!(world.attempts().len(), 4);
}

#[test]
fn the_quick_profile_is_resumed_as_such_and_the_full_form_is_another_study() {
    let world = World::playing(|_| done(90.0));
    world.write("plan.toml", &format!("{}[quick]\nthreads = [2]\nseconds = 1\n", super::PLAN));
    let quick = [&RUN[..], &["--quick"]].concat();
    assert_eq!(world.run(&quick).code, Some(0));
    let keys = || world.trials().into_iter().map(|trial| trial.key.threads).collect::<Vec<_>>();
    assert_eq!(keys(), [2, 2]);
    let form = world.study().form.unwrap();
    assert!(form.starts_with("Quick profile: 1 s measured in place of 2"), "{form}");
    assert!(world.run(&quick).stdout.starts_with("nothing to do\n"));
    let full = world.refused(&RUN);
    assert!(full.contains("--quick: give the same again, or another --out"), "{full}");
    assert_eq!(world.attempts().len(), 2);
}

#[test]
fn a_finished_study_lacks_nothing_and_nothing_is_made_for_it() {
    let world = World::playing(|_| done(90.0));
    assert_eq!(world.run(&RUN).code, Some(0));
    assert_eq!(world.run(&DRY).stdout, "nothing to do: none of the 4 runs is missing\n");

    // Without a ledger nothing can be made; the negative control, a larger plan, fails.
    let without_ledger = |plan: &str| {
        world.write("plan.toml", plan);
        let mut command = world.command(&RUN);
        command.env("ASSAY_STATE", "/dev/null/nowhere");
        ended(command, &world.path("stdout"))
    };
    std::fs::remove_file(world.path("study/report.html")).unwrap();
    let again = without_ledger(&super::PLAN.replace("title = \"small\"", "title = \"said anew\""));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.starts_with("nothing to do\n"), "{again:?}");
    let report = super::read(&world.path("study/report.html"));
    assert!(report.contains("said anew"), "the report is written again");
    let more = without_ledger(&super::PLAN.replace("threads = [1, 2]", "threads = [1, 2, 4]"));
    assert_eq!(more.code, Some(2), "{more:?}");
    assert_eq!(world.attempts().len(), 4);
}

#[test]
fn a_study_that_is_deleted_meanwhile_ends_the_command() {
    let world = World::playing(|run| {
        if run.position == 2 {
            std::fs::remove_dir_all("study").unwrap();
        }
        done(90.0)
    });
    let line = world.refused(&RUN);
    assert!(line.contains("study.sqlite was deleted or replaced during the run"), "{line}");
    assert_eq!(world.attempts(), [1, 2], "no run is made for nothing");
    assert_eq!(world.run(&["clean"]).stdout, "nothing to clean\n");
}

#[test]
fn a_directory_of_other_files_is_refused_and_stays_as_it_was() {
    let world = World::playing(|_| done(90.0));
    std::fs::create_dir(world.path("study")).unwrap();
    world.write("study/report.html", "mine");
    for words in [&RUN[..], &DRY] {
        let line = world.refused(words);
        assert!(line.contains("study holds files that are not a study's (report.html)"), "{line}");
    }
    assert_eq!(std::fs::read_dir(world.path("study")).unwrap().count(), 1);
    // What a command leaves that is killed before it has written anything is none.
    std::fs::remove_file(world.path("study/report.html")).unwrap();
    std::fs::create_dir(world.path("study/work")).unwrap();
    world.write("study/lock", "");
    world.write("study/study.sqlite", "");
    assert_eq!(world.run(&RUN).code, Some(0));
}
