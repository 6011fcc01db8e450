//! The objective: what is searched for, and what no plan may say of it.

use super::*;
use assay_load::capacity::Objective;

fn with(objective: &str) -> String {
    PLAN.replace("repeats = 3", &format!("repeats = 3\nobjective = {objective}"))
}

#[test]
fn an_objective_is_one_percentile_and_how_long_it_is_searched_for() {
    let plan = Plan::parse(&with("{ p99_ms = 10 }")).unwrap();
    let search = Experiment::of(plan).unwrap().search.unwrap();
    assert_eq!(search.objective, Objective { percentile: 99.0, ms: 10.0 });
    assert_eq!((search.resolution, search.runs_max), (0.03, 60));
    let text = "{ p999_ms = 2.5, resolution_percent = 5, runs_max = 20, during = \"scan\" }";
    let search = Experiment::of(Plan::parse(&with(text)).unwrap()).unwrap().search.unwrap();
    assert_eq!(search.objective, Objective { percentile: 99.9, ms: 2.5 });
    assert_eq!((search.resolution, search.runs_max), (0.05, 20));
}

#[test]
fn what_cannot_be_kept_is_refused_with_what_to_do() {
    for (objective, expected) in [
        ("{ }", "names no percentile; give one, such as p99_ms = 10"),
        ("{ p99_ms = 10, p50_ms = 1 }", "several percentiles"),
        ("{ p99_ms = 0 }", "above 0 ms"),
        ("{ p99_ms = 10, resolution_percent = 0 }", "from 0.5 to 50"),
        ("{ p99_ms = 10, runs_max = 1 }", "from 5 to 10000"),
        ("{ p99_ms = 10, during = \"restart\" }", "objective.during is a restart"),
        ("{ p98_ms = 10 }", "unknown key `p98_ms`; did you mean `p99_ms`?"),
        ("{ p99_ms = 10 }\nrate = 100", "rate cannot be combined with objective"),
        ("{ p99_ms = 10 }\nrates = [100, 200]", "rates cannot be combined with objective"),
        ("{ p99_ms = 10 }\nevents = 100", "events cannot be combined with objective"),
    ] {
        let error = format!("{:#}", Plan::parse(&with(objective)).unwrap_err());
        assert!(error.contains(expected), "{objective}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn runs_under_another_objective_are_other_runs() {
    let prints = |text: &str| {
        let plan = Plan::parse(text).unwrap();
        trials(&plan).into_iter().map(|one| one.fingerprint).collect::<Vec<_>>()
    };
    let (ten, twenty) = (prints(&with("{ p99_ms = 10 }")), prints(&with("{ p99_ms = 20 }")));
    assert!(ten != twenty && ten != prints(PLAN));
}
