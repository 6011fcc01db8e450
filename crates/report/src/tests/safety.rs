//! Crash safety is judged once: whatever a configuration's doublewrite buffer, flush method, file
//! system and disk are, every place that speaks of it says the same, and what it says follows from
//! those four.

use super::*;
use assay_judge::durability;
use assay_judge::durability::Class;
use assay_study::{
    Atomic, Config, DiskRecord, DriveRecord, FileSystem, Media, Model, Outcome, RigRecord,
    TrialKey, WorkloadRecord,
};
use assay_testing::count;

/// Facts that decide whether the pages of a configuration can be torn.
#[derive(Debug, Clone, Copy)]
struct Case {
    doublewrite: &'static str,
    flush_method: &'static str,
    keeps_pages_together: bool,
    disk: &'static str,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for doublewrite in ["ON", "OFF", "DETECT_ONLY", "DETECT_AND_RECOVER"] {
        for flush_method in ["O_DIRECT", "O_DIRECT_NO_FSYNC", "fsync"] {
            for keeps_pages_together in [true, false] {
                for disk in ["image", "device", "directory", "drive", "says so", "says nothing"] {
                    cases.push(Case { doublewrite, flush_method, keeps_pages_together, disk });
                }
            }
        }
    }
    // Five shares no factor with the number of values of any kind, so every value remains.
    cases.into_iter().step_by(count(5, 1)).collect()
}

impl Case {
    fn name(self) -> String {
        let together = if self.keeps_pages_together { "together" } else { "split" };
        format!("{} {} {together} {}", self.doublewrite, self.flush_method, self.disk)
    }

    fn config(self) -> Config {
        let whole = |by_format| Some(Atomic { bytes: 256 << 10, by_format });
        let path = || "/data".into();
        let (media, atomic_write_bytes) = match self.disk {
            "image" => (Media::Image { bytes: 1 << 30, directory: path() }, None),
            "device" => (Media::Device { path: path() }, None),
            "directory" => (Media::Directory { path: path() }, None),
            "drive" => (Media::Drive(DriveRecord::default()), whole(true)),
            "says so" => (Media::Model(Model::default()), whole(false)),
            _ => (Media::Model(Model::default()), None),
        };
        let keeps_pages_together = self.keeps_pages_together;
        let disk =
            DiskRecord { media, atomic_write_bytes, keeps_pages_together, ..DiskRecord::default() };
        let file_system = Some(FileSystem { name: "ext4".into(), ..FileSystem::default() });
        let settings =
            [("innodb_doublewrite", self.doublewrite), ("innodb_flush_method", self.flush_method)];
        Config {
            name: self.name(),
            rig: RigRecord { disk: Some(disk), file_system, ..RigRecord::default() },
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        }
    }

    /// The class of its pages by the manuals: written twice and repaired, or written once, whole,
    /// in one piece, past the page cache.
    fn expected(self) -> Class {
        let is_twice = matches!(self.doublewrite, "ON" | "DETECT_AND_RECOVER");
        let is_one_piece = self.keeps_pages_together && self.flush_method != "fsync";
        match self.disk {
            "drive" if is_one_piece => Class::Safe,
            "says so" if is_one_piece && is_twice => Class::Safe,
            // Nothing is known of the server's version.
            _ if is_twice => Class::ReliesOnRecovery,
            "says so" if is_one_piece => Class::ReliesOnDevice,
            _ => Class::PagesAtRisk,
        }
    }
}

fn study_of(directory: &Path, cases: &[Case]) -> Store {
    let mut store = Store::open_or_create(directory).unwrap();
    let configs: Vec<Config> = cases.iter().map(|case| case.config()).collect();
    let workload = WorkloadRecord {
        name: "w".into(),
        data_profile: None,
        workload: "w".into(),
        recipe: "oltp_read_write".into(),
        options: BTreeMap::new(),
    };
    store
        .write_head(&StudyHead {
            title: "safety",
            configs: &configs,
            workloads: &[workload],
            ..StudyHead::default()
        })
        .unwrap();
    for (position, config) in configs.iter().enumerate() {
        let key =
            TrialKey { config: config.name.clone(), workload: "w".into(), threads: 1, repeat: 1 };
        store.plan_trial(&key, position as u32 + 1, "f").unwrap();
        store.begin_trial(&key).unwrap();
        let results = [("tps".to_owned(), 100.0 + position as f64)].into();
        store.end_trial(&key, &Outcome { results, ..Outcome::default() }).unwrap();
    }
    store
}

/// The texts of a page's elements of this configuration that begin so.
fn said<'a>(markup: &'a str, config: usize, begins: &str) -> Vec<&'a str> {
    let its = format!(" data-config=\"{config}\"");
    let behind = markup.split(its.as_str()).skip(1);
    let its = behind.map(|text| text.split(" data-config=").next().unwrap());
    let marks = its.flat_map(|text| text.split('>'));
    marks
        .filter(|text| text.starts_with(begins))
        .map(|text| text.split('<').next().unwrap())
        .collect()
}

#[test]
fn every_place_says_the_same_of_crash_safety() {
    let directory = tempfile::tempdir().unwrap();
    let cases = cases();
    let store = study_of(directory.path(), &cases);
    let written = write(&store, directory.path()).unwrap();
    let page = markup(&fs::read_to_string(&written.html).unwrap());
    let json: Value = serde_json::from_slice(&fs::read(&written.json).unwrap()).unwrap();
    let tables = ["runs.csv", "summary.csv"].map(|table| rows(&written.tables.join(table)));
    let study = store.study().unwrap();
    for (place, case) in cases.iter().enumerate() {
        let name = case.name();
        let judged = durability::of_stored(&store, &study, &study.configs[place]).unwrap();
        assert_eq!(judged.class, case.expected(), "{name}");
        let stored = &json["durability"][&name];
        assert_eq!(stored["class"], serde_json::to_value(judged.class).unwrap(), "{name}");
        let label = stored["label"].as_str().unwrap();
        for table in &tables {
            let its: Vec<&str> = table
                .iter()
                .filter(|row| row["config"] == name)
                .map(|row| row["durability"].as_str())
                .collect();
            assert_eq!(its, [label], "{name}");
        }
        let on_page = said(&page, place, "pages ");
        assert!(on_page.len() > 1, "{name}: it stands in the summary and under what was run");
        assert!(on_page.iter().all(|text| *text == label), "{name}: {label} and {on_page:?}");
        let why = said(&page, place, "pages: ");
        assert_eq!(why.len(), 1, "{name}");
    }
    // Whom a comparison calls unequally safe is of another class, or keeps its pages by another's
    // word. A fault of the server's recovery does not forbid a comparison.
    let meant = |case: &Case| match case.expected() {
        Class::ReliesOnRecovery => Class::Safe,
        class => class,
    };
    let first = durability::of_stored(&store, &study, &study.configs[0]).unwrap();
    for (case, config) in cases.iter().zip(&study.configs) {
        let kept = durability::of_stored(&store, &study, config).unwrap();
        let is_unlike = !first.unlike(&kept).is_empty();
        assert_eq!(is_unlike, meant(case) != meant(&cases[0]), "{}", case.name());
    }
}

#[test]
fn a_place_that_says_otherwise_is_noticed() {
    let markup = "<tr data-config=\"0\"><td>x</td><small>pages safe</small></tr><tr \
        data-config=\"1\"><b>pages at risk</b></tr>\
        <td data-config=\"0\"><b>pages at risk</b></td>";
    assert_eq!(said(markup, 0, "pages "), ["pages safe", "pages at risk"]);
    assert_eq!(said(markup, 1, "pages "), ["pages at risk"]);
}
