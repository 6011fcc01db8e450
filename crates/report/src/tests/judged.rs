//! Tests that the page and the tables have the judge's findings, and name what is unknown as
//! missing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fixture::{Shape, study};
use super::*;
use assay_study::prices::Prices;
use assay_study::{CacheDurability, DiskRecord, Media, Model, Worth};

const PRICES: &str = "currency = \"USD\"\nyears = 3\n[target]\ntps = \
    5000\n[every_config]\nserver_price = 9999\n\
    operating_per_year = 1151.67\n[configs.\"doublewrite on\"]\ndrive_price = \
    1570\n[configs.\"doublewrite off\"]\n\
    drive_price = 11414\ncapacity_bytes = 8e11\nendurance_bytes = 14.6e15\n";

pub(super) fn priced(prices: Option<&str>) -> Report {
    let directory = tempfile::tempdir().unwrap();
    let mut store = study(directory.path(), &Shape::small());
    let worth = Worth { value: 17.52e15, mark: "computed".into(), source: "its makers".into() };
    let disk = DiskRecord {
        media: Media::Model(Model {
            capacity_scale: 1.0,
            parallel_scale: 36.0,
            ..Model::default()
        }),
        cache: Some(CacheDurability::Protected),
        user_bytes: Some(3.2e12),
        worth: [("endurance_bytes".to_owned(), worth)].into(),
        ..DiskRecord::default()
    };
    let mut head = store.study().unwrap();
    // All at one scale: of others no costs are made.
    let unrated = DiskRecord { worth: BTreeMap::new(), user_bytes: None, ..disk.clone() };
    head.configs.iter_mut().for_each(|config| config.rig.disk = Some(unrated.clone()));
    let config = head.configs.iter_mut().find(|config| config.name == "doublewrite on").unwrap();
    config.rig.disk = Some(disk);
    store.write_head(&StudyHead::from(&head)).unwrap();
    let prices = prices.map(|text| Prices::parse(text).unwrap());
    let written = write_as(
        &store,
        directory.path(),
        Supplied { prices: prices.as_ref(), ..Supplied::default() },
        ReportOptions::default(),
    )
    .unwrap();
    Report { _directory: directory, written }
}

fn json(report: &Report) -> Value {
    serde_json::from_slice(&fs::read(&report.written.json).unwrap()).unwrap()
}

#[test]
fn every_throughput_stands_beside_what_a_power_cut_can_take() {
    let report = priced(None);
    let markup = markup(&report.html());
    let summary = section(&markup, "summary").unwrap();
    let labels = summary.matches("<small class=\"kept\">pages ").count();
    let shown = summary.matches("<tr data-config=").count();
    assert_eq!(labels, shown, "beside each row");
    assert!(summary.contains("pages rely on untried recovery · commits safe"), "doublewrite is on");
    assert!(summary.contains("pages at risk · commits safe"), "it is off, on a plain disk");
    let setup = section(&markup, "safety").unwrap();
    assert!(setup.contains("written twice, by the doublewrite buffer"), "{setup}");
    assert!(setup.contains("doublewrite on and doublewrite off differ in crash safety"), "{setup}");
    let factors = "doublewrite on and doublewrite off: innodb_doublewrite, innodb_io_capacity";
    assert!(setup.contains(factors), "{setup}");
    let json = json(&report);
    assert_eq!(json["durability"]["doublewrite on"]["class"], "relies_on_recovery");
    assert_eq!(json["durability"]["doublewrite off"]["pages"], "single");
    assert_eq!(json["summary"][0]["durability"], "pages rely on untried recovery · commits safe");
    for table in ["runs.csv", "summary.csv"] {
        let rows = rows(&report.written.tables.join(table));
        assert!(rows.iter().all(|row| row["durability"].starts_with("pages ")), "{table}");
    }
}

#[test]
fn write_paths_are_shown_and_every_trial_is_in_the_table() {
    let report = priced(None);
    let markup = markup(&report.html());
    let write_path = section(&markup, "write-path").unwrap();
    for text in ["drive → media", "0.720", "device", ">unknown<", "checks of these"] {
        assert!(write_path.contains(text), "{text} is not in {write_path}");
    }
    let rows = rows(&report.written.tables.join("write_path.csv"));
    let of = |row: &BTreeMap<String, String>, name: &str| row["name"] == name;
    let amplified: Vec<f64> = rows
        .iter()
        .filter(|row| row["measure"] == "amplification" && of(row, "drive → media"))
        .map(|row| row["value"].parse().unwrap())
        .collect();
    let json = json(&report);
    let done = json["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|trial| trial["state"] == "done" && trial["config"] == "doublewrite off");
    assert_eq!(amplified.len(), done.count());
    assert!(amplified.iter().all(|factor| (factor / 0.72 - 1.0).abs() < 0.03), "{amplified:?}");
    assert!(
        json["write_path"][0]["layers"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["name"] != "redo log")
    );
}

#[test]
fn without_prices_one_line_says_what_to_add_and_lives_are_told_all_the_same() {
    let report = priced(None);
    let markup = markup(&report.html());
    let ask = "No prices were given, so servers are counted. For money, give currency, years, \
        server_price and drive_price";
    assert!(section(&markup, "cost").unwrap().contains(ask));
    assert_eq!(markup.matches("give currency, years, server_price and drive_price").count(), 1);
    assert!(!report.written.tables.join("cost.csv").exists());
    let life = section(&markup, "endurance").unwrap();
    assert!(life.contains("rated for 17.5 PB (computed, its makers)"), "{life}");
    let is_of = |threads: &str| life.contains(&format!("<span>read_write, {threads}</span>"));
    assert!(is_of("32 threads") && !is_of("1 thread"), "rows are of the most threads: {life}");
    assert!(
        life.contains(
            "Configurations without endurance figures have no rating: give endurance_bytes"
        ),
        "{life}"
    );
    let rows = rows(&report.written.tables.join("endurance.csv"));
    let rated = |row: &BTreeMap<String, String>| !row["life_years_host"].is_empty();
    assert!(rows.iter().all(|row| rated(row) == (row["config"] == "doublewrite on")), "{rows:?}");
    assert!(json(&report).get("costs").is_none());
}

#[test]
fn lives_are_told_for_the_rate_that_was_asked_for_else_for_one_drive_write_a_day() {
    let report = priced(None);
    let by_default = rows(&report.written.tables.join("endurance.csv"));
    assert!(section(&markup(&report.html()), "endurance").unwrap().contains("--writes-per-day 2T"));
    assert!(by_default.iter().all(|row| row["rate"] != "asked"));
    let directory = report.written.html.parent().unwrap();
    let store = Store::open(directory).unwrap();
    let prices = Prices::parse(PRICES).unwrap();
    let wishes = Supplied { writes_per_day: Some(1e12), prices: Some(&prices) };
    let written = write_as(&store, directory, wishes, ReportOptions::default()).unwrap();
    let asked = rows(&written.tables.join("endurance.csv"));
    let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<f64>().unwrap();
    let mut told = BTreeMap::new();
    for row in asked.iter().filter(|row| row["rate"] == "asked") {
        let same = |one: &&BTreeMap<String, String>| {
            one["config"] == "doublewrite on"
                && ["workload", "threads", "repeat"].iter().all(|key| one[*key] == row[*key])
        };
        let base = asked.iter().find(same).unwrap();
        let times =
            number(row, "host_bytes_per_transaction") / number(base, "host_bytes_per_transaction");
        let a_day = number(row, "rate_host_bytes_per_day");
        assert!((a_day / (1e12 * times) - 1.0).abs() < 1e-9, "{row:?}");
        let years = number(row, "rate_life_years_host");
        let rated_bytes = if row["config"] == "doublewrite on" { 17.5e15 } else { 14.6e15 };
        assert!((years * a_day * 365.25 / rated_bytes - 1.0).abs() < 0.01, "{row:?}");
        told.insert(row["config"].clone(), times);
    }
    assert_eq!(told["doublewrite on"], 1.0);
    assert!(told["doublewrite off"] < 0.9, "it writes less for a transaction: {told:?}");
}

#[test]
fn prices_make_costs_of_the_configs_that_have_all_of_them_and_name_what_others_lack() {
    let report = priced(Some(PRICES));
    let markup = markup(&report.html());
    let cost = section(&markup, "cost").unwrap();
    assert!(
        cost.contains("No costs of a&lt;&#x2f;script&gt;&lt;b&gt;&amp;&quot;: give drive_price"),
        "{cost}"
    );
    assert!(cost.contains("All amounts in USD, over 3 years"), "{cost}");
    assert!(cost.contains("server_price 67 %") && cost.contains("drive_price 46 %"), "{cost}");
    let rows = rows(&report.written.tables.join("cost.csv"));
    let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<f64>().unwrap();
    for row in rows.iter().filter(|row| row["missing"].is_empty()) {
        let [low, mid, high] =
            ["cost_per_tps_low", "cost_per_tps", "cost_per_tps_high"].map(|name| number(row, name));
        assert!(low <= mid && mid <= high, "{row:?}");
        let scale = if row["config"] == "doublewrite on" { 15_024.01 } else { 24_868.01 };
        assert!((number(row, "server_cost") / scale - 1.0).abs() < 1e-6, "{row:?}");
        assert!((mid * number(row, "tps") / scale - 1.0).abs() < 1e-6, "{row:?}");
        assert_eq!(number(row, "servers"), (5000.0 / number(row, "tps")).ceil());
    }
    assert!(rows.iter().any(|row| row["missing"] == "drive_price"));
    let summary = super::rows(&report.written.tables.join("summary.csv"));
    let tps = |rows: &[BTreeMap<String, String>]| {
        let row = rows.iter().find(|row| row["config"] == "doublewrite on").unwrap();
        number(row, "tps")
    };
    assert!((tps(&rows) / tps(&summary) / 36.0 - 1.0).abs() < 1e-9, "of the whole device");
}

#[test]
fn servers_replaced_are_the_baselines_by_the_judged_ratio_of_whole_devices() {
    let report = priced(Some(PRICES));
    let json = json(&report);
    let baseline = json["judgement"]["baseline"].as_str().unwrap();
    let mut seen = 0;
    for cost in json["costs"].as_array().unwrap() {
        let is_it = |one: &&Value| {
            one["config"] == cost["config"]
                && one["workload"] == cost["workload"]
                && one["threads"] == cost["threads"]
                && one["metric"] == "tps"
        };
        let judged = json["judgement"]["comparisons"].as_array().unwrap().iter().find(is_it);
        let judged = judged.map(|one| &one["difference"]).filter(|one| one.is_object());
        assert_eq!(judged.is_some(), cost["replaces"].is_object(), "{cost}");
        let Some(judged) = judged else { continue };
        assert_eq!(cost["replaced"], baseline);
        for (ours, ratio) in [
            ("low", &judged["ratio_interval"][0]),
            ("mid", &judged["ratio"]),
            ("high", &judged["ratio_interval"][1]),
        ] {
            let expected = ratio.as_f64().unwrap();
            assert!((cost["replaces"][ours].as_f64().unwrap() / expected - 1.0).abs() < 1e-9);
        }
        seen += 1;
    }
    assert!(seen > 0, "nothing was judged");
}

#[test]
fn several_drives_are_said_to_be_taken_as_one_and_amounts_stand_with_their_currency() {
    let of = |report: &Report| section(&markup(&report.html()), "cost").unwrap();
    let (one, four) = (
        priced(Some(PRICES)),
        PRICES.replace("drive_price = 11414", "drive_price = 11414\ndrives = 4"),
    );
    let four = priced(Some(&four.replace("capacity_bytes = 8e11\n", "")));
    assert!(
        of(&one).contains(">a server, USD<") && of(&one).contains(">a transaction&#x2f;s, USD<")
    );
    assert!(!of(&one).contains("drives per server"), "there is one");
    assert!(
        of(&four).contains("doublewrite off: The cost includes 4 drives per server"),
        "{}",
        of(&four)
    );
    let costs = json(&four)["costs"].clone();
    let of_four = |cost: &&Value| cost["config"] == "doublewrite off";
    let of_four = costs.as_array().unwrap().iter().find(of_four).unwrap();
    assert!(
        of_four["assumed"][0].as_str().unwrap().starts_with("The cost includes 4 drives"),
        "{of_four}"
    );
    assert!(of_four.get("drive_cost_per_gb").is_none(), "what four hold is not known");
}

#[test]
fn the_largest_prices_make_numbers() {
    let report = priced(Some(
        "currency = \"USD\"\nyears = 1e15\nprice_per_kwh = 1e15\nreplicas = \
         4294967295\n[target]\ntps = 1e15\n\
         data_bytes = 1e24\n[every_config]\nserver_price = 1e15\nserver_power_w = \
         1e15\ndrive_power_w = 1e15\ndrive_price = 1e15\n\
         drives = 1e15\ncapacity_bytes = 1e-9\noperating_per_year = 1e15\nendurance_bytes = 1e24\n",
    ));
    let is_odd = |text: &str| ["inf", "NaN", "-inf"].contains(&text);
    for table in ["cost.csv", "endurance.csv"] {
        for row in rows(&report.written.tables.join(table)) {
            assert!(!row.values().any(|value| is_odd(value)), "{table}: {row:?}");
        }
    }
    let costs = json(&report)["costs"].clone();
    assert!(costs.as_array().unwrap().iter().all(|one| one["cost_per_tps"]["high"].is_f64()));
}

#[test]
fn prices_of_a_config_that_is_none_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = study(directory.path(), &Shape::small());
    let prices = Prices::parse("[configs.\"doublewrite of\"]\ndrive_price = 1\n").unwrap();
    let error = write_as(
        &store,
        directory.path(),
        Supplied { prices: Some(&prices), ..Supplied::default() },
        ReportOptions::default(),
    )
    .unwrap_err()
    .to_string();
    assert!(error.contains("there is no configuration `doublewrite of`; did you mean"), "{error}");
}
