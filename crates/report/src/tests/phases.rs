//! Tests a study with phases: figures and events phase by phase, marks on the time axis, a table
//! for programs.

use serde_json::json;

use super::browser::{self, Look};
use super::fixture::Shape;
use super::*;
use assay_study::metrics::{Window, find};
use assay_study::{
    Config, Done, Happened, Happening, Outcome, Phase, PhasePace, RigRecord, SecondLatencies,
    SecondLatency, Series, TrialKey, WorkloadRecord,
};

const STATEMENT: &str = "ALTER TABLE t ADD x INT /* <b> */";

fn phases(repeat: u32) -> Vec<Phase> {
    let phase = |name: &str, from_s: f64, to_s: f64, pace, happened| Phase {
        name: name.into(),
        window: Window { from_s, to_s },
        pace,
        workload: (name == "burst").then(|| "reads".into()),
        happened,
    };
    let happened = |happening, began_s, ended_s, done| {
        Some(Happened { happening, began_s, ended_s, error: None, done })
    };
    let ramp = PhasePace::Rate { from_per_s: 100.0, to_per_s: 500.0 };
    let alter =
        happened(Happening::Sql(STATEMENT.into()), 20.0, (repeat == 1).then_some(28.5), None);
    let done = Done::Restart { stop_s: 1.25, answer_s: 2.5, is_orderly: true };
    let restart = happened(Happening::Restart, 25.0, Some(28.75), Some(done));
    vec![
        phase("ramp", 5.0, 15.0, ramp, None),
        phase("burst <b>", 15.0, 20.0, PhasePace::Closed, None),
        phase("alter", 20.0, 25.0, PhasePace::Closed, alter),
        phase("restart", 25.0, 40.0, PhasePace::Closed, restart),
    ]
}

/// Steady but for the seconds after the restart; `other` does a quarter more in the first phase.
fn outcome(config: &str, repeat: u32) -> Outcome {
    let tps = |second: u32| match second {
        26..=31 => 5.0,
        6..=15 if config == "other" => 500.0 + f64::from(repeat),
        _ => 400.0 + f64::from(second % 3) + f64::from(repeat),
    };
    let series = |name: &str, value: &dyn Fn(u32) -> f64| Series {
        points: (1..=41).map(|second| (second, value(second))).collect(),
        ..Series::of(find(name).unwrap())
    };
    let mut second_latencies = SecondLatencies::default();
    for second in 1..=41 {
        let times = [(4_000_000, tps(second) as u64 - 4), (90_000_000, 4)];
        second_latencies.push(&SecondLatency::of(second, &times));
    }
    Outcome {
        window: Some(Window { from_s: 5.0, to_s: 40.0 }),
        results: [("tps".to_owned(), 400.0), ("latency_ms_p99".to_owned(), 9.0)].into(),
        series: vec![
            series("tps", &tps),
            series("latency_ms_mean", &|_| 5.0),
            series("latency_ms_max", &|_| 91.0),
            series("queue_length", &|second| if second == 15 { 77.0 } else { 0.0 }),
            series("disk_write_bytes_per_s", &|_| 2.5e6),
        ],
        second_latencies,
        phases: phases(repeat),
        ..Outcome::default()
    }
}

pub(super) fn study() -> Report {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let config =
        |name: &str| Config { name: name.into(), rig: RigRecord::default(), settings: [].into() };
    let workload = WorkloadRecord {
        name: "mixed".into(),
        workload: "mixed".into(),
        data_profile: None,
        recipe: "oltp_read_write".into(),
        options: BTreeMap::new(),
    };
    let configs = [config("base"), config("other")];
    let head = StudyHead {
        title: "phases",
        configs: &configs,
        workloads: &[workload],
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    for repeat in 1..=3 {
        for (place, name) in ["base", "other"].into_iter().enumerate() {
            let (config, workload) = (name.into(), "mixed".into());
            let key = TrialKey { config, workload, threads: 8, repeat };
            store.plan_trial(&key, repeat * 2 + place as u32, "f").unwrap();
            store.begin_trial(&key).unwrap();
            store.end_trial(&key, &outcome(name, repeat)).unwrap();
        }
    }
    let written = write(&store, directory.path()).unwrap();
    Report { _directory: directory, written }
}

#[test]
fn each_phase_has_its_figures_what_happened_and_its_verdicts() {
    let report = study();
    let page = markup(&report.html());
    assert!(page.contains("<a href=\"#phases\">Phases</a>"));
    let section = section(&page, "phases").unwrap();
    for told in [
        "mixed, 8 threads · ramp: 100 to 500 per second, for 10.0 s",
        "alter: closed loop, for 5.00 s",
        "<td>300</td><td>502 (501–503)</td>",
        "<td>77.0</td>",
        "<td>2.50 MB</td>",
        "8.50 s, beyond the end of the phase, still running at the end of 2 of 3 runs",
        "shut down after 1.25 s, answered 2.50 s later; throughput back at 90 % after 7.00 s",
        "<td>ramp: mixed</td>",
    ] {
        assert!(section.contains(told), "{told} is not in {section}");
    }
    assert!(!section.contains("<b>"), "names and statements are text");
    let rows = rows(&report.written.tables.join("phases.csv"));
    assert_eq!(rows.len(), 6 * 4);
    let alter = rows.iter().find(|row| row["phase"] == "alter" && row["repeat"] == "2").unwrap();
    assert_eq!((alter["happening"].as_str(), alter["happening_ended_s"].as_str()), ("sql", ""));
    let restart = rows.iter().find(|row| row["phase"] == "restart").unwrap();
    assert_eq!((restart["answer_s"].as_str(), restart["warm_s"].as_str()), ("2.5", "7"));
    let json: Value =
        serde_json::from_str(&fs::read_to_string(&report.written.json).unwrap()).unwrap();
    assert_eq!(json["runs"][0]["phases"][0]["pace"]["rate"]["to_per_s"], 500.0);
    let verdicts = &json["judgement"]["phases"]["verdicts"];
    assert_eq!(verdicts[0]["comparisons"][0]["verdict"], "better");
    assert_eq!(verdicts[1]["comparisons"][0]["verdict"], "equivalent");
}

#[test]
fn a_study_without_phases_says_nothing_of_them() {
    let report = super::report(&Shape::small());
    let page = markup(&report.html());
    assert!(section(&page, "phases").is_none() && !page.contains("#phases"));
    assert!(!report.written.tables.join("phases.csv").exists());
}

/// Names and places of what is marked in the first chart of seconds.
const MARKS: &str = "assay.drawAll().then(() => \
    { const { layout } = document.querySelector('.panel .chart[data-chart^=throughput]');
    return JSON.stringify([layout.annotations.map((one) => `${one.text}@${one.x}`),
      layout.shapes.filter((one) => one.type === 'line').map((one) => one.x0),
      layout.shapes.filter((one) => one.y1 < 1).map((one) => [one.x0, one.x1])]); })";

#[test]
#[ignore = "in --full: another pass of the browser"]
fn phases_and_what_happens_are_marked_on_the_time_axis() {
    let Some(mut browser) = browser::start() else { return };
    let report = study();
    browser.look(Look { width: 1440, height: 900, is_dark: false });
    browser.open(&format!("file://{}?all", report.written.html.display()));
    browser.ask("assay.settled()");
    let marks: Value = serde_json::from_str(browser.ask(MARKS).as_str().unwrap()).unwrap();
    assert_eq!(marks[0], json!(["ramp@5", "burst &lt;b&gt;@15", "alter@20", "restart@25"]));
    assert_eq!(marks[1], json!([15, 20, 25]));
    assert_eq!(marks[2], json!([[20, 28.5], [25, 28.75]]));
    assert_eq!(browser.complaints(), [""; 0]);
}
