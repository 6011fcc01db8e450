//! The output of a command and its exit code.

use std::path::Path;

use super::site::done;
use super::{PLAN, RUN, World, ended};

#[test]
fn each_run_is_a_line_with_the_time_left_and_the_answer_is_on_standard_output() {
    let world = World::playing(|run| {
        run.step("starting the server");
        run.second();
        let tps = if run.key.config == "on" { 80.0 } else { 100.0 };
        done(tps)
    });
    let ended = world.run(&RUN);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let runs: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(runs.len(), 4, "{ended:?}");
    for (number, line) in (1..).zip(&runs) {
        assert!(line.starts_with(&format!("[{number}/4] ")), "{line}");
        let figures = if line.contains("on / ") { "80.0 tps" } else { "100.0 tps" };
        assert!(line.contains(&format!("repeat 1: {figures}, p99 3.00 ms")), "{line}");
        assert_eq!(line.ends_with(" left)"), number < 4, "{line}");
    }
    assert!(!ended.stderr.contains("starting the server"), "living lines are for terminals");
    assert!(!ended.stderr.contains('\x1b') && !ended.stdout.contains('\x1b'), "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "a summary and where the report is: {ended:?}");
    assert_eq!(lines[1], "report: study/report.html");
    for file in ["report.html", "results.json", "tables"] {
        assert!(world.path("study").join(file).exists(), "{file}");
    }
}

#[test]
fn a_dry_run_lists_the_runs_and_makes_nothing() {
    let world = World::playing(|_| done(90.0));
    let dry = world.run(&[&RUN[..], &["--dry-run"]].concat());
    assert_eq!((dry.code, dry.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = dry.stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{dry:?}");
    assert!(lines[0].starts_with("   1. ") && lines[3].starts_with("   4. "), "{dry:?}");
    assert!(
        lines[4].starts_with("4 runs, about ")
            && lines[4].ends_with(", plus the time to load the data")
    );
    assert!(!world.path("study").exists());
    assert!(world.attempts().is_empty());

    let events = PLAN.replace("seconds = 2", "seconds = 300\nevents = 300");
    world.write("plan.toml", &events);
    let dry = world.run(&[&RUN[..], &["--dry-run"]].concat());
    assert!(dry.stdout.contains("4 runs, at most "), "{dry:?}");
}

#[test]
fn output_that_cannot_be_written_ends_in_an_error_and_the_study_is_whole() {
    let world = World::playing(|_| done(90.0));
    let ended = ended(world.command(&RUN), Path::new("/dev/full"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let last = ended.last();
    assert!(last.contains("cannot write to standard output: No space left"), "{ended:?}");
    assert!(world.path("study/report.html").is_file());
    assert_eq!(world.run(&RUN).code, Some(0));
    assert_eq!(world.attempts(), [1, 2, 3, 4]);
}
