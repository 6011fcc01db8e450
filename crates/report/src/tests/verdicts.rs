//! Verdicts stand in the page, in the tables and in `results.json`, and say the same everywhere.

use super::*;

#[test]
fn every_pair_is_judged_and_no_failed_trial_is() {
    let report = report(&Shape::small());
    let rows = rows(&report.written.tables.join("verdicts.csv"));
    let json: Value = serde_json::from_slice(&fs::read(&report.written.json).unwrap()).unwrap();
    let comparisons = json["judgement"]["comparisons"].as_array().unwrap();
    assert_eq!(rows.len(), comparisons.len());
    // Two configurations against the first, two workloads, three thread counts and all of them,
    // five figures.
    assert_eq!(rows.len(), 2 * 2 * 4 * 5);
    for row in &rows {
        let is_failed = row["config"] == "doublewrite off"
            && row["workload"] == "read_write"
            && ["8", ""].contains(&row["threads"].as_str());
        assert!(!is_failed || row["verdict"] == "inconclusive", "{row:?}");
        assert!(!is_failed || row["because"].contains("failed"), "{row:?}");
    }
    let of = |workload: &str| {
        let is_it = |row: &&BTreeMap<String, String>| {
            row["config"] == "doublewrite off"
                && row["workload"] == workload
                && row["threads"] == "32"
                && row["metric"] == "tps"
        };
        rows.iter().find(is_it).unwrap().clone()
    };
    let found = of("write_only");
    let ratio: f64 = found["ratio"].parse().unwrap();
    assert!((1.0..1.4).contains(&ratio), "{found:?}");
    assert_eq!((found["basis"].as_str(), found["repeats"].as_str()), ("repeats", "2"));
    let text = markup(&report.html());
    assert!(text.contains("id=\"verdicts\"") && text.contains(&found["text"]), "{}", found["text"]);
    assert!(text.contains("there is no noise floor"));
    assert!(!text.contains("</script><b>"), "names are escaped");
    assert!(report.written.tables.join("stalls.csv").is_file());
}

#[test]
fn response_times_by_kind_of_statement_are_in_the_tables() {
    let report = report(&Shape::small());
    let statements = rows(&report.written.tables.join("statements.csv"));
    let json: Value = serde_json::from_slice(&fs::read(&report.written.json).unwrap()).unwrap();
    let runs = json["judgement"]["runs"].as_array().unwrap();
    assert_eq!(statements.len(), runs.len(), "one kind in each run that is done");
    let row = &statements[0];
    let told = ["statement", "count", "latency_ms_p50", "latency_ms_p95"].map(|name| &*row[name]);
    assert_eq!(told, ["point_select", "1000", "0.1", "2"]);
    assert_eq!(runs[0]["statements"][0]["latency_ms_p95"], 2.0);
}

#[test]
fn kinds_of_statement_that_the_plan_asks_for_have_verdicts_in_page_and_json() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = fixture::study(directory.path(), &Shape::small());
    let asked = vec!["point_select".to_owned()];
    let held = store.study().unwrap();
    let judging = assay_study::Judging { percentiles_by_statement: asked, ..held.judging.clone() };
    let head = assay_study::Study { judging, ..held };
    store.write_head(&assay_study::StudyHead::from(&head)).unwrap();
    let written = write(&store, directory.path()).unwrap();
    let page = fs::read_to_string(&written.html).unwrap();
    assert!(page.contains("Percentiles by kind of statement"));
    assert!(page.contains("point_select p95"));
    let json: Value = serde_json::from_slice(&fs::read(&written.json).unwrap()).unwrap();
    let comparisons = json["judgement"]["comparisons"].as_array().unwrap();
    let its = |one: &&Value| one["metric"] == "latency_ms_p95{point_select}";
    assert!(comparisons.iter().find(its).is_some_and(|one| one["verdict"].is_string()));
}
