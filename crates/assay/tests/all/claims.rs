//! Tests `assay claims`: lists, arithmetic, exit codes, a file of one's own, and errors in one
//! line.

use crate::common::World;
use serde_json::Value;

const MINE: &str = r#"
title = "Mine"
about = "A paper with one figure too many."
[figures]
cost = { printed = "100", unit = "EUR", where = "page 1", what = "cost of a drive" }
drives = { printed = "3", within = 0, where = "page 1", what = "drives" }
total = { printed = "400", unit = "EUR", where = "page 2", what = "cost of all" }
[[checks]]
name = "total"
where = "page 2"
computed = "cost * drives"
printed = "total"
unit = "EUR"
"#;

fn done(world: &World, words: &[&str], code: i32) -> String {
    let output = world.run(words);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(world: &World, words: &[&str]) -> Value {
    serde_json::from_str(&done(world, words, 0)).unwrap()
}

#[test]
fn papers_are_listed_with_how_they_check_out() {
    let world = World::new();
    let text = done(&world, &["claims"], 0);
    assert!(text.contains("stec-2013               STEC, s1120 PCIe Accelerators"), "{text}");
    let list = json(&world, &["claims", "--json"]);
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 4);
    for (name, wrong) in
        [("percona-scaleflux-2020", 4), ("stec-2013", 6), ("exflash-2015", 2), ("fungible-2021", 0)]
    {
        let listed = list.iter().find(|paper| paper["name"] == name).unwrap();
        assert_eq!(listed["do_not_follow"], wrong, "{listed}");
        assert!(
            listed["follow"].as_u64().unwrap() >= 4 && listed["figures"].as_u64().unwrap() > 40
        );
    }
}

#[test]
fn a_paper_shows_figures_with_their_places_and_the_arithmetic() {
    let world = World::new();
    let text = done(&world, &["claims", "stec-2013"], 0);
    for part in [
        "\nChart 1: sysbench 0.4 oltp, 200 GB, 800 million rows, 20 threads\n",
        "chart1.tps.disks                27 1/s  transactions; 6 x SAS HDD\n",
        "does not follow  cost of a transaction a second: disks (Chart 2; Chart 1)\n",
        "15 024 / 27 = 556.4 (546 to 567), printed 442 (441.5 to 442.5) USD\n",
        "undecidable      11.6 times the CPUs' work (Executive Summary; Results)\n",
        "Little's law: 1000 × 20 / (1 000 000 / (60 × 612)) = 734.4",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let told = json(&world, &["claims", "stec-2013", "--json"]);
    let figure = &told["figures"]["chart1.mean_ms.card"];
    assert_eq!((&figure["printed"][0], &figure["where"]), (&"79.8".into(), &"Chart 1".into()));
    assert_eq!((&figure["config"], &figure["threads"]), (&"s1120".into(), &20.into()));
    let check = told["checks"].as_array().unwrap().iter();
    let cost = check.clone().find(|it| it["name"] == "cost of a transaction a second: disks");
    let (cost, computed) = (cost.unwrap(), &cost.unwrap()["arithmetic"]["computed"]);
    assert_eq!(cost["verdict"], "does not follow");
    assert!((computed["low"].as_f64().unwrap() - 15_023.5 / 27.5).abs() < 1e-9, "{computed}");
}

#[test]
fn the_exit_code_tells_a_figure_that_does_not_follow_only_when_asked() {
    let world = World::new();
    world.write("mine.toml", MINE);
    let text = done(&world, &["claims", "mine.toml"], 0);
    assert!(
        text.contains("100 × 3 = 300 (298.5 to 301.5), printed 400 (399.5 to 400.5) EUR"),
        "{text}"
    );
    done(&world, &["claims", "mine.toml", "--check"], 1);
    world.write("mine.toml", &MINE.replace("\"400\"", "\"301\""));
    done(&world, &["claims", "./mine.toml", "--check"], 0);
    done(&world, &["claims", "fungible-2021", "--check"], 0);
    done(&world, &["claims", "--check"], 1);
}

#[test]
fn what_a_terminal_would_obey_in_a_file_is_shown_and_not_done() {
    let world = World::new();
    let hostile = MINE.replace("\"Mine\"", r#""Mine\u001b]0;owned\u0007""#);
    world.write("mine.toml", &hostile);
    for words in [&["claims", "mine.toml"][..], &["claims", "mine.toml", "--json"]] {
        let text = done(&world, words, 0);
        assert!(text.contains(r"Mine\u001b]0;owned\u0007"), "{text}");
        assert!(!text.contains(|sign: char| sign.is_control() && sign != '\n'), "{text:?}");
    }
    assert_eq!(
        json(&world, &["claims", "mine.toml", "--json"])["title"],
        "Mine\u{1b}]0;owned\u{7}"
    );
    world.write("mine.toml", &MINE.replace("unit = \"EUR\"\n", "\"\\u001b[2J\" = 1\n"));
    let line = world.refused(&["claims", "mine.toml"]);
    assert!(line.contains(r"unknown key `\u001b[2J`"), "{line}");
}

#[test]
fn a_file_that_never_ends_or_begins_is_refused() {
    let world = World::new();
    for words in [["claims", "/dev/zero"], ["claims", "./"]] {
        let line = world.refused(&words);
        assert!(line.contains("holds no claims; name a regular file"), "{line}");
    }
    let help = done(&world, &["claims", "--help"], 0);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("Exit codes: 0 success 1 with --check") && help.contains("2 error"),
        "{help}"
    );
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let world = World::new();
    let line = world.refused(&["claims", "stec-2012"]);
    assert_eq!(line, "assay: there are no claims `stec-2012`; did you mean `stec-2013`?");
    world.write("mine.toml", &MINE.replace("cost * drives", "cost * drive"));
    let line = world.refused(&["claims", "mine.toml"]);
    assert_eq!(
        line,
        "assay: mine.toml: check `total`: line 11: there is no figure `drive`; did you mean \
         `drives`?"
    );
    world.write("mine.toml", &MINE.replace("\nunit = \"EUR\"", "\nunits = \"EUR\""));
    let line = world.refused(&["claims", "mine.toml"]);
    assert!(
        line.contains("mine.toml: line 13: unknown key `units`; did you mean `unit`?"),
        "{line}"
    );
    let line = world.refused(&["claims", "--study", "nowhere"]);
    assert!(line.contains("nowhere holds no study"), "{line}");
}
