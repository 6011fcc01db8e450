//! No circle between crates, nor between the top modules of a crate.

#![allow(clippy::unwrap_used, clippy::panic)]

use assay_architecture::workspace;

#[test]
fn no_crates_use_each_other_in_a_circle() {
    let circles = workspace::crates(&workspace::metadata().unwrap()).circles();
    assert!(circles.is_empty(), "crates use each other in a circle:\n{}", circles.join("\n"));
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let all = workspace::modules(&workspace::metadata().unwrap()).unwrap();
    assert!(
        all.iter()
            .any(|(name, graph)| name == "assay-drive" && graph.drawing().lines().count() > 9)
    );
    for (name, graph) in all {
        let circles = graph.circles();
        assert!(circles.is_empty(), "in {name}:\n{}", circles.join("\n"));
    }
}
