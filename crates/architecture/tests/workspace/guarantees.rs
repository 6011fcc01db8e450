//! Checks that `docs/guarantees.md` names existing tests, and that those of `./assay test` also run
//! there and not with `--full` alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_architecture::workspace;

pub(crate) fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The tests of a source by name; true if the test is ignored.
fn tests_of(text: &str) -> BTreeMap<String, bool> {
    let mut tests = BTreeMap::new();
    let (mut is_test, mut is_ignored) = (false, false);
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            (is_test, is_ignored) = (true, false);
        } else if line.starts_with("#[ignore") {
            is_ignored = true;
        } else if let Some(rest) = line.strip_prefix("fn ").filter(|_| is_test) {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            tests.insert(name.to_owned(), is_ignored);
            is_test = false;
        }
    }
    tests
}

/// The tests named in a table of guarantees: column, crate, function.
pub(crate) fn named(table: &str) -> Vec<(usize, &str, &str)> {
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let cells = rows.flat_map(|row| row.split(" | ").enumerate().skip(1));
    let words = cells.flat_map(|(column, cell)| {
        cell.split('`').skip(1).step_by(2).map(move |word| (column, word))
    });
    words.filter_map(|(column, word)| word.split_once("::").map(|(a, b)| (column, a, b))).collect()
}

/// Wrong names in a table of guarantees: unknown, or ignored although in the column of `./assay
/// test`.
pub(crate) fn wrong(
    table: &str,
    tests_of_crate: impl Fn(&str) -> BTreeMap<String, bool>,
) -> Vec<String> {
    let problem = |(column, owner, name): (usize, &str, &str)| match tests_of_crate(owner).get(name)
    {
        None => Some(format!("{owner}::{name} is no test")),
        Some(true) if column == 1 => Some(format!("{owner}::{name} is ignored")),
        Some(_) => None,
    };
    named(table).into_iter().filter_map(problem).collect()
}

/// The tests of every crate that a table names, by name; true if the test is ignored.
pub(crate) fn tests_by_crate<'a>(
    root: &Path,
    table: &'a str,
) -> BTreeMap<&'a str, BTreeMap<String, bool>> {
    let mut all: BTreeMap<&str, BTreeMap<String, bool>> = BTreeMap::new();
    for (_, owner, _) in named(table) {
        let files = sources(&root.join("crates").join(owner));
        let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
        all.entry(owner).or_insert_with(|| texts.flat_map(|text| tests_of(&text)).collect());
    }
    all
}

#[test]
fn every_guarantee_names_tests_that_run() {
    let root = workspace::metadata().unwrap().workspace_root.into_std_path_buf();
    let table = std::fs::read_to_string(root.join("docs/guarantees.md")).unwrap();
    let all = tests_by_crate(&root, &table);
    assert!(all.len() > 10, "the table names few crates: {:?}", all.keys());
    assert_eq!(wrong(&table, |owner| all[owner].clone()), Vec::<String>::new());
}

#[test]
fn a_test_that_is_not_there_or_does_not_run_is_found() {
    let tests = tests_of("#[test]\nfn one() {\n#[test]\n#[ignore = \"in --full\"]\nfn two() {");
    let table = "| a | `disk::one`, `disk::three` | `disk::two` |\n| b | `disk::two` | – |";
    assert_eq!(wrong(table, |_| tests.clone()), ["disk::three is no test", "disk::two is ignored"]);
}
