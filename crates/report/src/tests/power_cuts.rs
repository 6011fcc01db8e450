//! Power cuts in the report: what they showed stands beside each configuration, in a section and in
//! a table.

use assay_study::PowerCut;
use assay_study::power_cut::{
    Commits, Loss, Moment, PageName, RecoveryTime, Replication, Survival, TornPage,
};

use super::truth::{load, page_of, store};
use super::*;

fn cut(config: &str, number: u32, losses: Vec<Loss>) -> PowerCut {
    let torn = TornPage {
        name: PageName { space: 5, page: 137 },
        offset: 0,
        unit_bytes: 4096,
        is_new: vec![true, false, false, true],
    };
    PowerCut {
        config: config.into(),
        number,
        fingerprint: "same".into(),
        seed: 1,
        block_began_ms: None,
        moment: Moment::PageWrite(30),
        loaded_ms: 700.0,
        survival: Survival { writes: 3, whole: 1, torn: 1, lost: 1, torn_pages: vec![torn] },
        replica: None,
        commits: Some(Commits { acknowledged: 100, lost: 0, unanswered: 0 }),
        recovery: Some(RecoveryTime { server_ms: 900.0, ..RecoveryTime::default() }),
        losses,
        kept_in: None,
        aftermath: None,
    }
}

#[test]
fn what_power_cuts_showed_is_told_of_each_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), &[load("whole", 8, 100.0), load("torn", 8, 90.0)]);
    let without = page_of(directory.path(), &store, None);
    assert!(section(&without, "power-cuts").is_none());
    assert!(!directory.path().join("tables/power_cuts.csv").exists());

    let damage = Loss::Server { reason: "Database page <corruption>".into() };
    for one in [
        cut("whole", 1, vec![]),
        cut("whole", 2, vec![]),
        cut("torn", 1, vec![]),
        cut("torn", 2, vec![damage]),
    ] {
        store.write_power_cut(&one).unwrap();
    }
    let page = page_of(directory.path(), &store, None);
    let cuts = section(&page, "power-cuts").unwrap();
    for told in [
        "no loss in 2 power cuts (of cuts drawn like these at most 1 in 1 loses something",
        "<b>LOSS in 1 of 2 power cuts (of cuts drawn like these 1.3 to 98.7 % lose something, at \
        95 % confidence)</b>",
    ] {
        assert!(cuts.contains(told), "{cuts}");
    }
    let told = "cut 2, in page write 30 after 0.7 s: the server did not start: Database page \
        &lt;corruption&gt;";
    assert!(cuts.contains(told), "{cuts}");
    assert!(cuts.contains("Page 137 of tablespace 5 as power cut 2 of torn left it"), "{cuts}");
    assert_eq!(cuts.matches("class=\"new\"").count(), 2);
    assert_eq!(cuts.matches("class=\"old\"").count(), 2);
    // The time to recover is judged, but not of what lost something.
    assert!(
        cuts.contains(
            "inconclusive; power cuts destroyed data of torn, and a recovery with less \
            data is not compared"
        ),
        "{cuts}"
    );
    // What was shown goes before what settings and disk guarantee.
    let safety = section(&page, "safety").unwrap();
    assert!(safety.contains("<b>LOSS in 1 of 2 power cuts</b>"), "{safety}");
    assert!(safety.contains("; no loss in 2 power cuts</b>"), "{safety}");

    let table = std::fs::read_to_string(directory.path().join("tables/power_cuts.csv")).unwrap();
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(table.lines().nth(2).unwrap().starts_with("torn,2,,1,"), "{table}");
    let results = std::fs::read_to_string(directory.path().join("results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results["power_cuts"].as_array().map(Vec::len), Some(4), "{results}");
    assert_eq!(results["judgement"]["recoveries"][0]["metric"], "recovery_ms", "{results}");
}

#[test]
fn what_power_cuts_took_from_a_pair_stands_beside_what_its_server_keeps_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), &[load("single", 8, 100.0), load("pair", 8, 90.0)]);
    let replica = Some(Replication::Async);
    let losses = vec![Loss::RowMissing { id: 4 }];
    store.write_power_cut(&PowerCut { replica, ..cut("pair", 1, losses) }).unwrap();
    let page = page_of(directory.path(), &store, None);
    let safety = section(&page, "safety").unwrap();
    let told = "; LOSS in 1 of 1 power cut with an asynchronous replica</b>";
    assert!(safety.contains(told), "{safety}");
    let table = std::fs::read_to_string(directory.path().join("tables/power_cuts.csv")).unwrap();
    assert!(table.lines().nth(1).unwrap().starts_with("pair,1,asynchronous,1,"), "{table}");
}

#[test]
fn the_time_to_recover_is_judged_like_any_other_figure() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(directory.path(), &[load("base", 8, 100.0), load("slow", 8, 90.0)]);
    let shown = |is_in_turn: bool| {
        for number in 1..=8 {
            for (config, server_ms, step) in [("base", 900.0, 0.001), ("slow", 1350.0, 0.002)] {
                let server_ms = server_ms * (1.0 + step * (f64::from(number) - 4.5));
                let recovery = Some(RecoveryTime { server_ms, ..RecoveryTime::default() });
                let block_began_ms = is_in_turn.then_some(u64::from(number));
                let cut = PowerCut { recovery, block_began_ms, ..cut(config, number, vec![]) };
                store.write_power_cut(&cut).unwrap();
            }
        }
        section(&page_of(directory.path(), &store, None), "power-cuts").unwrap().to_owned()
    };
    let cuts = shown(true);
    assert!(cuts.contains("worse: 50.0 % longer (95 % interval"), "{cuts}");
    assert!(cuts.contains("against base"), "{cuts}");
    // Cuts of studies stored by earlier versions were made one configuration after another.
    let cuts = shown(false);
    assert!(cuts.contains("inconclusive: 50.0 % longer (95 % interval"), "{cuts}");
    assert!(cuts.contains("not in turn, so a change of the machine"), "{cuts}");
}

#[test]
fn a_study_of_power_cuts_alone_answers_by_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let config = |name: &str| assay_study::Config {
        name: name.into(),
        rig: assay_study::RigRecord::default(),
        settings: [].into(),
    };
    let configs = [config("whole"), config("torn"), config("untried")];
    let head = assay_study::StudyHead { title: "cuts", configs: &configs, ..Default::default() };
    store.write_head(&head).unwrap();
    let lost = vec![Loss::RowMissing { id: 4 }];
    for one in [cut("whole", 1, vec![]), cut("torn", 1, lost)] {
        store.write_power_cut(&one).unwrap();
    }
    let page = page_of(directory.path(), &store, None);
    assert!(
        page.contains("Power cuts destroyed pages, rows or commits of torn, and nothing of whole.")
    );
    assert!(page.contains("2 power cuts of 2 configurations."), "{page}");
    // Commits that the settings may lose are no loss, and are not nothing.
    let commits = Some(Commits { acknowledged: 9, lost: 2, unanswered: 0 });
    store.write_power_cut(&PowerCut { commits, ..cut("untried", 1, vec![]) }).unwrap();
    let page = page_of(directory.path(), &store, None);
    let told = "Power cuts destroyed pages, rows or commits of torn; commits of untried, whose \
        settings allow that, and nothing of whole.";
    assert!(page.contains(told), "{page}");
}
