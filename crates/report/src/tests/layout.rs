//! The page answers first and folds the rest away: its order, one table of verdicts, option files,
//! merged caveats, and the result as Markdown.

use super::*;
use assay_study::metrics::Window;
use assay_study::{Config, CpuUse, Judging, Outcome, RigRecord, TrialKey, Warning, WorkloadRecord};

/// Two configurations at 8 threads, of which each run carries this warning if it is told to.
fn study_of(directory: &Path, warning: impl Fn(u32) -> Option<Warning>) -> Store {
    let mut store = Store::open_or_create(directory).unwrap();
    let config = |name: &str, doublewrite: &str| Config {
        name: name.into(),
        rig: RigRecord::default(),
        settings: [("innodb_doublewrite".to_owned(), doublewrite.to_owned())].into(),
    };
    let workload = WorkloadRecord {
        name: "mixed".into(),
        workload: "mixed".into(),
        data_profile: None,
        recipe: "oltp_read_write".into(),
        options: BTreeMap::new(),
    };
    let head = StudyHead {
        title: "One | two",
        question: Some("Which is faster?"),
        configs: &[config("new", "OFF"), config("base", "ON")],
        workloads: &[workload],
        judging: &Judging { baseline: Some("base".into()), ..Judging::default() },
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    let keys = (1..=3).flat_map(|repeat| [("new", repeat), ("base", repeat)]);
    for (position, (config, repeat)) in (1_u32..).zip(keys) {
        let workload = "mixed".to_owned();
        let key = TrialKey { config: config.into(), workload, threads: 8, repeat };
        store.plan_trial(&key, position, "f").unwrap();
        store.begin_trial(&key).unwrap();
        let level = if config == "new" { 150.0 } else { 100.0 };
        let outcome = Outcome {
            window: Some(Window { from_s: 0.0, to_s: 20.0 }),
            results: [("tps".to_owned(), level + f64::from(repeat) / 10.0)].into(),
            variables: [("log_bin".to_owned(), "OFF".to_owned())].into(),
            warnings: warning(position).into_iter().collect(),
            ..Outcome::default()
        };
        store.end_trial(&key, &outcome).unwrap();
    }
    store
}

fn page_of(warning: impl Fn(u32) -> Option<Warning>) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let store = study_of(directory.path(), warning);
    let written = write(&store, directory.path()).unwrap();
    let page = markup(&fs::read_to_string(&written.html).unwrap());
    (page, crate::summary_line(&analysed(&store)))
}

/// Commands that came too late, as the hypervisor had so much of the CPUs.
fn stolen(steal_percent: f64) -> Option<Warning> {
    let cpu = CpuUse { steal_percent, ..CpuUse::NONE };
    Some(Warning::MissedDeadlines { percent: steal_percent * 3.0, cpu })
}

#[test]
fn the_page_goes_from_the_answer_to_what_is_folded_away() {
    let page = markup(&report(&Shape::small()).html());
    let place = |id: &str| {
        page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"))
    };
    let order = [
        "verdict",
        "safety",
        "threads",
        "verdicts",
        "tails",
        "seconds",
        "space",
        "endurance",
        "caveats",
        "more",
        "summary",
        "method",
        "write-path",
        "setup",
    ];
    let places = order.map(place);
    assert!(places.is_sorted(), "{places:?}");
    for id in ["summary", "method", "write-path", "setup"] {
        let before = &page[..place(id)];
        assert!(before.trim_end().ends_with("</summary>"), "{id} is folded");
    }
}

#[test]
fn headings_are_links_and_tables_lead_to_their_files() {
    let report = report(&Shape::small());
    let page = markup(&report.html());
    for id in ["safety", "threads", "verdicts", "seconds", "caveats"] {
        assert!(page.contains(&format!("<h2><a class=\"anchor\" href=\"#{id}\">")), "{id}");
    }
    let linked: Vec<&str> = page
        .split("href=\"tables&#x2f;")
        .chain(page.split("href=\"tables/"))
        .skip(1)
        .filter_map(|after| after.split_once('"').map(|(file, _)| file))
        .filter(|file| file.ends_with(".csv"))
        .collect();
    assert!(linked.len() >= 5, "{linked:?}");
    for file in linked {
        assert!(report.written.tables.join(file).is_file(), "{file} is not there");
    }
}

#[test]
fn there_is_one_table_of_verdicts_and_the_inconclusive_are_a_count() {
    let page = markup(&report(&Shape::small()).html());
    let section = page.split_once("<section id=\"verdicts\">").unwrap().1;
    let section = section.split_once("</section>").unwrap().0;
    let open = section.split("<details>").next().unwrap();
    assert_eq!(open.matches("<table").count(), 1, "{open}");
    assert!(!open.contains(">inconclusive<"), "{open}");
    let (_, folded) = section.split_once("Inconclusive: throughput and p99 <small>").unwrap();
    let count: usize = folded.split_once('<').unwrap().0.parse().unwrap();
    let table = folded.split_once("</table>").unwrap().0;
    assert_eq!(table.matches("<tr data-config").count(), count);
    assert!(count > 0);
}

#[test]
fn the_option_file_of_each_configuration_stands_below_its_crash_safety() {
    let (page, _) = page_of(|_| None);
    let safety = page.split_once("<section id=\"safety\">").unwrap().1;
    let safety = safety.split_once("</section>").unwrap().0;
    assert!(safety.contains("[mysqld]\ninnodb_doublewrite = OFF"), "{safety}");
    assert!(safety.contains("[mysqld]\ninnodb_doublewrite = ON"), "{safety}");
    assert!(page.contains("<li>binary log off</li>"), "the first screen says so");
}

#[test]
fn a_headline_without_a_verdict_names_the_measured_cause_and_what_helps() {
    let (page, line) = page_of(|position| stolen(10.0 + f64::from(position)));
    let said = "Inconclusive: 6 of 6 runs were disturbed by other users of this host (CPU steal \
        up to 16 %). \
        Measure when the host is less busy, or on a dedicated instance.";
    assert!(line.starts_with(said), "{line}");
    assert!(page.contains(said));
    assert!(
        !page.contains("data-chart=\"first\""),
        "without any point it would say that all is equal"
    );
    assert!(!page.contains("<b>50 %</b>"), "no figure is made of what may not be compared");
    let (_, sound) = page_of(|_| None);
    assert!(sound.contains("new is 49.9 % faster than base"), "{sound}");
}

#[test]
fn a_side_that_the_machine_disturbed_more_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = study_of(directory.path(), |_| None);
    let told = |store: &Store| {
        markup(&fs::read_to_string(write(store, directory.path()).unwrap().html).unwrap())
    };
    let sentence =
        "took 0 % of the CPUs during the runs of new and 12 % during those of base (mixed)";
    assert!(!told(&store).contains("of the CPUs during the runs"));
    for repeat in 1..=3 {
        let key = TrialKey { config: "base".into(), workload: "mixed".into(), threads: 8, repeat };
        store.begin_trial(&key).unwrap();
        let results = [("tps", 100.0 + f64::from(repeat) / 10.0), ("cpu_steal_percent", 12.0)];
        let outcome = Outcome {
            window: Some(Window { from_s: 0.0, to_s: 20.0 }),
            results: results.map(|(name, value)| (name.to_owned(), value)).into(),
            ..Outcome::default()
        };
        store.end_trial(&key, &outcome).unwrap();
    }
    let page = told(&store);
    assert_eq!(
        page.matches(sentence).count(),
        3,
        "on the first screen, among the caveats and in Markdown"
    );
}

#[test]
fn flags_of_one_cause_are_one_caveat() {
    let (page, _) = page_of(|position| stolen(10.0 + f64::from(position)));
    let caveats = page.split_once("<section id=\"caveats\">").unwrap().1;
    let caveats = caveats.split_once("</section>").unwrap().0;
    assert_eq!(caveats.matches("<b>flagged</b>").count(), 1, "{caveats}");
    assert!(
        caveats.contains("6 runs are flagged for this, the worst")
            && caveats.contains("16 % of the CPUs")
    );
    assert!(caveats.contains("<summary>6 runs</summary>"), "{caveats}");
    let (page, _) = page_of(|position| match position % 2 {
        0 => stolen(12.0),
        _ => Some(Warning::NotSettled),
    });
    assert_eq!(page.matches("<b>flagged</b>").count(), 2, "another cause is another caveat");
}

#[test]
fn the_page_holds_its_result_as_markdown() {
    let (page, _) = page_of(|_| None);
    let text = page.split_once("<template id=\"markdown\">").unwrap().1;
    let text = text.split_once("</template>").unwrap().0;
    for part in [
        "## One | two\n",
        "**By throughput, new is 49.9 % faster than base",
        "| new | base | mixed | 8 | throughput | better | 49.9 % faster",
        "| new | pages",
        "Caveats:",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let directory = tempfile::tempdir().unwrap();
    let store = study_of(directory.path(), |_| None);
    let own = crate::markdown(&analysed(&store));
    assert!(own.starts_with("## One | two\n\nWhich is faster?\n\n**"), "{own}");
    assert_eq!(text.lines().count(), own.lines().count(), "the command prints the page's");
}

#[test]
fn fifty_figures_of_the_page_are_those_of_the_json() {
    let report = report(&Shape::small());
    let page = markup(&report.html());
    let json: Value = serde_json::from_slice(&fs::read(&report.written.json).unwrap()).unwrap();
    let runs = json["runs"].as_array().unwrap();
    let shown: Vec<(&str, &str)> = page
        .split("<td title=\"")
        .skip(1)
        .filter_map(|after| after.split_once('"')?.0.split_once(": "))
        .collect();
    assert!(shown.len() > 200, "{}", shown.len());
    let has = |names: &str, value: f64| {
        runs.iter().any(|run| {
            let parts: Option<Vec<f64>> =
                names.split(" + ").map(|name| run["results"][name].as_f64()).collect();
            parts.is_some_and(|parts| {
                let sum: f64 = parts.iter().sum();
                (sum - value).abs() <= 1e-9 * value.abs()
            })
        })
    };
    // A generator of Lehmer's with a fixed seed: the same fifty each time.
    let mut state = 42_usize;
    for _ in 0..50 {
        state = state * 48_271 % 2_147_483_647;
        let (names, values) = shown[state % shown.len()];
        for value in values.split(&[',', ';'][..]).map(str::trim) {
            let Ok(value) = value.parse::<f64>() else { continue };
            assert!(has(names, value), "{names}: {value} is of no run");
        }
    }
    assert!(!has("tps", 1.0), "the check knows a figure that is not there");
}
