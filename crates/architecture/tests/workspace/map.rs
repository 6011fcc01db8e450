//! Checks that the map in `ARCHITECTURE.md` matches the dependencies that Cargo enforces.

use std::collections::BTreeSet;

use assay_architecture::workspace;

/// The line before the drawing.
const TITLE: &str = "Who uses whom, from below";

/// Crates for tests only, which the map leaves out.
const FOR_TESTS: [&str; 3] = ["testing", "architecture", "drive-scheduled"];

/// Pairs (user, used) of a drawing: `a, b → c → d` yields `c` uses `a`, `c` uses `b`, `d` uses `c`.
fn drawn(text: &str) -> BTreeSet<(&str, &str)> {
    let (_, behind) = text.split_once(TITLE).unwrap();
    let drawing = behind.split("```").nth(1).unwrap();
    let mut pairs = BTreeSet::new();
    for line in drawing.lines() {
        let groups: Vec<Vec<&str>> =
            line.split('→').map(|group| group.split(',').map(str::trim).collect()).collect();
        for pair in groups.windows(2) {
            pairs.extend(
                pair[1].iter().flat_map(|user| pair[0].iter().map(move |used| (*user, *used))),
            );
        }
    }
    pairs
}

#[test]
fn the_map_shows_what_cargo_allows() {
    let metadata = workspace::metadata().unwrap();
    let graph = workspace::crates(&metadata);
    let short = |name| str::strip_prefix(name, "assay-").unwrap_or(name);
    let all = graph.direct().into_iter().map(|(user, used)| (short(user), short(used)));
    let real: BTreeSet<_> = all.filter(|(user, _)| !FOR_TESTS.contains(user)).collect();
    let text = std::fs::read_to_string(metadata.workspace_root.join("ARCHITECTURE.md")).unwrap();
    let drawn = drawn(&text);
    let missing: Vec<_> = real.difference(&drawn).collect();
    let wrong: Vec<_> = drawn.difference(&real).collect();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "(user, used) missing: {missing:?}, wrong: {wrong:?}"
    );
}

#[test]
fn a_drawing_gives_each_arrow() {
    let text = "Who uses whom, from below:\n\n```\na, b → c → d\n```\n";
    assert_eq!(drawn(text), [("c", "a"), ("c", "b"), ("d", "c")].into());
}
