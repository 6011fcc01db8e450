//! Mutated plans are parsed or refused in plain words, without a panic.

#![allow(clippy::unwrap_used)]

mod body;

use std::path::Path;

use assay_testing::{count, mutate};

#[test]
fn a_mutated_plan_is_parsed_or_refused() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let plans = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let plans = plans.filter(|path| path.extension().is_some_and(|name| name == "toml"));
    let texts: Vec<String> = plans.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(texts.len() > 5);
    for seed in 0..count(300, 30_000) {
        let mut random = mutate::Random::new(seed);
        let text = &texts[random.below(texts.len())];
        body::plan(&mutate::text(text, &mut random));
    }
}
