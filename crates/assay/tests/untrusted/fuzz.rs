//! Mutated files: a command on one never panics, runs forever or takes unlimited memory, and
//! refuses in a line or answers.
//!
//! Each seed is one case. `ASSAY_SEEDS` sets how many run, `ASSAY_SEED` the first.

use std::ops::Range;

use assay_testing::mutate::{self, Random};
use rusqlite::Connection;

use crate::answer::{Answer, answer};
use crate::common::World;
use crate::{plans, small, traces};

/// Seeds to run.
fn seeds(once: u64, full: u64) -> Range<u64> {
    let of = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first = of("ASSAY_SEED", 0);
    first..first + of("ASSAY_SEEDS", assay_testing::count(once, full))
}

/// Runs a case for each seed; at least one must be refused, and one answered.
fn run(once: u64, full: u64, case: impl Fn(&str, &mut Random) -> Answer) {
    let seeds = seeds(once, full);
    let is_one = seeds.end - seeds.start < 20;
    let mut refused = 0;
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let name = format!("ASSAY_SEED={seed} ASSAY_SEEDS=1");
        let told = case(&name, &mut Random::new(seed));
        if told.code == Some(2) {
            told.refusal(&name);
            refused += 1;
        }
    }
    eprintln!("{refused} of {count} refused");
    assert!(is_one || (0 < refused && refused < count), "the mutations miss what they are for");
}

/// Changes a random value of the study, in any table.
fn spoil_value(db: &Connection, random: &mut Random) {
    let list = |sql: &str| -> Vec<String> {
        let mut statement = db.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().flatten().collect()
    };
    let tables = list("SELECT name FROM sqlite_schema WHERE type = 'table'");
    let table = &tables[random.below(tables.len())];
    if table == "second_latencies" {
        let blob: Vec<u8> = db
            .query_row("SELECT histograms FROM second_latencies", [], |row| row.get(0))
            .unwrap_or_default();
        let sql = "UPDATE second_latencies SET histograms = ?1";
        db.execute(sql, [mutate::bytes(&blob, random)]).unwrap();
        return;
    }
    let columns = list(&format!("SELECT name FROM pragma_table_info('{table}')"));
    let column = &columns[random.below(columns.len())];
    let held =
        list(&format!("SELECT CAST({column} AS TEXT) FROM {table} WHERE {column} IS NOT NULL"));
    let old = held.get(random.below(held.len())).cloned().unwrap_or_default();
    let new = mutate::text(&old, random);
    let value = match new.parse::<f64>() {
        Ok(number) if number.is_finite() && random.below(3) > 0 => new.clone(),
        _ => format!("'{}'", new.replace(['\'', '\0'], "")),
    };
    // Some changes violate a constraint of the table and have no effect.
    let one = if random.below(2) == 0 {
        format!("WHERE CAST({column} AS TEXT) = ?1")
    } else {
        "WHERE ?1 = ?1".into()
    };
    let _ = db.execute(&format!("UPDATE OR REPLACE {table} SET {column} = {value} {one}"), [old]);
}

#[test]
fn any_study_is_refused_or_told() {
    let donor = World::new();
    small::study(&donor.path("study"));
    let image = std::fs::read(donor.path("study/study.sqlite")).unwrap();
    run(120, 900, |name, random| {
        let world = World::new();
        std::fs::create_dir(world.path("study")).unwrap();
        let path = world.path("study/study.sqlite");
        if random.below(3) == 0 {
            std::fs::write(&path, mutate::bytes(&image, random)).unwrap();
        } else {
            std::fs::write(&path, &image).unwrap();
            let db = Connection::open(&path).unwrap();
            for _ in 0..=random.below(3) {
                spoil_value(&db, random);
            }
        }
        answer(&world, name, &["compare", "study", "on", "off"]);
        answer(&world, name, &["report", "study"])
    });
}

#[test]
fn any_trace_is_refused_or_replayed() {
    let head = serde_json::to_string(&traces::head()).unwrap();
    run(80, 600, |name, random| {
        let world = World::new();
        let bytes = match random.below(2) {
            0 => mutate::bytes(&traces::trace(&head), random),
            _ => traces::trace(&mutate::text(&head, random)),
        };
        std::fs::write(world.path("a.trace"), bytes).unwrap();
        answer(&world, name, &["replay", "a.trace"])
    });
}

#[test]
fn any_plan_is_refused_or_checked() {
    let shipped = ["disk", "doublewrite", "powercut-layers", "exflash-2015"];
    let texts: Vec<String> = shipped
        .iter()
        .map(|name| {
            let path = format!("{}/../../plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap()
        })
        .chain([plans::plan("repeats = 2", "kind = \"image\"\nsize = \"1G\"", "")])
        .collect();
    run(120, 900, |name, random| {
        let world = World::new();
        let text = mutate::text(&texts[random.below(texts.len())], random);
        world.write("plan.toml", &text);
        let told = answer(&world, name, &["run", "plan.toml", "--out", "study", "--dry-run"]);
        assert_eq!(world.listing(), ["plan.toml"], "{name}: a dry run made something");
        told
    });
}

#[test]
fn any_property_file_is_refused_or_read() {
    let text = "# a workload\nrecordcount=1000\noperationcount = 1000\n\
        readproportion=0.5\nupdateproportion: 0.5\nscanproportion=0\n\
        requestdistribution=zipfian\nfieldcount=10\nfieldlength=100\n\
        threadcount=4\ntable=usertable\\u0031\ntarget=100\\\n0\n";
    let seeds = seeds(80, 600);
    for seed in seeds {
        let name = format!("ASSAY_SEED={seed} ASSAY_SEEDS=1");
        let world = World::new();
        world.write("w", &mutate::text(text, &mut Random::new(seed)));
        // Nothing listens there: a valid file is refused for that reason.
        let to = "db.url=jdbc:mysql://127.0.0.1:1/x";
        let told = answer(&world, &name, &["load", "ycsb", "run", "jdbc", "-P", "w", "-p", to]);
        told.refusal(&name);
    }
}
