//! Tests cost and life of a study without prices and without ratings: no figure that results.json
//! lacks, and none that nobody can know.

use super::truth::{Load, load, page_of, store};
use super::*;
use crate::figures::format::{count, figure};
use assay_study::{DiskRecord, Media, Model};

/// A study on models at this scale of parallelism: its page, and results.json.
fn study_of(loads: &[Load<'_>], parallel_scale: f64, prices: Option<&str>) -> Told {
    let directory = tempfile::tempdir().unwrap();
    let mut store = store(directory.path(), loads);
    let media = Media::Model(Model { parallel_scale, ..Model::default() });
    let model = DiskRecord { media, ..DiskRecord::default() };
    let mut study = store.study().unwrap();
    study.configs.iter_mut().for_each(|config| config.rig.disk = Some(model.clone()));
    store.write_head(&StudyHead::from(&study)).unwrap();
    let page = page_of(directory.path(), &store, prices);
    let json = fs::read(directory.path().join("results.json")).unwrap();
    Told { page, json: serde_json::from_slice(&json).unwrap(), directory }
}

struct Told {
    page: String,
    json: Value,
    directory: tempfile::TempDir,
}

impl Told {
    fn rows(&self, table: &str) -> Vec<BTreeMap<String, String>> {
        rows(&self.directory.path().join("tables").join(table))
    }

    fn of(&self, list: &str, config: &str) -> &Value {
        let all = self.json[list].as_array().unwrap();
        all.iter().find(|one| one["config"] == config && one["threads"] == 8).unwrap()
    }
}

/// The cells of a configuration's row.
fn cells(section: &str, config: &str) -> Vec<String> {
    let row = section.split_once(&format!("<span>{config}</span>")).unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    let cells = row.split("<td>").skip(1);
    cells.map(|cell| cell.split_once("</td>").unwrap().0.to_owned()).collect()
}

fn shown(interval: &Value, text: impl Fn(f64) -> String) -> String {
    let [low, mid, high] =
        ["low", "mid", "high"].map(|name| text(interval[name].as_f64().unwrap()));
    if low == high { mid } else { format!("{mid} ({low}–{high})") }
}

/// One that is twice as fast, one that may be as fast, and a slow one, of which a load takes many.
fn loads() -> [Load<'static>; 5] {
    [
        load("new", 8, 200.0),
        Load { off: 0.2, ..load("noisy", 8, 104.0) },
        load("slow", 8, 5.0),
        load("base", 8, 100.0),
        load("base", 1, 50.0),
    ]
}

#[test]
fn servers_and_break_even_prices_are_those_of_the_json_and_of_the_judge() {
    let told = study_of(&loads(), 36.0, None);
    let cost = section(&told.page, "cost").unwrap();
    assert!(told.page.contains("<a href=\"#cost\">Cost</a>"), "the first screen leads there");
    assert!(cost.contains("worth up to, × a server with base"), "{cost}");
    assert!(cost.contains("<span>mixed, 8 threads</span>") && !cost.contains("mixed, 1 thread<"));
    for config in ["new", "noisy", "slow", "base"] {
        let one = told.of("servers", config);
        let [tps, servers, worth, ..] = &cells(&cost, config)[..] else { panic!("{cost}") };
        assert_eq!(*tps, shown(&one["tps"], figure), "{config}");
        let tenths = |value: f64| format!("{value:.1}");
        let whole = |value: f64| count(value as usize);
        let is_many = config == "slow";
        let counted = &one["servers_per_10000_tps"];
        assert_eq!(*servers, if is_many { shown(counted, whole) } else { shown(counted, tenths) });
        let open = if config == "noisy" { ", inconclusive" } else { "" };
        assert_eq!(*worth, shown(&one["worth_up_to"], figure) + open, "{config}");
        assert_eq!(one["worth_up_to"]["is_conclusive"], config != "noisy", "{config}");
    }
    // 36 × 200 of the whole device; 36 × 5 are 180, of which 56 carry 10,000.
    assert!(cells(&cost, "new")[1].starts_with("1.4"), "{cost}");
    assert!(cells(&cost, "slow")[1].starts_with("56"), "{cost}");
    assert_eq!(cells(&cost, "base")[2], "1.00", "what others are measured by");
    let judged = told.json["judgement"]["comparisons"].as_array().unwrap();
    let judged = judged
        .iter()
        .find(|one| one["config"] == "new" && one["threads"] == 8 && one["metric"] == "tps");
    let ratio = judged.unwrap()["difference"]["ratio"].as_f64().unwrap();
    let worth = &told.of("servers", "new")["worth_up_to"];
    assert_eq!(worth["mid"].as_f64().unwrap(), ratio, "of one scale");
    assert_eq!(worth["against"], "base");
}

#[test]
fn the_table_of_servers_is_complete_and_stays_when_prices_are_given() {
    let told = study_of(&loads(), 36.0, None);
    let rows = told.rows("servers.csv");
    assert_eq!(rows.len(), told.json["servers"].as_array().unwrap().len());
    assert_eq!(rows.len(), loads().len(), "of all thread counts");
    for row in rows.iter().filter(|row| row["threads"] == "8") {
        let one = told.of("servers", &row["config"]);
        for name in ["tps", "servers_per_10000_tps", "worth_up_to"] {
            for (bound, end) in [("mid", ""), ("low", "_low"), ("high", "_high")] {
                let value: f64 = row[&format!("{name}{end}")].parse().unwrap();
                assert_eq!(value, one[name][bound].as_f64().unwrap(), "{name}{end}: {row:?}");
            }
        }
        assert_eq!(row["worth_up_to_against"], "base");
    }
    let prices =
        "currency = \"EUR\"\nyears = 2\n[every_config]\nserver_price = 9\ndrive_price = 2\n";
    let priced = study_of(&loads(), 36.0, Some(prices));
    let cost = section(&priced.page, "cost").unwrap();
    assert!(cost.contains("All amounts in EUR") && !cost.contains("worth up to"), "{cost}");
    assert_eq!(priced.rows("servers.csv"), rows);
    assert_eq!(priced.json["servers"], told.json["servers"]);
}

#[test]
fn prices_that_do_not_suffice_leave_servers_and_say_what_is_missing() {
    let told = study_of(&loads(), 1.0, Some("currency = \"EUR\"\nyears = 2\n"));
    let cost = section(&told.page, "cost").unwrap();
    assert!(cost.contains("worth up to"), "{cost}");
    assert!(
        cost.contains("give server_price, drive_price") && !cost.contains("No prices"),
        "{cost}"
    );
}

#[test]
fn without_throughput_nothing_is_said_of_cost() {
    let none = |load: Load<'static>| Load { more: &[("tps", f64::NAN)], ..load };
    let told = study_of(&[none(load("new", 8, 1.0)), none(load("base", 8, 1.0))], 1.0, None);
    assert_eq!(section(&told.page, "cost"), None);
    assert!(!told.page.contains("href=\"#cost\""));
    assert_eq!(told.json["servers"], serde_json::json!([]));
    // One alone is measured by nobody: its servers are counted all the same.
    let alone = study_of(&[load("base", 8, 100.0)], 1.0, None);
    let cost = section(&alone.page, "cost").unwrap();
    assert!(cells(&cost, "base")[1].starts_with("100 ") && !cost.contains("worth up to"), "{cost}");
    assert!(cost.contains("remarks\">pages "), "its crash safety stands beside it: {cost}");
}

/// Bytes of a transaction: 240 kB to the device, and to its flash what `media` says.
fn flash(config: &'static str, media: Option<&'static [(&'static str, f64)]>) -> Load<'static> {
    Load { more: media.unwrap_or(HOST), ..load(config, 8, 100.0) }
}

const HOST: &[(&str, f64)] = &[("disk_write_bytes_per_s", 24e6)];
const PLAIN: &[(&str, f64)] = &[
    ("disk_write_bytes_per_s", 24e6),
    ("drive_write_bytes_host_per_s", 24e6),
    ("drive_write_bytes_media_per_s", 36e6),
];
const SMALL: &[(&str, f64)] = &[
    ("disk_write_bytes_per_s", 24e6),
    ("drive_write_bytes_host_per_s", 24e6),
    ("drive_write_bytes_media_per_s", 6e6),
];

#[test]
fn an_unrated_drive_has_a_life_measured_by_the_baseline() {
    let told = study_of(&[flash("new", Some(SMALL)), flash("base", Some(PLAIN))], 36.0, None);
    let life = section(&told.page, "endurance").unwrap();
    let place = life.split("<th scope=\"col\"").position(|head| head.contains("equal flash"));
    let cell = |config: &str| cells(&life, config)[place.unwrap() - 2].clone();
    let all: Vec<f64> = told.json["endurance"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["config"] == "new")
        .map(|one| one["life_on_equal_flash"].as_f64().unwrap())
        .collect();
    assert_eq!(all.len(), 3);
    let mean = all.iter().sum::<f64>() / 3.0;
    assert!((mean / 6.0 - 1.0).abs() < 0.02, "a sixth of the bytes: {all:?}");
    let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max]
        .map(|pick| all.iter().copied().reduce(pick).unwrap());
    assert_eq!(cell("new"), format!("{} ({}–{})", figure(mean), figure(low), figure(high)));
    assert_eq!(cell("base"), "1.00");
    assert!(life.contains("same transactions as with base (lowest to highest repeat)"), "{life}");
    assert!(life.contains("no rating, so only their life on equal flash is known"), "{life}");
    for row in told.rows("endurance.csv").iter().filter(|row| row["config"] == "base") {
        assert_eq!(row["life_on_equal_flash"], "1");
    }
}

#[test]
fn flash_that_one_side_does_not_count_has_no_life_measured_by_the_other() {
    for sides in [[None, Some(PLAIN)], [Some(SMALL), None], [None, None]] {
        let told = study_of(&[flash("new", sides[0]), flash("base", sides[1])], 36.0, None);
        let life = section(&told.page, "endurance").unwrap();
        assert!(!life.contains("equal flash"), "{life}");
        assert!(life.contains("no rating: give endurance_bytes"), "{life}");
        assert!(!told.json["endurance"].to_string().contains("life_on_equal_flash"));
    }
}
