//! No circle between crates, nor between the top modules of a crate.

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
    let circles = all.iter().flat_map(|(name, graph)| {
        graph.circles().into_iter().map(move |circle| format!("in {name}:\n{circle}"))
    });
    let circles: Vec<String> = circles.collect();
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}
