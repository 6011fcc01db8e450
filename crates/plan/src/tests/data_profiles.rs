//! Data profiles multiply workloads, lie over tables and models, and leave plans without them as
//! they were.

use assay_base::Size;
use serde_json::json;

use assay_study::fingerprint;

use super::*;

/// Two workloads over three data profiles, of which `csd` alone has `more`.
pub(super) const SETS: &str = r#"
title = "a plan"
noise_floor = false
threads = [1, 8, 64]
seconds = 10
[data]
tables = 2
table_size = 1000
[rig]
kind = "model"
model = { preset = "p4610-3.2", capacity_scale = 2000, parallel_scale = 36 }
[workloads.read]
recipe = "oltp_read_only"
[workloads.write]
recipe = "oltp_write_only"
[data_profiles.small]
fill = 0.3
[data_profiles.large]
schema = "text"
table_size = 5000
fill = 0.8
ratio = 1.8
threads = [1, 8]
[data_profiles.more]
fill = 1.4
ratio = 2
logical = "2304M"
configs = ["csd"]
capacity_scale = 2100
[configs.plain]
[configs.zlib]
compression = "zlib"
threads = [8, 64]
[configs.csd.rig]
kind = "model"
model = { preset = "csd2000-3.2", capacity_scale = 2000, parallel_scale = 36 }
"#;

fn names(plan: &Plan, config: &str) -> BTreeSet<(String, u32)> {
    let its = trials(plan).into_iter().filter(|trial| trial.key.config == config);
    its.map(|trial| (trial.key.workload, trial.key.threads)).collect()
}

#[test]
fn data_profiles_multiply_the_workloads_of_their_configs() {
    let plan = Plan::parse(SETS).unwrap();
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    let loads: Vec<String> = plan.loads().iter().map(crate::document::LoadName::name).collect();
    assert_eq!(loads[..3], ["small: read", "small: write", "large: read"]);
    let of = |workload: &str, threads: &[u32]| {
        threads.iter().map(|&one| (workload.to_owned(), one)).collect::<Vec<_>>()
    };
    let both = |sets: &[(&str, &[u32])]| -> BTreeSet<(String, u32)> {
        let each = |(set, threads): &(&str, &[u32])| {
            [of(&format!("{set}: read"), threads), of(&format!("{set}: write"), threads)].concat()
        };
        sets.iter().flat_map(each).collect()
    };
    assert_eq!(names(&plan, "plain"), both(&[("small", &[1, 8, 64]), ("large", &[1, 8])]));
    assert_eq!(names(&plan, "zlib"), both(&[("small", &[8, 64]), ("large", &[8])]));
    let all = both(&[("small", &[1, 8, 64]), ("large", &[1, 8]), ("more", &[1, 8, 64])]);
    assert_eq!(names(&plan, "csd"), all);
}

#[test]
fn what_a_data_profile_says_lies_over_tables_and_models() {
    let plan = Plan::parse(SETS).unwrap();
    let variants = plan.variants();
    let of = |name: &str| variants.iter().find(|one| one.key.to_string() == name).unwrap();
    let zlib = of("configuration `zlib` on data profile `large`");
    assert_eq!(zlib.schema.kind, assay_load::SchemaKind::Text);
    assert_eq!((zlib.schema.tables, zlib.schema.table_size), (2, 5000));
    assert_eq!(zlib.schema.create_table_options, "COMPRESSION='zlib'");
    let model = zlib.rig.model.as_ref().unwrap();
    assert_eq!((model.fill, model.ratio, model.capacity_scale), (0.8, 1.8, 2000.0));
    let more = of("configuration `csd` on data profile `more`").rig.model.as_ref().unwrap();
    assert_eq!((more.capacity_scale, more.logical), (2100.0, Some(Size(2304 << 20))));
    let small = of("configuration `plain` on data profile `small`");
    assert_eq!(small.schema.table_size, 1000, "what it does not say is the plan's");
}

#[test]
fn trials_of_different_data_profiles_have_different_conditions() {
    let plan = Plan::parse(SETS).unwrap();
    let prints = |plan: &Plan| -> BTreeSet<String> {
        trials(plan).into_iter().map(|trial| trial.fingerprint).collect()
    };
    // Thread counts and repeats share conditions; configuration, data profile and workload do not.
    assert_eq!(prints(&plan).len(), plan.variants().len() * 2);
    let renamed = Plan::parse(&SETS.replace("data_profiles.small", "data_profiles.tiny")).unwrap();
    assert_eq!(prints(&plan), prints(&renamed), "a name is no condition");
    assert_ne!(prints(&plan), prints(&Plan::parse(&SETS.replace("0.3", "0.4")).unwrap()));
}

#[test]
fn plans_without_data_profiles_keep_the_fingerprints_of_older_studies() {
    let plan = Plan::parse(PLAN).unwrap();
    let trial = trials(&plan).into_iter().find(|trial| trial.key.config == "zlib").unwrap();
    let config = &plan.configs["zlib"];
    // As it was before there were data profiles.
    let conditions = json!({
        "seed": 1, "seconds": 10.0, "warmup": [0.0, false],
        "pace": plan.pace_of(""), "location": null,
        "server": null, "placement": plan.placement,
        "schema": { "schema": "default", "tables": 1, "table_size": 10_000,
            "auto_inc": true, "secondary": false,
            "create_secondary": true, "mysql_storage_engine": "innodb",
            "create_table_options": "COMPRESSION='zlib'", "text": null },
        "settings": plan.settings_of(config), "rig": { "kind": "directory" },
        "workload": plan.workloads["read_write"],
    });
    assert_eq!(trial.fingerprint, fingerprint(&conditions.to_string()));
    let text = toml::to_string(&plan).unwrap();
    assert!(!["data_profiles", "quick", "paper"].iter().any(|key| text.contains(key)));
}

#[test]
fn data_profiles_that_cannot_be_are_refused() {
    for (from, to, says) in [
        ("configs = [\"csd\"]", "configs = [\"cds\"]", "data profile `more`: configs names `cds`"),
        (
            "configs = [\"csd\"]",
            "",
            "configuration `plain` on data profile `more`: model: logical is more than the \
            capacity of p4610-3.2",
        ),
        (
            "[1, 8]\n",
            "[1, 9]\n",
            "data profile `large`: threads has 9, which is not among the plan's threads",
        ),
        ("[8, 64]", "[9]", "configuration `zlib`: threads has 9"),
        ("table_size = 5000", "table_sise = 5000", "did you mean `table_size`?"),
        ("logical = \"2304M\"", "", "model: fill is 1.4: more data than the logical size"),
        (
            "fill = 0.8",
            "fill = 1.01",
            "configuration `plain` on data profile `large`: model: fill is 1.01: more data than",
        ),
        ("data_profiles.small", "data_profiles.\"a/b\"", "is not a valid name"),
    ] {
        let message = error(&SETS.replace(from, to));
        assert!(message.contains(says), "{to}: {message}");
    }
    let none = SETS.replace("[data_profiles.small]", "[data_profiles.small]\nconfigs = [\"csd\"]");
    let none = none.replace("[data_profiles.large]", "[data_profiles.large]\nconfigs = [\"csd\"]");
    assert!(error(&none).contains("configuration `plain` is in no data profile"));
    let image = "[configs.image.rig]\nkind = \"image\"\nsize = \"1G\"\n";
    let mixed = format!("{SETS}{image}").replace("configs = [\"csd\"]", "configs = [\"image\"]");
    assert!(error(&mixed).contains("data profile `more`: fill, logical, ratio and capacity_scale"));
    let same = format!("{SETS}[data_profiles.\"small: read\"]\n[workloads.\"read: read\"]\n")
        + "recipe = \"oltp_read_only\"\n";
    let same = same.replace("[workloads.read]", "[workloads.\"x\"]");
    assert!(Plan::parse(&same).is_ok(), "names that differ are taken");
}
