//! Tests studies of several sessions, and the order of runs that each study draws for itself.

use assay_study::{RunState, Sessions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::site::{done, failed};
use super::{PLAN, RUN, World};

const ANOTHER: [&str; 5] = ["run", "plan.toml", "--out", "study", "--another-session"];

impl World {
    /// Moves the runs of these repeats to a day before all others.
    fn make_yesterdays(&self, repeats: std::ops::RangeInclusive<u32>) {
        let db = rusqlite::Connection::open(self.path("study/study.sqlite")).unwrap();
        db.execute(
            "UPDATE runs SET started_at = '2026-01-01T08:00:00Z' WHERE repeat BETWEEN ?1 AND ?2",
            [repeats.start(), repeats.end()],
        )
        .unwrap();
    }

    fn results(&self) -> Value {
        let text = std::fs::read_to_string(self.path("study/results.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn caveats(&self) -> String {
        std::fs::read_to_string(self.path("study/report.html")).unwrap()
    }
}

#[test]
fn another_session_repeats_a_finished_study_and_its_days_are_told() {
    let world = World::playing(|run| {
        let level = if run.key.config == "off" { 110.0 } else { 100.0 };
        let day = if run.key.repeat > 2 { 1.02 } else { 1.0 };
        done(
            level * if run.key.config == "off" { day } else { 1.0 }
                + f64::from(run.position) * 1e-3,
        )
    });
    world.write("plan.toml", &PLAN.replace("extra_runs = 0", "extra_runs = 0\nrepeats = 2"));
    let refused = world.refused(&ANOTHER);
    assert!(refused.contains("study has no session yet"), "{refused}");
    assert_eq!(world.run(&RUN).code, Some(0));
    assert_eq!(world.attempts().len(), 8);
    let listed = world.run(&[&ANOTHER[..], &["--dry-run"]].concat());
    assert!(listed.code == Some(0) && world.attempts().len() == 8, "{listed:?}");
    assert_eq!(world.study().sessions.repeats, [0_u32; 0], "a dry run changes nothing");
    let ended = world.run(&ANOTHER);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(world.attempts().len(), 16, "the repeats of a study once more");
    assert_eq!(
        (world.states(), world.study().sessions.repeats),
        (vec![RunState::Done; 16], vec![2, 2])
    );
    let near = "2 sessions count as one day, for sessions that begin within 12 hours";
    assert!(world.caveats().contains(near));
    assert!(world.results()["judgement"]["days"].is_null());

    world.make_yesterdays(1..=2);
    assert!(world.run(&RUN).stdout.starts_with("nothing to do"), "the study keeps its sessions");
    let days = &world.results()["judgement"]["days"][0];
    let ratio = |day: usize| days["ratios"][day].as_f64().unwrap();
    assert!((ratio(0) - 1.1).abs() < 1e-3 && (ratio(1) - 1.122).abs() < 1e-3, "{days}");
    let told = "by day: 10.0 % faster and 12.2 % faster; an interval by these 2 days is";
    assert!(world.caveats().contains(told) && !world.caveats().contains(near));

    world.write("plan.toml", &PLAN.replace("extra_runs = 0", "extra_runs = 0\nrepeats = 3"));
    let refused = world.refused(&RUN);
    assert!(
        refused.contains("have 2 repeats and the plan has 3: put repeats = 2 back"),
        "{refused}"
    );
    let looks = "extra_runs = 0\nrepeats = { at_most = 2, looks = [2] }";
    world.write("plan.toml", &PLAN.replace("extra_runs = 0", looks));
    assert!(world.refused(&ANOTHER).contains("a plan with looks decides in one session"));
    let store = assay_study::Store::open_or_create(&world.path("study")).unwrap();
    let vast = Sessions { repeats: vec![u32::MAX; 400], order_seed: None };
    store.write_sessions(&vast).unwrap();
    drop(store);
    assert!(world.refused(&RUN).contains("is damaged: its runs are not those of its sessions"));
}

#[test]
fn a_session_that_was_interrupted_goes_on_before_there_is_another() {
    let world = World::playing(|run| {
        if [2, 6].contains(&run.position) && run.attempt == 1 {
            run.wait_for("never");
            return failed("interrupted");
        }
        done(100.0 + f64::from(run.position))
    });
    let interrupt = |words: &[&str], attempts: usize| {
        let child = world.start(words);
        world.wait_for_attempts(attempts);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
    };
    interrupt(&RUN, 2);
    let refused = world.refused(&ANOTHER);
    assert!(refused.contains("has 3 runs to go: run the plan without --another-session"));
    assert_eq!(world.run(&RUN).code, Some(0));
    interrupt(&ANOTHER, 7);
    assert_eq!(world.run(&ANOTHER).code, Some(0), "the same command resumes");
    assert_eq!((world.states().len(), world.study().sessions.repeats), (8, vec![1, 1]));
    assert_eq!(world.attempts(), [1, 2, 2, 3, 4, 5, 6, 6, 7, 8]);
}

#[test]
fn each_study_has_an_order_of_its_own_and_keeps_it() {
    let world = World::playing(|run| done(100.0 + f64::from(run.position)));
    let many = PLAN.replace("threads = [1, 2]", "threads = [1, 2, 3, 4, 5, 6, 7, 8]");
    world.write("plan.toml", &many);
    let order = |out: &str| {
        assert_eq!(world.run(&["run", "plan.toml", "--out", out]).code, Some(0));
        let study = assay_study::Store::open(&world.path(out)).unwrap().study().unwrap();
        let mut trials = study.trials;
        trials.sort_by_key(|trial| trial.position);
        let keys: Vec<String> = trials.iter().map(|trial| trial.key.to_string()).collect();
        (keys, study.sessions)
    };
    let (first, drawn) = order("study");
    assert!(drawn.order_seed.is_some() && drawn.repeats.is_empty(), "{drawn:?}");
    assert_ne!(first, order("other").0);
    world.write("plan.toml", &many.replace("extra_runs = 0", "extra_runs = 0\nrepeats = 2"));
    let (grown, kept) = order("study");
    assert_eq!((&grown[..16], kept), (&first[..], drawn), "repeats that are added come after");
    world.write("plan.toml", &format!("seed = 7\n{many}"));
    let ((a, none), (b, _)) = (order("a"), order("b"));
    assert_eq!((a, none), (b, Sessions::default()), "a seed that the plan names fixes the order");
}
