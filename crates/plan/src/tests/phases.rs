//! Phases: what of them is run, how long, and what no plan may say of them.

use super::*;
use assay_load::PhasePace;
use assay_study::Happening;

/// A plan with these phases in the place of its seconds.
fn with(more: &str, phases: &str) -> String {
    PLAN.replace("seconds = 10\nrepeats = 3", &format!("repeats = 1\n{more}")).replace(
        "[workloads.read_write]",
        &format!(
            "{phases}\n[workloads.writes]\nrecipe = \"oltp_write_only\"\n[workloads.read_write]"
        ),
    )
}

const PHASES: &str = r#"
[[phases]]
name = "calm"
seconds = 5
[[phases]]
name = "ramp"
seconds = 4
rate = 100
rate_to = 500
happening = { sql = "ALTER TABLE sbtest1 ADD COLUMN d INT" }
[[phases]]
name = "more writes"
seconds = 3
workload = "writes"
[[phases]]
name = "rest"
seconds = 2
pause = true
happening = "restart"
"#;

fn paces(plan: &Plan) -> Vec<PhasePace> {
    plan.phases_of("read_write").unwrap().each.iter().map(|phase| phase.pace).collect()
}

#[test]
fn the_window_is_as_long_as_all_phases_and_mixes_are_not_run_by_themselves() {
    let plan = Plan::parse(&with("", PHASES)).unwrap();
    assert_eq!(plan.seconds, Some(14.0));
    let names: BTreeSet<String> = trials(&plan).into_iter().map(|one| one.key.workload).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["read_write"]);
    let ramp = PhasePace::Rate { from_per_s: 100.0, to_per_s: 500.0 };
    let expected = [PhasePace::Closed, ramp, PhasePace::Closed, PhasePace::Paused];
    assert_eq!(paces(&plan), expected);
    let phases = plan.phases_of("read_write").unwrap();
    assert_eq!(phases.each[2].workload.as_ref(), plan.server_workload("writes"));
    assert_eq!(plan.phases[3].happening, Some(Happening::Restart));
    assert!(plan.rides_out().restarts && plan.rides_out().changed_tables);
    // Written out again it is the same plan.
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    let same = Plan::parse(&with("seconds = 14", PHASES)).unwrap();
    assert_eq!(same, plan);
}

#[test]
fn a_phase_without_a_rate_has_the_plans() {
    let plan = Plan::parse(&with("rate = 70", PHASES)).unwrap();
    assert_eq!(paces(&plan)[0], PhasePace::Rate { from_per_s: 70.0, to_per_s: 70.0 });
    let listed = Plan::parse(&with("rates = [70, 90]", PHASES)).unwrap();
    let run: Vec<String> = listed.loads().iter().map(|load| load.name()).collect();
    assert_eq!(run, ["read_write at 70 per second", "read_write at 90 per second"]);
    assert_eq!(
        listed.phases_of(&run[1]).unwrap().each[2].workload,
        plan.phases_of("x").unwrap().each[2].workload
    );
}

#[test]
fn another_course_is_another_run() {
    let of = |text: &str| trials(&Plan::parse(text).unwrap())[0].fingerprint.clone();
    let one = of(&with("", PHASES));
    let changes = [
        ("rate_to = 500", "rate_to = 501"),
        ("happening = \"restart\"", "happening = \"scan\""),
        ("oltp_write_only", "oltp_update_index"),
    ];
    for (from, to) in changes {
        assert_ne!(of(&with("", PHASES).replace(from, to)), one, "{to}");
    }
    assert_eq!(
        of(&with("", PHASES).replace("\"calm\"", "\"quiet\"")),
        one,
        "a name changes no run"
    );
}

#[test]
fn what_cannot_be_is_refused_with_the_key_and_what_to_do() {
    let message = error(&with("", ""));
    assert_eq!(message, "the key seconds is missing; add it");
    for (more, told) in [
        (
            "seconds = 3",
            "phase `calm` takes 5 s and the run only 3; raise seconds to 14, or omit it",
        ),
        ("seconds = 20", "the phases take 14 s together, but seconds is 20; omit it"),
        ("events = 5", "events cannot be combined with phases"),
        ("warmup_seconds = 5\nwarmup_until_steady = true", "give only warmup_seconds"),
        ("workload_rates = { writes = 5 }", "which is run in phases alone"),
    ] {
        let message = error(&with(more, PHASES));
        assert!(message.contains(told), "{more}: {message}");
    }
    let one = |keys: &str| format!("[[phases]]\nname = \"p\"\nseconds = 5\n{keys}\n");
    for (keys, told) in [
        ("rate = 0", "phase `p`: rate is 0; give more than 0 events per second"),
        ("rate = 5\nrate_to = -1", "phase `p`: rate_to is -1"),
        ("rate_to = 5", "phase `p`: rate_to needs rate"),
        ("pause = true\nrate = 5", "nothing is due in a pause"),
        ("workload = \"write\"", "phase `p`: there is no workload `write`; did you mean `writes`?"),
        ("happening = \"scam\"", "unknown value `scam`; did you mean `scan`?"),
        ("happening = { sql = \" \" }", "phase `p`: happening.sql is empty"),
        ("rates = 5", "unknown key `rates`; did you mean `rate`?"),
        ("[[phases]]\nname = \"p\"\nseconds = 1", "two phases are called `p`"),
        ("[[phases]]\nname = \"a/b\"\nseconds = 1", "not a valid name"),
        (
            "workload = \"writes\"\n[[phases]]\nname = \"q\"\nseconds = 1\nworkload = \
            \"read_write\"",
            "every workload is named by a phase",
        ),
    ] {
        let message = error(&with("", &one(keys)));
        assert!(message.contains(told), "{keys}: {message}");
    }
    for seconds in ["0", "2.5", "nan"] {
        let phases = one("").replace("seconds = 5", &format!("seconds = {seconds}"));
        let message = error(&with("", &phases));
        assert!(message.contains("give whole seconds, at least 1"), "{message}");
    }
    let every_one = error(&with("rates = [5]", &one("rate = 5")));
    assert!(every_one.contains("every phase has a rate of its own"), "{every_one}");
    let modes = with("", &one("workload = \"writes\""))
        .replace("\"oltp_write_only\"", "\"oltp_write_only\"\nmode = \"compat\"");
    assert!(error(&modes).contains("another mode than `read_write`"));
    let pair = with("", PHASES)
        + "[[compare]]\nconfig = \"off\"\nagainst = \"on\"\nworkload = \"writes\"\n";
    assert!(error(&pair).contains("there is no workload `writes`"));
}
