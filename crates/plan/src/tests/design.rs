//! Runs that take turns: which they are, and plans that cannot be run so.

use super::*;
use assay_study::Design;

const TURNS: &str = r#"
title = "turns"
design = "switchback"
noise_floor = false
repeats = 3
threads = [4, 8]
seconds = 8
warmup_seconds = 2
[data]
table_size = 100
[rig]
kind = "image"
size = "1G"
[workloads.reads]
recipe = "oltp_read_only"
[workloads.points]
recipe = "oltp_point_select"
[configs.small]
settings = { innodb_buffer_pool_size = "32M" }
[configs.large]
settings = { innodb_buffer_pool_size = "64M" }
"#;

#[test]
fn runs_under_one_load_have_one_start() {
    let plan = Plan::parse(TURNS).unwrap();
    assert_eq!(Experiment::of(plan.clone()).unwrap().judging.design, Design::Switchback);
    let planned = trials(&plan);
    assert_eq!(planned.len(), 2 * 2 * 2 * 3);
    for start in planned.chunks(2) {
        let load = |trial: &PlannedTrial| {
            (trial.key.workload.clone(), trial.key.threads, trial.key.repeat, trial.start)
        };
        assert_eq!(load(&start[0]), load(&start[1]));
        assert_ne!(start[0].key.config, start[1].key.config);
    }
    let starts: BTreeSet<u32> = planned.iter().map(|trial| trial.start).collect();
    assert_eq!(starts.len(), planned.len() / 2);
    let first = |repeat: u32| {
        let key = |trial: &&PlannedTrial| (trial.key.repeat, &*trial.workload) == (repeat, "reads");
        planned.iter().find(key).map(|trial| trial.key.config.clone())
    };
    assert_ne!(first(1), first(2), "another side begins");
}

#[test]
fn runs_that_follow_each_other_have_starts_of_their_own_and_other_conditions() {
    let plan = Plan::parse(TURNS).unwrap();
    let adjacent = trials(&Plan { design: Design::Adjacent, ..plan.clone() });
    let starts: BTreeSet<u32> = adjacent.iter().map(|trial| trial.start).collect();
    assert_eq!(starts.len(), adjacent.len());
    let prints = |trials: &[PlannedTrial]| -> BTreeSet<String> {
        trials.iter().map(|trial| trial.fingerprint.clone()).collect()
    };
    assert!(prints(&adjacent).is_disjoint(&prints(&trials(&plan))));
    let written = toml::to_string(&Plan { design: Design::Adjacent, ..plan.clone() }).unwrap();
    assert!(!written.contains("design"), "studies older than the key go on");
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn data_profiles_have_starts_of_their_own() {
    let profiles = "[data_profiles.a]\ntable_size = 50\n[data_profiles.b]\ntable_size = 70\n";
    let plan = Plan::parse(&format!("{TURNS}{profiles}")).unwrap();
    for start in trials(&plan).chunks(2) {
        assert_eq!(start[0].start, start[1].start);
        assert_eq!(start[0].variant.data_profile, start[1].variant.data_profile);
    }
}

#[test]
fn a_plan_that_leaves_something_to_the_turn_of_another_is_refused_with_the_reason() {
    let refused = |from: &str, to: &str| error(&TURNS.replacen(from, to, 1));
    for (from, to, says) in [
        ("oltp_read_only", "oltp_read_write", "workload `reads` writes, and the pages that it"),
        ("oltp_read_only", "ycsb_b", "workload `reads` writes"),
        ("seconds = 8", "seconds = 6", "seconds is 6, those of each side"),
        ("warmup_seconds = 2", "warmup_seconds = 3", "give a multiple of 2"),
        (
            "warmup_seconds = 2",
            "warmup_seconds = 60\nwarmup_until_steady = true",
            "warmup_until_steady does not go together with turns of 2 s",
        ),
        ("seconds = 8", "seconds = 8\nrate = 5", "rate does not go together"),
        ("seconds = 8", "seconds = 8\nevents = 5", "events does not go together"),
        ("[configs.small]", "[configs.small]\nservers = 2", "it has several servers"),
        (
            "kind = \"image\"\nsize = \"1G\"",
            "kind = \"drive\"\ndevice = \"/dev/nvme9n1\"\nlogical = \"2G\"",
            "its rig is a device, which one side would have to itself",
        ),
    ] {
        let message = refused(from, to);
        assert!(message.contains(says), "{to}: {message}");
        assert!(message.starts_with("design = \"switchback\""), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let alone = TURNS.split("[configs.large]").next().unwrap();
    assert!(error(alone).contains("1 configurations would take turns; give from 2 to 8"));
    let word = refused("\"switchback\"", "\"sideways\"");
    assert!(word.contains("sideways") && word.contains("adjacent"), "{word}");
}
