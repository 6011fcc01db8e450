//! Tests that every command refuses an impossible model in one line with exit code 2, and changes
//! nothing.

use std::process::Command;

use crate::common::{World, has_loop_devices, small_plan};

const P4610: &str = include_str!("../../../../models/p4610-3.2.toml");

/// Asserts that the command is refused with a line that contains `says`, and that only `files`
/// exist.
fn refused(world: &World, words: &[&str], says: &str, files: &[&str]) {
    let line = world.refused(words);
    assert!(line.starts_with("assay: ") && line.contains(says), "`{says}` is not in: {line}");
    assert_eq!(world.listing(), files);
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// Asserts that each command that takes a model refuses it: show, attach, and a plan.
fn refused_by_all(world: &World, model: &str, scale: &str, says: &str) {
    let rig =
        format!("kind = \"model\"\nmodel = {{ preset = \"{model}\", capacity_scale = {scale} }}");
    world.write("plan.toml", &small_plan(&rig));
    let files = world.listing();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let told = ["models", model, "--capacity-scale", scale];
    refused(world, &told, says, &files);
    refused(world, &[&told[..], &["--attach", "new.img"]].concat(), says, &files);
    refused(world, &["run", "plan.toml", "--out", "study"], says, &files);
}

#[test]
fn media_that_no_disk_here_holds_are_not_begun() {
    let world = World::new();
    let words = ["models", "p4610-3.2", "--capacity-scale", "0.3", "--measure", "--work", "."];
    refused(&world, &words, "give --capacity-scale", &[]);
}

#[test]
fn media_that_no_scale_makes_fit_say_what_they_need() {
    if !has_loop_devices() {
        return;
    }
    let world = World::new();
    let room = world.path("room");
    std::fs::create_dir(&room).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=1M", "tmpfs", room.to_str().unwrap()];
    assert!(Command::new("mount").args(mount).status().unwrap().success());
    let line = world.refused(&[
        "models",
        "p4610-3.2",
        "--capacity-scale",
        "6400",
        "--measure",
        "--work",
        "room",
    ]);
    assert!(Command::new("umount").arg(&room).status().unwrap().success());
    assert!(line.contains("no capacity scale makes it fit: the smallest model takes"), "{line}");
}

#[test]
fn a_model_that_is_too_large_for_the_disk_names_its_scale() {
    if !has_loop_devices() {
        return;
    }
    let world = World::new();
    let rig = "kind = \"model\"\nmodel = { preset = \"gp3\", capacity_scale = 0.001 }";
    world.write("plan.toml", &small_plan(rig));
    let words = ["run", "plan.toml", "--out", "study", "--dry-run"];
    refused(&world, &words, "with a larger model.capacity_scale", &["plan.toml"]);
}

#[test]
fn options_that_need_another_are_refused_without_it() {
    let world = World::new();
    for words in [&["models", "--measure"][..], &["models", "gp3", "--seconds", "3"]] {
        assert_eq!(world.run(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn an_attach_that_is_refused_leaves_no_media() {
    if !has_loop_devices() {
        return;
    }
    let world = World::new();
    for model in ["gp3", "p4610-3.2"] {
        let words = ["models", model, "--capacity-scale", "6400", "--attach", "new.img"];
        let words = [&words[..], &["--trace", "missing/a.trace"]].concat();
        refused(&world, &words, "a.trace", &[]);
    }
}

#[test]
fn an_unknown_preset_is_answered_with_the_nearest() {
    let says = "there is no model `p4160-3.2`; did you mean `p4610-3.2`?";
    refused_by_all(&World::new(), "p4160-3.2", "1", says);
}

/// The tests of `assay-presets` cover the other impossible presets.
#[test]
fn a_preset_that_cannot_be_is_refused_with_its_number() {
    let world = World::new();
    let (from, to) = ("link_bytes_per_s = { value = 3_2", "link_bytes_per_s = { value = 7_0");
    assert!(P4610.contains(from), "{from}");
    world.write("mine.toml", &P4610.replacen(from, to, 1));
    let says = "host.link_bytes_per_s is 7000000000; 4 lanes of PCIe 3 carry 3938400000 at most";
    refused_by_all(&world, "./mine.toml", "1", says);
}

#[test]
fn a_scale_that_leaves_too_little_is_refused_with_one_that_does_not() {
    refused_by_all(&World::new(), "p4610-3.2", "1000000", "a capacity scale of 1000000 leaves");
}

#[test]
fn more_data_than_the_logical_drive_is_refused() {
    if !has_loop_devices() {
        return;
    }
    for rig in [
        "kind = \"model\"\nmodel = { preset = \"p4610-3.2\", capacity_scale = 6400 }",
        "kind = \"drive\"\ncapacity = \"256M\"\nlogical = \"600M\"",
    ] {
        let world = World::new();
        let plan = small_plan(rig).replace("table_size = 2000", "table_size = 20000000");
        world.write("plan.toml", &plan);
        let words = ["run", "plan.toml", "--out", "study"];
        refused(&world, &words, "lower table_size or take a larger disk", &["plan.toml"]);
    }
}
