//! Tests the live view of real runs. `run_command::simulated` tests keys, signals and lines; these
//! tests check their effect on servers and rigs.

use crate::common::{DIRECTORY, IMAGE, World, has_loop_devices, has_server, small_plan};
use crate::pty::OnTerminal;
use rustix::process::{Pid, Signal, kill_process};

const RUN: [&str; 4] = ["run", "plan.toml", "--out", "study"];

fn start(world: &World) -> OnTerminal {
    OnTerminal::start(&world.command(&RUN), &[])
}

#[test]
fn ctrl_c_twice_leaves_the_terminal_as_it_was() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY).replace("seconds = 2", "seconds = 600"));
    let mut terminal = start(&world);
    let server = Pid::from_raw(crate::runs::server_under_load(&world, 1)).unwrap();
    terminal.until("measuring, second 1 ");
    // The monitor's figures are shown, or that there are none.
    for seen in ["run 1 of 4: ", "tps", " /s", "p99", " ms", "flush"] {
        assert!(terminal.shown().contains(seen), "{seen} in {}", terminal.shown());
    }
    // A load whose server does not answer cannot end, so the second Ctrl-C arrives while the run is
    // stopping.
    kill_process(server, Signal::STOP).unwrap();
    terminal.press("\x03");
    terminal.until("stopping; finished runs are kept");
    assert!(!terminal.takes_lines());
    terminal.press_until("\x03", "<never>");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert!(!terminal.shown().contains("interrupted with"), "it ended at once");
    let last = "\r\x1b[Jassay: ended at once; `assay clean` lists and removes what it left \
        behind\r\n<end>";
    assert!(terminal.shown().ends_with(last), "the view is gone: {}", terminal.shown());
    let clean = world.run(&["clean"]);
    assert!(clean.status.success(), "{clean:?}");
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
#[ignore = "in --full: loop devices and mounts; `run_command::simulated` has the rest"]
fn a_terminal_that_is_closed_has_everything_taken_down_however_often_that_is_said() {
    if !has_server() || !has_loop_devices() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(IMAGE));
    let mut terminal = start(&world);
    terminal.until("run 2 of 4: ");
    crate::runs::wait_for_leftovers(&world);
    let run = Pid::from_child(&terminal.run);
    kill_process(run, Signal::HUP).unwrap();
    // A run with little to tear down may end before the view is painted again.
    terminal.until_one_of(0, &["stopping; finished runs are kept", "interrupted with"]);
    // The kernel's SIGHUP follows the shell's; the run may still be tearing down, or have ended.
    let _ = kill_process(run, Signal::HUP);
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.shown().contains("interrupted with 3 of 4"), "{}", terminal.shown());
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
#[ignore = "in --full: the server gets it too; `run_command::simulated` has the rest"]
fn ctrl_backslash_takes_everything_down_as_ctrl_c_does() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY).replace("seconds = 2", "seconds = 600"));
    let mut terminal = start(&world);
    crate::runs::server_under_load(&world, 1);
    terminal.press("\x1c");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert!(terminal.shown().contains("interrupted with 4 of 4"), "{}", terminal.shown());
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
#[ignore = "in --full: the monitor notices it; `run_command::simulated` has the rest"]
fn a_trial_in_which_the_run_was_stopped_may_not_be_compared() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY).replace("seconds = 2", "seconds = 6"));
    let mut terminal = start(&world);
    terminal.until("measuring, second 1 ");
    let run = Pid::from_child(&terminal.run);
    terminal.press("\x1a");
    terminal.until_stopped();
    // The run is stopped for this time.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    kill_process(run, Signal::CONT).unwrap();
    terminal.until("[2/4] ");
    terminal.press("\x03");
    assert_eq!(terminal.ended().code(), Some(2));
    let db = rusqlite::Connection::open(world.path("study/study.sqlite")).unwrap();
    let mut found = db
        .prepare(
            "SELECT position, warnings.facts_json FROM warnings JOIN runs ON runs.id = run_id \
             WHERE kind = 'stopped'",
        )
        .unwrap();
    let warnings: Vec<(u32, String)> = found
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(warnings.len(), 1, "the second run was not stopped: {warnings:?}");
    assert_eq!(warnings[0].0, 1);
    let facts: serde_json::Value = serde_json::from_str(&warnings[0].1).unwrap();
    assert!(facts["length_s"].as_f64().unwrap() > 1.0, "{facts}");
}
