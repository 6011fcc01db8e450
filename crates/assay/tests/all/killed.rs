//! Tests a run that is killed: `assay clean` removes everything it left, finished runs are kept,
//! the rest is done by the next run.

use std::io::Read;
use std::process::{Child, ChildStderr};

use crate::common::{DIRECTORY, IMAGE, World, has_loop_devices, has_server, small_plan, trials};
use crate::runs::{run_past_the_first_trial, server_under_load, wait_for_leftovers};

/// Starts runs on images and returns during the second run, when it has resources on the machine;
/// `None`, with a SKIPPED line, if the machine cannot.
fn run_in_its_second_trial() -> Option<(World, Child, ChildStderr)> {
    if !has_server() || !has_loop_devices() {
        return None;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(IMAGE));
    let (run, said) = run_past_the_first_trial(&world);
    wait_for_leftovers(&world);
    Some((world, run, said))
}

#[test]
fn a_killed_run_is_cleaned_up_and_goes_on() {
    let Some((world, mut run, _said)) = run_in_its_second_trial() else {
        return;
    };
    run.kill().unwrap();
    run.wait().unwrap();
    // Negative control: without `assay clean`, resources are left.
    assert!(!world.leftovers().is_empty(), "a killed run leaves its mount");

    let next = world.run(&["run", "plan.toml", "--out", "study", "--dry-run"]);
    let said = String::from_utf8_lossy(&next.stderr);
    assert!(said.contains("a run that was killed left"), "{said}");
    let dry = world.run(&["clean", "--dry-run"]);
    assert!(String::from_utf8_lossy(&dry.stdout).contains("would remove"), "{dry:?}");
    let clean = world.run(&["clean"]);
    assert!(clean.status.success(), "{clean:?}");
    assert_eq!(world.leftovers(), Vec::<String>::new(), "{clean:?}");
    let work = std::fs::read_dir(world.path("study/work"));
    assert!(work.is_err() || work.unwrap().next().is_none(), "no data is left on the disk");
    assert_eq!(String::from_utf8_lossy(&world.run(&["clean"]).stdout), "nothing to clean\n");

    let before = trials(&world.path("study"));
    assert_eq!(before.iter().filter(|trial| trial.1 == "done").count(), 1, "{before:?}");
    let again = world.run(&["run", "plan.toml", "--out", "study"]);
    assert!(again.status.success(), "{again:?}");
    let after = trials(&world.path("study"));
    assert!(after.iter().all(|trial| trial.1 == "done"), "{after:?}");
    assert_eq!(before[0], after[0], "the finished run was not run again");
    let results = std::fs::read_to_string(world.path("study/results.json")).unwrap();
    assert!(results.contains("\"server_cpus\": \"all\""), "placement is stored with the runs");
    assert!(world.path("study/report.html").is_file());
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// Starts runs on images and deletes the study's directory during the second run; `None`, with a
/// SKIPPED line, if the machine cannot.
fn run_without_its_study() -> Option<(World, Child, ChildStderr)> {
    if !has_server() || !has_loop_devices() {
        return None;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(IMAGE).replace("seconds = 2", "seconds = 4"));
    let (run, said) = run_past_the_first_trial(&world);
    server_under_load(&world, 2);
    // `rm` fails at the mount point, as it does for a user, and deletes everything else.
    let _ = std::process::Command::new("rm").arg("-rf").arg(world.path("study")).output();
    // Negative control: resources are left, and their paths do not exist.
    assert!(!world.path("study/study.sqlite").exists());
    let left = world.leftovers();
    assert!(left.iter().any(|line| line.contains("disk.img (deleted)")), "{left:?}");
    Some((world, run, said))
}

#[test]
#[ignore = "in --full: mounts of a deleted study; `run_command::simulated` has the rest"]
fn a_run_whose_study_is_deleted_says_so_and_leaves_nothing() {
    let Some((world, mut run, mut said)) = run_without_its_study() else { return };
    let mut lines = String::new();
    said.read_to_string(&mut lines).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(2), "{lines}");
    let last = lines.lines().last().unwrap_or_default();
    assert!(last.contains("study.sqlite was deleted or replaced during the run"), "{lines}");
    assert_eq!(world.leftovers(), Vec::<String>::new(), "{lines}");
    assert_eq!(String::from_utf8_lossy(&world.run(&["clean"]).stdout), "nothing to clean\n");
}

#[test]
#[ignore = "in --full: a deleted image; another test cleans up after a killed run"]
fn a_killed_run_whose_study_is_deleted_is_cleaned_up() {
    let Some((world, mut run, _said)) = run_without_its_study() else { return };
    run.kill().unwrap();
    run.wait().unwrap();
    let clean = world.run(&["clean"]);
    assert!(clean.status.success(), "{clean:?}");
    assert!(
        String::from_utf8_lossy(&clean.stdout).contains("removed loop device over"),
        "{clean:?}"
    );
    assert_eq!(world.leftovers(), Vec::<String>::new(), "{clean:?}");
}

#[test]
fn ctrl_c_takes_everything_down_and_keeps_what_is_done() {
    let Some((world, mut run, _said)) = run_in_its_second_trial() else {
        return;
    };
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = run.wait().unwrap();
    assert_eq!(status.code(), Some(2));
    assert_eq!(world.leftovers(), Vec::<String>::new());
    let after = trials(&world.path("study"));
    let states: Vec<&str> = after.iter().map(|trial| trial.1.as_str()).collect();
    assert_eq!(states, ["done", "pending", "pending", "pending"]);
    assert!(world.path("study/report.html").is_file(), "what is done is reported");
}

#[test]
#[ignore = "in --full: a killed server; `run_command::simulated` has the failed run"]
fn a_server_that_vanishes_costs_its_trial_and_no_other() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY).replace("seconds = 2", "seconds = 3"));
    let (run, _said) = run_past_the_first_trial(&world);
    let pid = server_under_load(&world, 2);
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let after = trials(&world.path("study"));
    let states: Vec<&str> = after.iter().map(|trial| trial.1.as_str()).collect();
    assert_eq!(states, ["done", "failed", "done", "done"]);
    let reason = after[1].2.clone().unwrap();
    assert!(reason.contains("the server ended with signal 9"), "{reason}");
    assert_eq!(world.leftovers(), Vec::<String>::new());
}
