//! One configuration runs twice unless the plan says otherwise, and everything else is as it was.

use super::super::shipped::PLANS;
use super::*;

fn with(line: &str) -> String {
    PLAN.replace("noise_floor = false", line)
}

fn aa_runs(plan: &Plan) -> Vec<(&str, &str, Vec<u32>)> {
    let its = plan.configs.iter().filter_map(|(name, config)| {
        let aa_of = config.aa_of.as_deref()?;
        Some((name.as_str(), aa_of, config.threads.clone()))
    });
    its.collect()
}

#[test]
fn the_baseline_is_run_twice_unless_the_plan_says_otherwise() {
    let plan = Plan::parse(&with("")).unwrap();
    assert_eq!(plan.baseline(), Some("on"), "the first configuration");
    assert_eq!(aa_runs(&plan), [("on, again", "on", vec![1, 8])]);
    assert_eq!(plan.configs.get_index(1).unwrap().0, "on, again", "beside its configuration");
    let zlib = Plan::parse(&with("noise_floor = \"zlib\"\nnoise_floor_threads = [8]")).unwrap();
    assert_eq!(aa_runs(&zlib), [("zlib, again", "zlib", vec![8])]);
    assert_eq!(zlib.configs["zlib, again"].compression, zlib.configs["zlib"].compression);
    let off = Plan::parse(&with("baseline = \"off\"\nmargin_percent = 1")).unwrap();
    assert_eq!((aa_runs(&off)[0].1, off.margin_percent), ("off", 1.0));
    assert!(aa_runs(&Plan::parse(PLAN).unwrap()).is_empty());
    for plan in [plan, zlib, off] {
        assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    }
}

#[test]
fn an_aa_run_is_run_under_the_same_conditions_and_no_trial_changes() {
    let plan = Plan::parse(&with("")).unwrap();
    let prints = |plan: &Plan, config: &str| -> Vec<String> {
        let all = trials(plan)
            .into_iter()
            .filter(|trial| trial.key.config == config && trial.key.threads == 8);
        all.map(|trial| trial.fingerprint).collect()
    };
    assert_eq!(prints(&plan, "on, again"), prints(&plan, "on"));
    assert_eq!(prints(&plan, "on"), prints(&Plan::parse(PLAN).unwrap(), "on"));
    let alone = with("").replace("[configs.off.settings]\ninnodb_doublewrite = false\n", "");
    let alone = alone.split("[configs.zlib]").next().unwrap().to_owned();
    assert_eq!(
        aa_runs(&Plan::parse(&alone).unwrap()).len(),
        1,
        "one configuration has a noise floor too"
    );
}

#[test]
fn an_aa_run_goes_where_its_config_goes() {
    let sets = with("")
        + "[data_profiles.a]\nconfigs = [\"on\"]\n[data_profiles.b]\nconfigs = [\"off\", \
            \"zlib\"]\n";
    let plan = Plan::parse(&sets).unwrap();
    assert!(
        plan.data_profiles["a"].has_config("on, again")
            && !plan.data_profiles["b"].has_config("on, again")
    );
}

#[test]
fn what_a_plan_cannot_mean_is_refused() {
    for (line, says) in [
        (
            "baseline = \"of\"",
            "baseline names `of`, which is not a configuration; there are on, off, zlib",
        ),
        ("noise_floor = \"of\"", "noise_floor names `of`"),
        ("noise_floor_threads = [3]", "noise_floor_threads has 3"),
        ("margin_percent = 0", "margin_percent is 0"),
        ("margin_percent = nan", "margin_percent is NaN"),
    ] {
        let message = error(&with(line));
        assert!(message.contains(says), "{line}: {message}");
    }
    let own = with("") + "[configs.more]\naa_of = \"on\"\ncompression = \"lz4\"\n";
    assert!(error(&own).contains("is the A/A run of `on` but differs from it"));
    let lost = with("") + "[configs.more]\naa_of = \"nobody\"\n";
    assert!(error(&lost).contains("aa_of names `nobody`"));
    let taken = with("") + "[configs.\"on, again\"]\n";
    assert!(error(&taken).contains("there is already a configuration `on, again`"));
}

#[test]
fn shipped_plans_measure_by_the_drive_that_is_bought_today() {
    let baselines = PLANS.iter().map(|(name, text)| {
        let plan = Plan::parse(text).unwrap();
        assert_eq!(aa_runs(&plan).len(), 1, "{name}");
        (*name, plan.baseline().unwrap().to_owned())
    });
    let baselines: Vec<(&str, String)> = baselines.collect();
    let expected = [
        ("demo", "plain, doublewrite on"),
        ("disk", "doublewrite on"),
        ("doublewrite", "doublewrite on"),
        ("percona-2020", "plain, doublewrite on"),
        ("stec-2013", "six 15K disks"),
        ("exflash-2015", "PCIe card"),
        ("fungible-2021", "drive, zlib pages"),
        ("endpoint", "server"),
        ("powercut", "atomic drive, doublewrite off"),
        ("powercut-layers", "ext4"),
    ];
    assert_eq!(baselines, expected.map(|(name, config)| (name, config.to_owned())));
}
