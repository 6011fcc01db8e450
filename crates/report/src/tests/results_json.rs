//! `docs/results-json.md` describes every key of `results.json`, and no other.

use std::collections::BTreeSet;

use super::*;

const DESCRIPTION: &str = include_str!("../../../../docs/results-json.md");

/// Objects whose keys are names of the plan, the server or the catalogue.
const BY_NAME: [&str; 10] = [
    "facts",
    "configs[].settings",
    "workloads[].options",
    "variables",
    "variables.*",
    "runs[].facts",
    "runs[].results",
    "runs[].errors",
    "runs[].servers[].results",
    "summary[].results",
];

/// Adds the paths of all keys below `path`.
fn add_keys(value: &Value, path: &str, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let is_by_name = BY_NAME.contains(&path) || path == "durability";
                let name = if is_by_name { "*" } else { name };
                let key = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                keys.insert(key.clone());
                add_keys(value, &key, keys);
            }
        }
        Value::Array(list) => {
            list.iter().for_each(|value| add_keys(value, &format!("{path}[]"), keys));
        }
        _ => {}
    }
}

fn keys_of(path: &Path) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let json: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    add_keys(&json, "", &mut keys);
    keys
}

/// The keys that the first column of the description's tables holds, with and without `…`.
fn described() -> (BTreeSet<String>, BTreeSet<String>) {
    let cells = DESCRIPTION.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let mut all = BTreeSet::new();
    let mut open = BTreeSet::new();
    for key in cells.flat_map(|(cell, _)| expanded(cell)) {
        match key.strip_suffix('…') {
            Some(key) => open.insert(key.to_owned()),
            None => all.insert(key),
        };
    }
    (all, open)
}

/// `a.{b,c}` as `a.b` and `a.c`.
fn expanded(key: &str) -> Vec<String> {
    let Some((before, rest)) = key.split_once('{') else { return vec![key.to_owned()] };
    let (names, after) = rest.split_once('}').unwrap();
    let each = names.split(',').map(|name| format!("{before}{name}{after}"));
    each.flat_map(|key| expanded(&key)).collect()
}

fn is_below(key: &str, parent: &str) -> bool {
    let rest = key.strip_prefix(parent);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[test]
fn every_key_is_described_and_every_described_key_exists() {
    let directory = tempfile::tempdir().unwrap();
    let with_paper = paper::write_study(directory.path());
    let prices =
        "currency = \"EUR\"\nyears = 5\n[every_config]\nserver_price = 8000\ndrive_price = 500\n";
    let reports = [
        report(&Shape::small()),
        judged::priced(Some(prices)),
        phases::study(),
        several::report_of_servers(),
    ];
    let golden = golden::report();
    let files = reports.iter().map(|report| &report.written.json);
    let files = files.chain([&with_paper.json, &golden.written.json]);
    let keys: BTreeSet<String> = files.flat_map(|file| keys_of(file)).collect();
    let (all, open) = described();
    let is_described =
        |key: &&String| all.contains(*key) || open.iter().any(|parent| is_below(key, parent));
    let undescribed: Vec<&String> = keys.iter().filter(|key| !is_described(key)).collect();
    assert!(undescribed.is_empty(), "not in docs/results-json.md: {undescribed:?}");
    // Keys of studies that none of these is.
    let rare = [
        "claims",
        "discarded",
        "endurance[].life_on_equal_flash",
        "endurance[].life_years_media",
        "judgement.comparisons[].against_workload",
        "judgement.comparisons[].despite_doubtful",
        "judgement.comparisons[].doubtful",
        "judgement.comparisons[].left_out",
        "judgement.comparisons[].question",
        "judgement.comparisons[].ratio_without_doubtful",
        "judgement.days",
        "judgement.recoveries",
        "judgement.starts",
        "judging.aa_runs",
        "judging.compare",
        "judging.design",
        "judging.looks",
        "looks",
        "power_cuts",
        "sessions",
        "sessions.order_seed",
        "sessions.repeats",
        "uncosted",
    ];
    let exists = |key: &&String| keys.contains(*key) || rare.contains(&key.as_str());
    let gone: Vec<&String> = all.iter().chain(&open).filter(|key| !exists(key)).collect();
    assert!(gone.is_empty(), "in docs/results-json.md, but in no results.json: {gone:?}");
}
