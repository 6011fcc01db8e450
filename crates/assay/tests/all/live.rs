//! The live view on a real terminal: its keys end a run as they say, and the terminal is as it was afterwards.

use crate::common::{DIRECTORY, IMAGE, World, has_loop_devices, has_server, small_plan, trials};
use crate::pty::OnTerminal;
use rustix::process::{Pid, Signal, kill_process};

const RUN: [&str; 4] = ["run", "plan.toml", "--out", "study"];

fn world() -> World {
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY));
    world
}

fn states(world: &World) -> Vec<String> {
    trials(&world.path("study")).into_iter().map(|trial| trial.1).collect()
}

#[test]
fn q_ends_a_run_with_the_trial_in_hand() {
    if !has_server() {
        return;
    }
    let world = world();
    let mut terminal = OnTerminal::start(&world, &RUN, &[]);
    terminal.until("run 2 of 4: ");
    assert!(!terminal.takes_lines(), "keys are read one by one");
    terminal.press("q");
    terminal.until("stopping after this run");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert_eq!(states(&world), ["done", "done", "pending", "pending"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
    assert!(world.path("study/report.html").is_file(), "what is done is reported");

    let shown = terminal.shown();
    for seen in ["loading: ", "measuring, second ", "tps", " /s", "p99", " ms", "\x1b[36m"] {
        assert!(shown.contains(seen), "{seen} in {shown}");
    }
    // Erased before each line that stays, and for good before the last ones.
    for line in ["[1/4] ", "[2/4] "] {
        assert!(shown.contains(&format!("\r\x1b[J{line}")), "{shown}");
    }
    let (view, after) = shown.rsplit_once("\x1b[J").unwrap();
    assert!(view.contains("other key: do not stop"));
    assert!(!after.contains("run 2 of 4"), "{after}");
    let lines: Vec<&str> = after.lines().collect();
    assert!(lines.len() >= 3 && lines[0].contains("2 missing)"), "the result in a line: {after}");
    assert!(lines[1].starts_with("report: "), "{after}");
    assert!(lines[2].contains("interrupted with 2 of 4 runs to go"), "{after}");
}

#[test]
fn a_second_q_ends_the_trial_and_another_key_takes_the_first_back() {
    if !has_server() {
        return;
    }
    let world = world();
    let mut terminal = OnTerminal::start(&world, &RUN, &[("NO_COLOR", "1")]);
    terminal.until("run 1 of 4: ");
    terminal.press("q");
    terminal.until("stopping after this run");
    terminal.press(" ");
    // It goes on after the first run, so the key was heard.
    terminal.until("run 2 of 4: ");
    terminal.press_until("q", "stopping; finished runs are kept");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert_eq!(states(&world), ["done", "pending", "pending", "pending"]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
    let shown = terminal.shown();
    assert!(!shown.contains("\x1b[3"), "no colours were wanted: {shown}");
}

#[test]
fn ctrl_c_twice_leaves_the_terminal_as_it_was() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY).replace("seconds = 2", "seconds = 600"));
    let mut terminal = OnTerminal::start(&world, &RUN, &[]);
    let server = Pid::from_raw(crate::runs::server_under_load(&world, 1)).unwrap();
    // A load whose server does not answer cannot end, so the second Ctrl-C meets a run that is still stopping.
    kill_process(server, Signal::STOP).unwrap();
    terminal.press("\x03");
    terminal.until("stopping; finished runs are kept");
    assert!(!terminal.takes_lines());
    terminal.press_until("\x03", "<never>");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert!(!terminal.shown().contains("interrupted with"), "it ended at once");
    assert!(terminal.shown().ends_with("\r\x1b[J<end>"), "the view is gone");
    let clean = world.run(&["clean"]);
    assert!(clean.status.success(), "{clean:?}");
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
fn a_paste_costs_no_trial() {
    if !has_server() {
        return;
    }
    let world = world();
    let mut terminal = OnTerminal::start(&world, &RUN, &[]);
    terminal.until("run 2 of 4: ");
    terminal.press("qq\nquit\nq");
    terminal.until("stopping after this run");
    assert_eq!(terminal.ended().code(), Some(2));
    assert_eq!(states(&world), ["done", "done", "pending", "pending"], "the run in hand ended");
}

#[test]
fn a_terminal_that_is_closed_has_everything_taken_down_however_often_that_is_said() {
    if !has_server() || !has_loop_devices() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(IMAGE));
    let mut terminal = OnTerminal::start(&world, &RUN, &[]);
    terminal.until("run 2 of 4: ");
    crate::runs::wait_for_leftovers(&world);
    let run = Pid::from_child(&terminal.run);
    kill_process(run, Signal::HUP).unwrap();
    // A run with little to take down has ended before the view is painted again.
    terminal.until_one_of(&["stopping; finished runs are kept", "interrupted with"]);
    // The kernel's, after the shell's; taking things down is not over, or it is and nobody is there any more.
    let _ = kill_process(run, Signal::HUP);
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.shown().contains("interrupted with 3 of 4"), "{}", terminal.shown());
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
fn ctrl_backslash_takes_everything_down_as_ctrl_c_does() {
    if !has_server() {
        return;
    }
    let world = world();
    let mut terminal = OnTerminal::start(&world, &RUN, &[]);
    terminal.until("run 1 of 4: ");
    terminal.press("\x1c");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert!(terminal.shown().contains("interrupted with 4 of 4"), "{}", terminal.shown());
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
fn a_trial_in_which_the_run_was_stopped_may_not_be_compared() {
    if !has_server() {
        return;
    }
    let world = World::new();
    world.write("plan.toml", &small_plan(DIRECTORY).replace("seconds = 2", "seconds = 6"));
    let mut terminal = OnTerminal::start(&world, &RUN, &[]);
    terminal.until("measuring, second 1 ");
    let run = Pid::from_child(&terminal.run);
    terminal.press("\x1a");
    wait_until_stopped(run);
    assert!(terminal.takes_lines(), "the shell finds the terminal as it left it");
    // Not to wait for anything: this is how long the run is stopped.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let before = terminal.shown().len();
    kill_process(run, Signal::CONT).unwrap();
    terminal.until("[1/4] ");
    assert!(!terminal.takes_lines(), "keys are read one by one again");
    assert!(terminal.shown()[before..].contains("run 1 of 4"), "the view is painted again");
    terminal.until("[2/4] ");
    terminal.press("\x03");
    assert_eq!(terminal.ended().code(), Some(2));
    let db = rusqlite::Connection::open(world.path("study/study.sqlite")).unwrap();
    let mut found = db
        .prepare(
            "SELECT position, warnings.facts_json FROM warnings JOIN runs ON runs.id = run_id WHERE kind = 'stopped'",
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

/// Waits until every thread of it is stopped (`proc(5)`, state `T`).
fn wait_until_stopped(run: Pid) {
    let stat = format!("/proc/{}/stat", run.as_raw_nonzero());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
        assert!(std::time::Instant::now() < deadline, "Ctrl-Z stops nothing");
        std::thread::yield_now();
    }
}

#[test]
fn a_signal_from_elsewhere_takes_the_view_down() {
    if !has_server() {
        return;
    }
    let world = world();
    let mut terminal = OnTerminal::start(&world, &RUN, &[]);
    terminal.until("run 1 of 4: ");
    kill_process(Pid::from_child(&terminal.run), Signal::TERM).unwrap();
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert_eq!(states(&world), ["pending"; 4]);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

#[test]
fn without_the_view_a_terminal_gets_lines() {
    if !has_server() {
        return;
    }
    let world = world();
    let unwanted = [&RUN[..], &["--no-live"]].concat();
    // A dumb terminal gets lines that stay alone: it would show what erases a living one.
    for (words, kind, line) in
        [(&unwanted[..], "xterm", "repeat 1: starting the server"), (&RUN[..], "dumb", "[1/4] ")]
    {
        let mut terminal = OnTerminal::start(&world, words, &[("TERM", kind)]);
        terminal.until(line);
        assert!(terminal.takes_lines(), "nobody waits for keys");
        terminal.press("\x03");
        assert_eq!(terminal.ended().code(), Some(2));
        assert!(!terminal.shown().contains("q: stop"), "{}", terminal.shown());
        assert_eq!(terminal.shown().contains('\x1b'), kind == "xterm", "{}", terminal.shown());
    }
}
