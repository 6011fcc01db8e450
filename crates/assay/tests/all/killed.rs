//! A run that is killed outright: nothing stays behind after `assay clean`, finished runs are kept, the rest is done.

use std::io::Read;
use std::process::{Child, ChildStderr};

use crate::common::{DIRECTORY, IMAGE, World, has_loop_devices, has_server, small_plan, trials};
use crate::runs::{run_past_the_first_trial, server_under_load, wait_for_leftovers};

/// A run on image rigs that is in its second run and has things on the machine; nothing, said aloud, where the
/// machine cannot do that.
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
    // The negative control: without cleaning there is something to clean.
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

/// A run on image rigs in whose second run the study's directory was deleted; nothing, said aloud, where the machine
/// cannot do that.
fn run_without_its_study() -> Option<(World, Child, ChildStderr)> {
    if !has_server() || !has_loop_devices() {
        return None;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(IMAGE).replace("seconds = 2", "seconds = 4"));
    let (run, said) = run_past_the_first_trial(&world);
    server_under_load(&world, 2);
    // It fails at the directory that is mounted on, as it does for a user, and deletes all else.
    let _ = std::process::Command::new("rm").arg("-rf").arg(world.path("study")).output();
    // The negative control: there is something to find, and its name leads nowhere.
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
