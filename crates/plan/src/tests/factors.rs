//! Factors: the configurations of their full cross, and what no factor may be.

use super::*;

const BASE: &str = r#"
title = "factors"
noise_floor = false
threads = [8]
seconds = 10
[rig]
kind = "image"
size = "2G"
[workloads.write]
recipe = "oltp_write_only"
"#;

/// The plan with these factors, written last.
fn with(factors: &str) -> Result<Plan> {
    Plan::parse(&format!("{BASE}{factors}"))
}

fn refused(factors: &str) -> String {
    let message = format!("{:#}", with(factors).unwrap_err());
    assert!(!message.contains('\n'), "one line: {message}");
    message
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.configs.keys().map(String::as_str).collect()
}

const TWO: &str = "[factors]\ninnodb_doublewrite = [true, false]\ncompression = [\"none\", \
                   \"zlib\"]\n";

#[test]
fn the_full_cross_makes_configurations_that_begin_with_the_baseline() {
    let plan = with(TWO).unwrap();
    assert_eq!(
        names(&plan),
        [
            "doublewrite=ON, compression=none",
            "doublewrite=ON, compression=zlib",
            "doublewrite=OFF, compression=none",
            "doublewrite=OFF, compression=zlib",
        ]
    );
    assert_eq!(plan.baseline(), Some("doublewrite=ON, compression=none"));
    let last = &plan.configs["doublewrite=OFF, compression=zlib"];
    assert_eq!(last.compression, Some(PageCompression::Zlib));
    assert_eq!(plan.settings_of(last)["innodb_doublewrite"], "OFF");
    assert_eq!(plan.configs["doublewrite=OFF, compression=none"].compression, None);
    let experiment = Experiment::of(plan.clone()).unwrap();
    let [first, second] = experiment.judging.factors.as_slice() else { panic!() };
    assert_eq!(
        (&*first.name, &first.levels[..]),
        ("innodb_doublewrite", &["ON", "OFF"].map(str::to_owned)[..])
    );
    assert_eq!(second.configs["doublewrite=OFF, compression=zlib"], "zlib");
    let sent = Experiment::received(&experiment.to_be_sent().unwrap()).unwrap();
    assert_eq!(sent.judging, experiment.judging);
    assert_eq!(sent.variants.len(), 4, "another machine adds no configuration twice");
}

#[test]
fn levels_overlay_the_plans_rig_and_stand_beside_other_configurations() {
    let plan = with(
        "[factors.fs]\next4 = {}\nxfs = { rig = { file_system = \"xfs\" } }\n[factors.atime]\n\
         on = {}\noff = { rig.mount_options = [\"noatime\"], settings.innodb-io-capacity = 900 }\n\
         [configs.other]\n",
    )
    .unwrap();
    assert_eq!(names(&plan).last(), Some(&"other"));
    let rig = plan.rig_of(&plan.configs["fs=xfs, atime=off"]).clone();
    assert_eq!((rig.kind, rig.size), (RigKind::Image, plan.rig.size), "the plan's");
    assert_eq!(rig.file_system, Some(FileSystemKind::Xfs));
    assert_eq!(rig.mount_options, ["noatime"]);
    assert_eq!(*plan.rig_of(&plan.configs["fs=ext4, atime=on"]), plan.rig);
}

#[test]
fn a_kind_of_rig_stands_in_place_of_the_plans() {
    let plan = with(
        "[factors.fs]\next4 = { rig = { file_system = \"ext4\" } }\nxfs = { rig = { file_system = \
         \"xfs\" } }\n[factors.drive]\nimage = { rig = { kind = \"image\", size = \"1G\" } }\n\
         drive = { rig = { kind = \"drive\", capacity = \"1G\" } }\n",
    )
    .unwrap();
    let rig = plan.rig_of(&plan.configs["fs=xfs, drive=drive"]).clone();
    assert_eq!(
        (rig.kind, rig.size, rig.file_system),
        (RigKind::Drive, None, Some(FileSystemKind::Xfs))
    );
}

#[test]
fn names_too_long_with_their_factors_have_the_levels_alone() {
    let plan = with(&TWO.replace(
        "[factors]\n",
        "[factors]\ninnodb_flush_log_at_trx_commit = [1, 2]\nx = [1, 2]\n",
    ))
    .unwrap();
    assert_eq!(names(&plan)[0], "1, 1, ON, none");
}

#[test]
fn a_quick_profile_and_an_overlay_change_factors() {
    let text = format!("{BASE}{TWO}[quick]\nexclude = [\"factors.compression\"]\n");
    let plan = Plan::parse_quick(&text).unwrap();
    assert_eq!(names(&plan), ["doublewrite=ON", "doublewrite=OFF"]);
}

#[test]
fn factors_that_cannot_be_crossed_are_refused() {
    for (factors, expected) in [
        ("a = []", "factor `a`: it has no levels; give at least two"),
        (
            "a = [\"x\"]",
            "factor `a`: it has the one level `x`; give at least two, or move it to [settings] or \
             [rig]",
        ),
        ("a = [1, 1]", "factor `a`: levels `1` and `1` set the same; remove one"),
        (
            "a = { b = { threads = [1] }, c = {} }",
            "factor `a`: level `b` cannot have threads; remove it",
        ),
        (
            "a = { b = { setings = {} }, c = {} }",
            "factor `a`: level `b`: unknown key `setings`; did you mean `settings`?",
        ),
        (
            "x-y = [1, 2]\nz = { b = {}, c = { settings = { x_y = 3 } } }",
            "factors `x-y` and `z` both set settings.x_y; leave it to one of them",
        ),
        (
            "a = [1, 2, 3, 4]\nb = [1, 2, 3, 4]\nc = [1, 2, 3, 4, 5]",
            "[factors] multiplies to 80 configurations; give at most 64, with fewer factors or \
             levels",
        ),
        (
            "a = [1, 2]\n[configs.\"a=2\"]",
            "[factors] makes a configuration `a=2`, which [configs] has too; rename that one",
        ),
        (
            "a_factor_with_a_name_of_many_letters_indeed = { x = {}, \"x, y\" = { servers = 2 } }\n\
             another_factor_with_a_long_name_as_well = { \"y, z\" = {}, z = { compression = \
             \"lz4\" } }",
            "[factors] makes two configurations `x, y, z`; rename a level",
        ),
    ] {
        assert_eq!(refused(&format!("[factors]\n{factors}\n")), expected);
    }
    let form = refused("[factors]\na = 1\n");
    assert!(form.contains("expected a list of values, such as"), "{form}");
}

#[test]
fn the_documented_factors_are_taken() {
    let pages = include_str!("../../../../docs/plans.md");
    let example = pages.split("```toml\n").find(|block| block.starts_with("[factors]")).unwrap();
    let plan = with(example.split("```").next().unwrap()).unwrap();
    let names = names(&plan);
    assert_eq!(names.len(), 8);
    for name in [names[0], names[7]] {
        assert!(pages.contains(&format!("`{name}`")), "{name}");
    }
}
