//! Plans that are right are read whole; plans that are wrong are refused in one line that says what
//! to do.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_load::{Generator, Recipe};

use assay_study::{Sessions, TrialKey};

use super::document::RepeatsSpec;
use super::experiment::trials;
use super::read::Forms;
use super::*;
use assay_base::Size;
use assay_presets::CompressionUnit;

mod compare;
mod data_profiles;
mod design;
mod factors;
mod hosts;
mod noise;
mod objective;
mod overlay;
mod papers;
mod phases;
mod pools;
mod power_cuts;
mod prices;
mod quick;
mod rates;

const PLAN: &str = r#"
title = "a plan"
noise_floor = false
threads = [1, 8]
seconds = 10
repeats = 3
[settings]
innodb_buffer_pool_size = "64M"
innodb-doublewrite = true
[rig]
kind = "image"
size = "2G"
mount_options = ["noatime", "data=writeback"]
[workloads.read_write]
recipe = "oltp_read_write"
[configs.on]
[configs.off.settings]
innodb_doublewrite = false
[configs.zlib]
compression = "zlib"
rig = { kind = "directory" }
"#;

fn error(text: &str) -> String {
    let message = format!("{:#}", Plan::parse(text).unwrap_err());
    assert!(!message.contains('\n'), "one line: {message}");
    message
}

#[test]
fn a_thread_count_alone_is_refused_with_the_list_to_write() {
    let plan = include_str!("../../../plans/demo.toml");
    let line = plan.lines().find(|line| line.starts_with("threads = ")).unwrap();
    let told = format!("{:#}", Plan::parse(&plan.replacen(line, "threads = 4", 1)).unwrap_err());
    assert!(told.contains("thread counts are a list: write [4]"), "{told}");
}

#[test]
fn configs_inherit_what_they_do_not_set() {
    let plan = Plan::parse(PLAN).unwrap();
    let names: Vec<&String> = plan.configs.keys().collect();
    assert_eq!(names, ["on", "off", "zlib"], "the order of the file is kept");
    assert_eq!(plan.settings_of(&plan.configs["on"])["innodb_doublewrite"], "ON");
    assert_eq!(plan.settings_of(&plan.configs["off"])["innodb_doublewrite"], "OFF");
    assert_eq!(plan.settings_of(&plan.configs["off"])["innodb_buffer_pool_size"], "64M");
    assert_eq!(plan.rig_of(&plan.configs["on"]).size, Some(Size(2 << 30)));
    assert_eq!(plan.rig_of(&plan.configs["zlib"]).kind, RigKind::Directory);
    assert_eq!(plan.variants()[2].schema.create_table_options, "COMPRESSION='zlib'");
}

#[test]
fn a_plan_written_out_reads_the_same() {
    let plan = Plan::parse(PLAN).unwrap();
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn an_old_sysbench_is_named_with_the_tables_and_by_the_recipe() {
    let old = PLAN.replace("oltp_read_write", "oltp_complex").replace(
        "[settings]",
        "events = 1000000\n[data]\ngenerator = \"sysbench-0.4\"\n[settings]",
    );
    let plan = Plan::parse(&old).unwrap();
    assert_eq!((plan.events, plan.data.generator), (Some(1_000_000), Generator::V04));
    assert_eq!(plan.workloads["read_write"].server().unwrap().recipe, Recipe::OltpComplex);
    plan.workloads["read_write"].server().unwrap().check_tables(&plan.data).unwrap();
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn unknown_keys_are_refused_with_the_nearest() {
    assert_eq!(
        error(&PLAN.replace("repeats", "repeat")),
        "line 6: unknown key `repeat`; did you mean `repeats`?"
    );
    let message = error(&PLAN.replace("compression", "compresion"));
    assert!(message.contains("unknown key `compresion`; did you mean `compression`?"), "{message}");
    let message = error(&PLAN.replace("mount_options", "mount_option"));
    assert!(message.contains("did you mean `mount_options`?"), "{message}");
}

#[test]
fn a_misspelt_workload_is_refused_with_the_nearest() {
    let message = error(&PLAN.replace("oltp_read_write", "oltp_raed_write"));
    assert!(
        message.contains("oltp_raed_write") && message.contains("oltp_read_write"),
        "{message}"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (from, to, says) in [
        ("threads = [1, 8]", "threads = []", "threads is empty"),
        ("threads = [1, 8]", "threads = [1, 1]", "twice"),
        ("threads = [1, 8]", "threads = [2000]", "from 1 to 1000"),
        ("seconds = 10", "seconds = 0", "seconds is 0"),
        ("repeats = 3", "repeats = 0", "repeats is 0"),
        ("repeats = 3", "events = 0", "events is 0"),
        ("repeats = 3", "events = -1", "invalid value"),
        ("repeats = 3", "[data]\ngenerator = \"sysbench-0.6\"", "unknown value `sysbench-0.6`"),
        ("repeats = 3", "rate = -1", "rate is -1"),
        ("repeats = 3", "rate = nan", "rate is NaN"),
        ("[configs.on]", "[configs.\"\\u001b[31m\"]", "is not a valid name"),
        ("size = \"2G\"", "size = \"2M\"", "too small"),
        ("size = \"2G\"", "size = \"two\"", "not a size"),
        ("compression = \"zlib\"", "compression = \"zstd\"", "unknown value `zstd`"),
        (
            "compression = \"zlib\"",
            "compression = \"zlib\"\nkey_block_size = 8",
            "supports only one of them",
        ),
        ("compression = \"zlib\"", "key_block_size = 3", "1, 2, 4, 8 and 16"),
        ("title = \"a plan\"", "", "`title` is missing"),
        ("size = \"2G\"", "", "configuration `on`: a rig of kind \"image\" needs the key size"),
        (
            "rig = { kind = \"directory\" }",
            "rig = { extsize = \"16K\" }",
            "a directory rig has no file system",
        ),
        ("kind = \"image\"", "kind = \"device\"", "does not apply"),
        ("kind = \"image\"", "kind = \"drvie\"", "did you mean `drive`?"),
        (
            "size = \"2G\"",
            "size = \"2G\"\ncodec = \"lz4\"",
            "codec does not apply to a rig of kind",
        ),
    ] {
        let message = error(&PLAN.replace(from, to));
        assert!(message.contains(says), "{to}: {message}");
    }
}

const DRIVE: &str = r#"kind = "drive"
capacity = "1G"
logical = "2G"
codec = "lz4"
unit = "16k"
threads = 8
read_ahead = "40K"
memory = "64M""#;

/// The plan with its own rig on a drive; one configuration still has its directory.
fn on_a_drive(rig: &str) -> String {
    PLAN.replace("kind = \"image\"\nsize = \"2G\"", rig)
}

#[test]
fn a_drive_is_read_whole_and_comes_back_the_same() {
    let plan = Plan::parse(&on_a_drive(DRIVE)).unwrap();
    let drive = |spec: &RigSpec| {
        let PlannedRig::Disk(disk) = PlannedRig::of(spec).unwrap() else { panic!("a disk") };
        let DiskBase::Drive(drive) = disk.base else { panic!("a drive") };
        drive
    };
    let found = drive(plan.rig_of(&plan.configs["on"]));
    assert_eq!((found.size(), found.unit), (Some(Size(2 << 30)), CompressionUnit::Page));
    assert!(
        matches!(found.media, DriveMedia::File { capacity: Size(bytes), .. } if bytes == 1 << 30)
    );
    assert_eq!((found.codec.name(), found.threads), ("lz4", 8));
    assert_eq!(plan.rig_of(&plan.configs["zlib"]).kind, RigKind::Directory);
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    let bare = Plan::parse(&on_a_drive("kind = \"drive\"\ncapacity = \"1G\"")).unwrap().rig;
    let bare = drive(&bare);
    assert_eq!((bare.size(), bare.codec.name()), (Some(Size(1 << 30)), "zstd"));
}

#[test]
fn a_drive_that_cannot_be_is_refused() {
    for (from, to, says) in [
        ("capacity = \"1G\"", "", "needs the key capacity, for a drive in a file, device, for one"),
        ("capacity = \"1G\"", "capacity = \"20M\"", "give capacity = \"256M\" or more"),
        ("capacity = \"1G\"", "capacity = \"999999999\"", "capacity is not a multiple of 4096"),
        ("capacity = \"1G\"", "capacity = \"9E\"", "the capacity may be 32.0 TiB"),
        ("logical = \"2G\"", "logical = \"9E\"", "the logical size may be 64 TiB at most"),
        (
            "capacity = \"1G\"",
            "capacity = \"1G\"\ndevice = \"/dev/x\"",
            "keep one of capacity, device",
        ),
        ("capacity = \"1G\"", "capacity = \"1G\"\nsize = \"1G\"", "size does not apply"),
        ("logical = \"2G\"", "logical = \"300M\"", "give logical = \"512M\" or more"),
        ("logical = \"2G\"", "logical = \"999999999\"", "not a multiple of 4096"),
        ("\"lz4\"", "\"lz5\"", "no codec is called `lz5`; use one of none, lz4, deflate, zstd"),
        ("\"lz4\"", "\"lz4\"\ndictionary = true", "dictionary needs the codec zstd"),
        ("\"16k\"", "\"8k\"", "unknown value `8k`"),
        ("threads = 8", "threads = 0", "from 1 to 1024"),
        ("\"40K\"", "\"300K\"", "give at most 256K, in steps of 4K"),
        ("\"40K\"", "\"5000\"", "give at most 256K, in steps of 4K"),
        ("memory", "memroy", "unknown key `memroy`; did you mean `memory`?"),
    ] {
        let message = error(&on_a_drive(DRIVE).replace(from, to));
        assert!(message.contains(says), "{to}: {message}");
    }
}

#[test]
fn trials_are_interleaved_in_an_order_that_the_seed_decides() {
    let plan = Plan::parse(PLAN).unwrap();
    let trials_once = trials(&plan);
    assert_eq!(trials_once, trials(&plan));
    assert_eq!(trials_once.len(), 3 * 2 * 3);
    let load = |trial: &PlannedTrial| (trial.key.config.clone(), trial.key.threads);
    for block in trials_once.chunks(6) {
        let distinct: BTreeSet<_> = block.iter().map(load).collect();
        assert_eq!(distinct.len(), 6, "each block holds every run once");
        for one_load in block.chunks(3) {
            let threads: BTreeSet<u32> = one_load.iter().map(|trial| trial.key.threads).collect();
            assert_eq!(threads.len(), 1, "what is compared is run together");
        }
    }
    let [first, second] =
        [0, 1].map(|repeat| trials_once.chunks(6).nth(repeat).unwrap().iter().map(load));
    assert!(first.eq(second.rev()), "the second repeat is the first backwards");
    let other = Plan { seed: 2, ..plan };
    let order =
        |trials: &[PlannedTrial]| trials.iter().map(|trial| trial.key.clone()).collect::<Vec<_>>();
    assert_ne!(order(&trials_once), order(&trials(&other)));
    let drawn = Sessions { order_seed: Some(7), ..Sessions::default() };
    let drawn = trials(&Plan { sessions: drawn, ..other.clone() });
    assert_ne!(order(&drawn), order(&trials(&other)), "an order that was drawn for the study");
    let prints = |trials: &[PlannedTrial]| -> BTreeSet<String> {
        trials.iter().map(|trial| trial.fingerprint.clone()).collect()
    };
    assert_eq!(prints(&drawn), prints(&trials(&other)), "and the same runs");
}

#[test]
fn a_session_has_the_repeats_of_a_study() {
    let plan = Plan::parse(PLAN).unwrap();
    let once = trials(&plan);
    let sessions = Sessions { repeats: vec![3, 3], order_seed: None };
    let both = trials(&Plan { sessions: sessions.clone(), ..plan.clone() });
    let keys =
        |trials: &[PlannedTrial]| trials.iter().map(|one| one.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&both[..once.len()]), keys(&once), "the first stays as it is");
    let load = |key: &TrialKey| (key.config.clone(), key.threads, key.repeat);
    let first: BTreeSet<_> = keys(&once).iter().map(load).collect();
    let later: BTreeSet<_> = keys(&both[once.len()..])
        .iter()
        .map(|key| load(&TrialKey { repeat: key.repeat - 3, ..key.clone() }))
        .collect();
    assert_eq!(first, later);
    let sent = Experiment::of(Plan { sessions, ..plan }).unwrap().to_be_sent().unwrap();
    assert_eq!(keys(&Experiment::received(&sent).unwrap().trials()), keys(&both));
    let refused = error(&format!("sessions = {{ repeats = [1, 1] }}\n{PLAN}"));
    assert!(refused.contains("sessions is no key of a plan"), "{refused}");
}

#[test]
fn fingerprints_change_with_the_conditions_only() {
    let plan = Plan::parse(PLAN).unwrap();
    let more =
        Plan { repeats: 5.into(), threads: vec![1, 8, 64], title: "other".into(), ..plan.clone() };
    let longer = Plan { seconds: Some(20.0), ..plan.clone() };
    let bounded = Plan { events: Some(9), ..plan.clone() };
    let find = |plan: &Plan| {
        let key =
            TrialKey { config: "off".into(), workload: "read_write".into(), threads: 8, repeat: 2 };
        trials(plan).into_iter().find(|trial| trial.key == key).unwrap().fingerprint
    };
    assert_eq!(find(&plan), find(&more));
    assert_ne!(find(&plan), find(&longer));
    assert_ne!(find(&plan), find(&bounded));
    // Studies older than these keys go on: what is not set is not there.
    let text = toml::to_string(&plan).unwrap();
    assert!(!["generator", "user_delay", "events"].iter().any(|key| text.contains(key)));
}

#[test]
fn sizes_read_and_print_alike() {
    for (text, bytes) in [
        ("512", 512),
        ("16k", 16 << 10),
        (" 64MiB ", 64 << 20),
        ("4GB", 4 << 30),
        ("2T", 2 << 40),
        ("3P", 3 << 50),
        ("1E", 1 << 60),
        ("1.5G", 3 << 29),
        ("0.25 TiB", 1 << 38),
        ("1.5k", 1536),
        ("0.3M", 76 << 12),
    ] {
        assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        assert_eq!(Size::parse(&Size(bytes).to_string()), Ok(Size(bytes)));
    }
    for bad in [
        "",
        "G",
        "4X",
        "-1",
        "1.5",
        "1.",
        ".5G",
        "1.5.5G",
        "1.-5G",
        "1.3K",
        "15.99999999999E",
        "99999999999T",
        "16E",
    ] {
        assert!(Size::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn settings_that_are_the_rigs_are_refused_by_the_plan_alone() {
    let with = |setting: &str| PLAN.replace("innodb_doublewrite = false", setting);
    for (setting, says) in [
        ("datadir = \"/x\"", "configuration `off`: server setting `datadir` is set by the rig"),
        ("port = 3306", "configuration `off`: server setting `port` is set by the rig"),
        ("\"innodb_doublewrite=1 --datadir\" = \"/etc\"", "is not a server setting"),
        ("general_log_file = \"/x\"", "would put files outside the data directory"),
        ("INNODB_DOUBLEWRITE = false", "is given twice"),
    ] {
        let message = error(&with(setting));
        assert!(message.contains(says), "{setting}: {message}");
    }
    let message = error(&PLAN.replace("innodb_buffer_pool_size = \"64M\"", "socket = \"/x\""));
    assert!(message.contains("server setting `socket` is set by the rig"), "{message}");
    Plan::parse(&with("innodb_doublewrite_pages = 8")).unwrap();
}

#[test]
fn repeats_are_a_number_or_looks_after_which_the_study_may_end() {
    let with = |repeats: &str| PLAN.replace("repeats = 3", &format!("repeats = {repeats}"));
    let plan = |repeats: &str| Plan::parse(&with(repeats)).unwrap();
    assert_eq!(plan("7").repeats, RepeatsSpec::from(7));
    let looks = |repeats: &str| plan(repeats).repeats.looks;
    assert_eq!(looks("{ at_most = 12, looks = [2, 6, 12] }"), [2, 6, 12]);
    assert_eq!(looks("{ at_most = 12 }"), [3, 5, 8, 12]);
    assert_eq!(looks("{ at_most = 10 }"), [3, 5, 8, 10]);
    let planned = plan("{ at_most = 12 }");
    assert_eq!(trials(&planned).len(), 12 * 2 * 3);
    assert_eq!(Plan::parse(&toml::to_string(&planned).unwrap()).unwrap(), planned);
    assert_eq!(Experiment::of(planned).unwrap().judging.looks, [3, 5, 8, 12]);
    for (repeats, says) in [
        ("0", "repeats is 0; give from 1 to 1000"),
        ("-1", "repeats is a number from 1 to 1000"),
        ("\"three\"", "expected a number, or { at_most = 12, looks = [3, 5, 8, 12] }"),
        ("{ looks = [3, 5] }", "at_most"),
        ("{ at_most = 5, looks = [3, 5], more = 1 }", "more"),
        ("{ at_most = 5, looks = [1, 5] }", "give rising numbers from 2"),
        ("{ at_most = 5, looks = [3, 3, 5] }", "give rising numbers from 2"),
        ("{ at_most = 5, looks = [3] }", "ends with 3 and repeats.at_most is 5"),
        ("{ at_most = 9, looks = [1, 2, 3, 4, 5, 6, 7, 8, 9] }", "give rising numbers from 2"),
    ] {
        let message = error(&with(repeats));
        assert!(message.contains(says), "{repeats}: {message}");
    }
}
