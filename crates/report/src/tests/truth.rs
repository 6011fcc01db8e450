//! The first screen says nothing false: nothing of runs that may not be compared, nothing over all
//! thread counts that they contradict, no verdict that an interval does not carry, no room that is
//! not the database's, and nothing that is no number.

use super::*;
use assay_study::metrics::Window;
use assay_study::prices::Prices;
use assay_study::{
    Config, DiskRecord, Judging, Media, Model, Outcome, RigRecord, TrialKey, WorkloadRecord,
};
use assay_study::{CpuUse, Warning};

/// A configuration at a thread count: its throughput, and results beyond it.
pub(super) struct Load<'a> {
    pub(super) config: &'a str,
    pub(super) threads: u32,
    pub(super) tps: f64,
    /// Deviation of each repeat to either side, as a share.
    pub(super) off: f64,
    pub(super) warning: Option<Warning>,
    pub(super) more: &'a [(&'a str, f64)],
}

pub(super) fn load(config: &str, threads: u32, tps: f64) -> Load<'_> {
    Load { config, threads, tps, off: 0.004, warning: None, more: &[] }
}

/// Three repeats of each; the first configuration that is named is asked about and `base` is the
/// baseline.
pub(super) fn store(directory: &Path, loads: &[Load<'_>]) -> Store {
    let mut store = Store::open_or_create(directory).unwrap();
    let mut names: Vec<&str> = loads.iter().map(|load| load.config).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let config = |name: &&str| Config {
        name: (*name).into(),
        rig: RigRecord::default(),
        settings: [].into(),
    };
    let workload = WorkloadRecord {
        name: "mixed".into(),
        workload: "mixed".into(),
        data_profile: None,
        recipe: "oltp_read_write".into(),
        options: BTreeMap::new(),
    };
    let judging = Judging { baseline: Some("base".into()), ..Judging::default() };
    let head = StudyHead {
        title: "small",
        configs: &names.iter().map(config).collect::<Vec<_>>(),
        workloads: &[workload],
        judging: &judging,
        ..StudyHead::default()
    };
    store.write_head(&head).unwrap();
    let mut position = 0;
    for repeat in 1..=3_u32 {
        for (place, load) in loads.iter().enumerate() {
            position += 1;
            let key = TrialKey {
                config: load.config.into(),
                workload: "mixed".into(),
                threads: load.threads,
                repeat,
            };
            store.plan_trial(&key, position, "f").unwrap();
            store.begin_trial(&key).unwrap();
            let wave = f64::from((repeat * 7 + place as u32 * 3) % 5) / 2.0 - 1.0;
            let tps = load.tps * (1.0 + load.off * wave);
            let mut results: BTreeMap<String, f64> =
                [("tps".to_owned(), tps), ("latency_ms_p99".to_owned(), 8e3 / tps)].into();
            results.extend(load.more.iter().map(|(name, value)| ((*name).to_owned(), *value)));
            let outcome = Outcome {
                window: Some(Window { from_s: 0.0, to_s: 20.0 }),
                results,
                warnings: load.warning.iter().cloned().collect(),
                ..Outcome::default()
            };
            store.end_trial(&key, &outcome).unwrap();
        }
    }
    store
}

pub(super) fn page_of(directory: &Path, store: &Store, prices: Option<&str>) -> String {
    let prices = prices.map(|text| Prices::parse(text).unwrap());
    let wishes = Supplied { prices: prices.as_ref(), ..Supplied::default() };
    let written = write_as(store, directory, wishes, ReportOptions::default()).unwrap();
    markup(&fs::read_to_string(&written.html).unwrap())
}

fn page(loads: &[Load<'_>], prices: Option<&str>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), loads);
    page_of(directory.path(), &store, prices)
}

fn opening(page: &str) -> &str {
    let after = page.split_once("<section id=\"verdict\"").unwrap().1;
    after.split_once("<nav").unwrap().0
}

fn sentence(page: &str) -> &str {
    let after = opening(page).split_once("<p class=\"sentence").unwrap().1;
    let after = after.split_once('>').unwrap().1;
    after.split_once("</p>").unwrap().0
}

const LATE: Option<Warning> = Some(Warning::MissedDeadlines { percent: 30.0, cpu: CpuUse::NONE });

#[test]
fn no_number_is_made_of_trials_that_may_not_be_compared() {
    let flagged = |load: Load<'static>| Load { warning: LATE, ..load };
    let both = [load("new", 8, 500.0), load("base", 8, 400.0)];
    let [some, other] = [load("new", 16, 777.0), load("base", 16, 600.0)];
    let half = page(&[both[0].copy(), both[1].copy(), some, flagged(other)], None);
    let shown = opening(&half);
    assert!(!shown.contains("777"), "{shown}");
    assert!(shown.contains("At 8 threads better: 2"), "{shown}");
    assert!(shown.contains("At 16 threads: 3 of 6 runs were short of CPU time"), "{shown}");
    assert!(shown.contains("at some threads") && !shown.contains("Depends"), "{shown}");
    assert_eq!(
        sentence(&half),
        "Against base, new is faster at 8 threads and not compared at 16 threads."
    );
    let all = page(&[flagged(load("new", 8, 777.0)), flagged(load("base", 8, 600.0))], None);
    let shown = opening(&all);
    assert!(!shown.contains("777") && !shown.contains("600"), "{shown}");
    assert!(shown.contains("The two have no comparable runs in common."), "{shown}");
    let alone = page(&[flagged(load("base", 8, 600.0))], None);
    assert!(opening(&alone).contains("every finished run is flagged as not comparable"));
    assert!(!opening(&alone).contains("<b>600</b>"));
}

impl Load<'_> {
    fn copy(&self) -> Self {
        Load { warning: self.warning.clone(), ..*self }
    }
}

#[test]
fn configs_that_share_no_thread_count_are_not_one_config() {
    let text = page(&[load("new", 1, 90.0), load("base", 8, 400.0)], None);
    assert_eq!(
        sentence(&text),
        "Nothing can be compared: the 2 configurations share no thread count (new at 1 thread; \
        base at 8 threads)."
    );
    let one = page(&[load("base", 8, 400.0)], None);
    assert!(
        sentence(&one).starts_with("Only one configuration was measured"),
        "{}",
        sentence(&one)
    );
}

#[test]
fn a_sentence_over_all_hides_no_thread_count_that_contradicts_it() {
    let loads = [
        load("new", 1, 150.0),
        load("base", 1, 100.0),
        load("new", 4, 400.0),
        load("base", 4, 400.0),
        load("new", 16, 800.0),
        load("base", 16, 1000.0),
    ];
    let text = page(&loads, None);
    assert_eq!(
        sentence(&text),
        "Against base, new is faster at 1 thread, slower at 16 threads and equally fast at 4 \
        threads."
    );
    let shown = opening(&text);
    assert!(shown.contains("At 1 thread better: ") && shown.contains("by threads"), "{shown}");
    // Negative control: the same without the contradiction is told over all, with both sides at
    // each thread count.
    let agreeing = page(&loads[..4], None);
    assert!(sentence(&agreeing).starts_with("By throughput, new is "), "{}", sentence(&agreeing));
    assert!(opening(&agreeing).contains("new against base, over 1 and 4 threads<"));
    assert!(opening(&agreeing).contains("1 thread: 150 against 1"));
}

#[test]
fn where_nothing_is_written_what_was_read_is_the_third_number() {
    let more: &[(&str, f64)] =
        &[("write_bytes_per_transaction", 20.0), ("read_bytes_per_transaction", 3e5)];
    let reads = |load: Load<'static>| Load { more, ..load };
    let text = page(&[reads(load("new", 8, 500.0)), reads(load("base", 8, 400.0))], None);
    let number = opening(&text).split_once("Read from the device per transaction").unwrap().1;
    assert!(number.contains("300 against 300 kB at 8 threads"), "{number}");
    let more: &[(&str, f64)] = &[("write_bytes_per_transaction", 0.0)];
    let nothing = |load: Load<'static>| Load { more, ..load };
    let text = page(&[nothing(load("new", 8, 500.0)), nothing(load("base", 8, 400.0))], None);
    let number = opening(&text).split_once("Written to the device per transaction").unwrap().1;
    assert!(number.contains("<b>0</b> kB"), "{number}");
}

const PRICES: &str =
    "currency = \"EUR\"\nyears = 2\n[every_config]\nserver_price = 1000\ndrive_price = 200\n";

#[test]
fn a_price_whose_interval_reaches_over_equality_is_neither_more_nor_less() {
    let wide = |load: Load<'static>, off: f64| Load { off, ..load };
    let text =
        page(&[wide(load("new", 8, 420.0), 0.2), wide(load("base", 8, 400.0), -0.2)], Some(PRICES));
    let number = opening(&text).split_once("Price per transaction per second").unwrap().1;
    assert!(number.contains("inconclusive"), "{number}");
    assert!(number.contains(" less to ") && number.contains(" more<"), "{number}");
    let text = page(&[load("new", 8, 500.0), load("base", 8, 400.0)], Some(PRICES));
    let number = opening(&text).split_once("Price per transaction per second").unwrap().1;
    assert!(number.contains("<b>20 %</b> less") && !number.contains("inconclusive"), "{number}");
}

#[test]
fn forged_results_are_dashes_and_marks_and_never_no_numbers() {
    let forged: &[(&str, f64)] =
        &[("tps", 1e308), ("qps", f64::INFINITY), ("cpu_user_percent", -1e300)];
    let directory = tempfile::tempdir().unwrap();
    let store = store(
        directory.path(),
        &[Load { more: forged, ..load("new", 8, 1.0) }, load("base", 8, 400.0)],
    );
    let text = page_of(directory.path(), &store, Some(PRICES));
    assert!(text.contains("not comparable: the stored tps is not a valid measurement"));
    let tables = directory.path().join("tables");
    let mut read = vec![text, fs::read_to_string(directory.path().join("results.json")).unwrap()];
    for entry in fs::read_dir(&tables).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            read.push(fs::read_to_string(path).unwrap());
        }
    }
    assert!(read.len() > 6, "{}", read.len());
    for text in &read {
        for word in ["NaN", ">inf", ",inf", ",-inf", " inf ", "e308", "e300"] {
            assert!(!text.contains(word), "{word} in {}", &text[..text.len().min(2000)]);
        }
    }
    let json: serde_json::Value = serde_json::from_str(&read[1]).unwrap();
    let trials = json["runs"].as_array().unwrap();
    let left_out = serde_json::json!({"kind": "no_figure", "facts": {"name": "cpu_user_percent"}});
    let has_it = |trial: &serde_json::Value| {
        trial["warnings"].as_array().is_some_and(|all| all.contains(&left_out))
    };
    assert!(trials.iter().any(has_it));
}

#[test]
fn the_flash_of_a_worn_model_is_not_called_the_databases_room() {
    let more: &[(&str, f64)] = &[
        ("space_file_bytes", 3.3e8),
        ("space_allocated_bytes", 3.3e8),
        ("drive_logical_bytes_used", 6.3e8),
        ("space_physical_bytes", 3.5e8),
        ("drive_compression_ratio", 1.8),
        ("drive_write_bytes_host_per_s", 4.4e7),
        ("drive_write_bytes_zero_per_s", 4e6),
        ("drive_write_bytes_payload_per_s", 2e7),
    ];
    let space = |is_model: bool| {
        let mut all = more.to_vec();
        if is_model {
            all.push(("model_commands_per_s", 1.0));
        }
        let text = page(&[Load { more: &all, ..load("base", 8, 400.0) }], None);
        let after = text.split_once("<section id=\"space\">").unwrap().1;
        after.split_once("</section>").unwrap().0.to_owned()
    };
    let preconditioned = space(true);
    let finding =
        preconditioned.split_once("<p class=\"finding\">").unwrap().1.split_once("</p>").unwrap().0;
    assert_eq!(
        finding,
        "On base 330 MB of files take 330 MB of blocks. What was written under mixed was stored \
        2.00 : 1 on base."
    );
    assert!(
        preconditioned.contains(">of its flash</th>") && !preconditioned.contains(">physical</th>"),
        "{preconditioned}"
    );
    // Negative control: nothing but the database lies on a drive of our own.
    let own = space(false);
    assert!(own.contains(">physical</th>") && !own.contains(">of its flash</th>"), "{own}");
    assert!(own.contains("330 MB of files take 350 MB of media (0.94 : 1)"), "{own}");
}

#[test]
fn a_figure_that_may_not_be_compared_is_drawn_pale_and_says_why() {
    let flagged = Load { warning: LATE, ..load("new", 1, 300.0) };
    let directory = tempfile::tempdir().unwrap();
    let loads = [flagged, load("sound", 1, 390.0), load("base", 1, 400.0)];
    let store = store(directory.path(), &loads);
    let written = write(&store, directory.path()).unwrap();
    let html = fs::read_to_string(&written.html).unwrap();
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let bars = &data["plots"][0]["data"];
    assert_eq!((&bars[0]["type"], &bars[2]["type"]), (&"bar".into(), &"bar".into()));
    assert_eq!(bars[0]["marker"]["opacity"], serde_json::json!([0.35]));
    assert_eq!(bars[2]["marker"]["opacity"], serde_json::json!([1.0]));
    let hover = bars[0]["hovertemplate"][0].as_str().unwrap();
    assert!(hover.contains("not comparable: all 3 runs were short of CPU time"), "{hover}");
    let first = &data["plots"].as_array().unwrap().last().unwrap()["data"][0];
    assert_eq!(first["mode"], "text", "and no point at all on the first screen");
    assert_eq!(first["text"][0], "not compared: 3 of 6 runs were short of<br>CPU time");
}

#[test]
fn one_thread_is_never_called_threads() {
    let flagged = Load { warning: LATE, ..load("new", 1, 500.0) };
    let text = page(&[flagged, load("base", 1, 400.0)], None);
    assert!(text.contains("new &#x2f; mixed &#x2f; 1 thread &#x2f; repeat 1"));
    assert!(!text.contains("1 threads"));
}

#[test]
fn a_caption_leaves_no_config_out() {
    let names = ["base", "b", "c", "d", "e", "f"];
    let loads: Vec<Load<'_>> =
        names.iter().flat_map(|name| [load(name, 1, 100.0), load(name, 8, 400.0)]).collect();
    let text = page(&loads, None);
    let threads = text.split_once("<section id=\"threads\">").unwrap().1;
    let finding = threads.split_once("<p class=\"finding\">").unwrap().1.split_once('<').unwrap().0;
    assert!(names.iter().all(|name| finding.contains(&format!("{name} "))), "{finding}");
}

#[test]
fn lives_say_what_a_scale_model_was_multiplied_by_and_servers_are_whole() {
    let directory = tempfile::tempdir().unwrap();
    let more: &[(&str, f64)] = &[("disk_write_bytes_per_s", 2e6)];
    let mut store = store(
        directory.path(),
        &[Load { more, ..load("new", 8, 500.0) }, Load { more, ..load("base", 8, 400.0) }],
    );
    let media =
        Media::Model(Model { capacity_scale: 4000.0, parallel_scale: 36.0, ..Model::default() });
    let model = DiskRecord { media, user_bytes: Some(3.2e12), ..DiskRecord::default() };
    let mut study = store.study().unwrap();
    study.configs.iter_mut().for_each(|config| config.rig.disk = Some(model.clone()));
    store.write_head(&StudyHead::from(&study)).unwrap();
    let prices = format!("{PRICES}[target]\ntps = 200000\n");
    let text = page_of(directory.path(), &store, Some(&prices));
    let life = text.split_once("<section id=\"endurance\">").unwrap().1;
    let life = life.split_once("</section>").unwrap().0;
    assert!(
        life.contains("All configurations: measured on a model with 1&#x2f;4000 of the capacity"),
        "{life}"
    );
    assert!(life.contains("the model&#x27;s rate × 36"), "{life}");
    let cost =
        text.split_once("<section id=\"cost\">").unwrap().1.split_once("</section>").unwrap().0;
    assert!(cost.contains(", by load<"), "{cost}");
    assert!(!cost.contains(".0 (") && !cost.contains(".0, by load"), "{cost}");
}
