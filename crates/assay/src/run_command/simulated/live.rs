//! The live view on a real terminal: its keys end a run as they say, and the terminal is as it
//! was afterwards.

use assay_study::RunState;
use rustix::process::{Pid, Signal, kill_process};

use super::pty::OnTerminal;
use super::site::done;
use super::{RUN, World};

const DONE: RunState = RunState::Done;
const PENDING: RunState = RunState::Pending;

fn start(world: &World) -> OnTerminal {
    OnTerminal::start(&world.command(&RUN), &[])
}

/// Presses a key, and waits until the view answers it with `text`.
fn press_and_see(terminal: &mut OnTerminal, key: &str, text: &str) {
    let before = terminal.shown().len();
    terminal.press(key);
    terminal.until_after(before, text);
}

#[test]
fn q_ends_a_command_with_the_run_in_hand() {
    let world = World::playing(|run| {
        if run.position == 1 {
            run.loading();
            run.wait_for("loaded");
        }
        run.second();
        if run.position == 2 {
            run.wait_for("measured");
        }
        done(90.0)
    });
    let mut terminal = start(&world);
    terminal.until("loading: 1000 of 2000 rows, 500 rows/s");
    world.open("loaded");
    terminal.until("run 2 of 4: ");
    terminal.until("measuring, second 1 of 2");
    assert!(!terminal.takes_lines(), "keys are read one by one");
    terminal.press("q");
    terminal.until("stopping after this run");
    world.open("measured");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert_eq!(world.states(), [DONE, DONE, PENDING, PENDING]);
    assert!(world.path("study/report.html").is_file(), "what is done is reported");

    let shown = terminal.shown();
    for seen in ["measuring, second 1 of 2", "tps", "90.0 /s", "p99", "3.00 ms", "\x1b[36m"] {
        assert!(shown.contains(seen), "{seen} in {shown}");
    }
    // The view is erased before each line that stays, and for good before the last ones.
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
fn a_second_q_ends_the_run_and_another_key_takes_the_first_back() {
    let world = World::playing(|run| {
        run.second();
        run.wait_for(&format!("gate {}", run.position));
        done(90.0)
    });
    let mut terminal = OnTerminal::start(&world.command(&RUN), &[("NO_COLOR", "1")]);
    terminal.until("run 1 of 4: ");
    press_and_see(&mut terminal, "q", "stopping after this run");
    press_and_see(&mut terminal, " ", "q: stop after this run    ");
    world.open("gate 1");
    terminal.until("run 2 of 4: ");
    terminal.press_until("q", "stopping; finished runs are kept");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert_eq!(world.states(), [DONE, PENDING, PENDING, PENDING]);
    let shown = terminal.shown();
    assert!(!shown.contains("\x1b[3"), "no colours were wanted: {shown}");
}

#[test]
fn a_paste_costs_no_run() {
    let world = World::playing(|run| {
        if run.position == 2 {
            run.wait_for("gate");
        }
        done(90.0)
    });
    let mut terminal = start(&world);
    terminal.until("run 2 of 4: ");
    // More than the view reads at once, so that a second piece follows the first.
    terminal.press(&format!("qq\nquit\n{}", "q".repeat(100)));
    terminal.until("stopping after this run");
    world.open("gate");
    assert_eq!(terminal.ended().code(), Some(2));
    assert_eq!(world.states(), [DONE, DONE, PENDING, PENDING], "the run in hand ended");
}

#[test]
fn ctrl_c_twice_leaves_the_terminal_as_it_was() {
    let world = World::playing(|run| {
        run.hang_until("never");
        done(90.0)
    });
    ends_at_once(&world, |terminal| terminal.press("\x03"), "\x03");
}

/// Whatever it waits for, such as a rig that is not to be taken down: two ask for an end, the third
/// does not wait for it.
#[test]
fn q_a_third_time_leaves_the_terminal_as_it_was() {
    let world = World::playing(|run| {
        run.hang_until("never");
        done(90.0)
    });
    let stopping = "stopping; finished runs are kept";
    ends_at_once(&world, |terminal| terminal.press_until("q", stopping), "q");
}

fn ends_at_once(world: &World, asks: impl Fn(&mut OnTerminal), key: &str) {
    let mut terminal = start(world);
    terminal.until("run 1 of 4: ");
    asks(&mut terminal);
    terminal.until("stopping; finished runs are kept");
    assert!(!terminal.takes_lines());
    terminal.press_until(key, "<never>");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.takes_lines(), "the terminal has its modes back");
    assert!(!terminal.shown().contains("interrupted with"), "it ended at once");
    let last = "\r\x1b[Jassay: ended at once; `assay clean` lists and removes what it left \
        behind\r\n<end>";
    assert!(terminal.shown().ends_with(last), "the view is gone: {}", terminal.shown());
}

#[test]
fn whatever_asks_for_an_end_is_obeyed_and_gives_the_terminal_back() {
    let world = World::playing(|run| {
        run.wait_for("never");
        done(90.0)
    });
    for signal in [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP] {
        let mut terminal = start(&world);
        terminal.until("run 1 of 4: ");
        match signal {
            Signal::INT => terminal.press("\x03"),
            Signal::QUIT => terminal.press("\x1c"),
            _ => kill_process(Pid::from_child(&terminal.run), signal).unwrap(),
        }
        assert_eq!(terminal.ended().code(), Some(2), "{signal:?}");
        assert!(terminal.takes_lines(), "the terminal has its modes back");
        let shown = terminal.shown();
        assert!(shown.contains("interrupted with 4 of 4 runs to go"), "{shown}");
        assert!(!shown.contains("killed"), "it ended by itself: {shown}");
        assert_eq!(world.states(), [PENDING; 4]);
    }
}

#[test]
fn a_terminal_that_is_closed_ends_nothing_at_once_however_often_that_is_said() {
    let world = World::playing(|run| {
        if run.position == 2 {
            run.wait_for("never");
            // The rig is taken down.
            run.hang_until("down");
        }
        done(90.0)
    });
    let mut terminal = start(&world);
    terminal.until("run 2 of 4: ");
    let process = Pid::from_child(&terminal.run);
    kill_process(process, Signal::HUP).unwrap();
    terminal.until("stopping; finished runs are kept");
    // The shell sends the first SIGHUP, the kernel the second.
    kill_process(process, Signal::HUP).unwrap();
    world.open("down");
    assert_eq!(terminal.ended().code(), Some(2));
    assert!(terminal.shown().contains("interrupted with 3 of 4"), "{}", terminal.shown());
    assert_eq!(world.states(), [DONE, PENDING, PENDING, PENDING]);
}

#[test]
fn ctrl_z_leaves_the_terminal_to_the_shell_and_the_view_comes_back() {
    let world = World::playing(|run| {
        run.second();
        run.wait_for(&format!("gate {}", run.position));
        done(90.0)
    });
    let mut terminal = start(&world);
    terminal.until("measuring, second 1 ");
    terminal.press("\x1a");
    terminal.until_stopped();
    assert!(terminal.takes_lines(), "the shell finds the terminal as it left it");
    let before = terminal.shown().len();
    kill_process(Pid::from_child(&terminal.run), Signal::CONT).unwrap();
    terminal.until_after(before, "run 1 of 4");
    world.open("gate 1");
    terminal.until("[1/4] ");
    terminal.until("run 2 of 4");
    assert!(!terminal.takes_lines(), "keys are read one by one again");
    terminal.press("\x03");
    assert_eq!(terminal.ended().code(), Some(2));
}

#[test]
fn without_the_view_a_terminal_gets_lines() {
    let world = World::playing(|run| {
        run.step("starting the server");
        run.second();
        if run.position == 2 {
            run.wait_for("never");
        }
        done(90.0)
    });
    let unwanted = [&RUN[..], &["--no-live"]].concat();
    // A dumb terminal would show the escape that erases a living line, so it gets none.
    for (arguments, kind) in [(&unwanted[..], "xterm"), (&RUN[..], "dumb")] {
        let _ = std::fs::remove_dir_all(world.path("study"));
        let mut terminal = OnTerminal::start(&world.command(arguments), &[("TERM", kind)]);
        terminal.until("[1/4] ");
        if kind == "xterm" {
            terminal.until("repeat 1: starting the server");
            terminal.until("repeat 1: second 1, 90 tps, p99 3.00 ms, ");
        }
        assert!(terminal.takes_lines(), "nobody waits for keys");
        terminal.press("\x03");
        assert_eq!(terminal.ended().code(), Some(2));
        let shown = terminal.shown();
        assert!(!shown.contains("q: stop"), "{shown}");
        assert_eq!(shown.contains('\x1b'), kind == "xterm", "{shown}");
    }
}
