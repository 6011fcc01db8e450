//! The quick profile lies over the plan, key by key, and is held to the same rules.

use super::super::shipped::PLANS;
use super::*;
use assay_base::Size;

fn with_quick(quick: &str) -> String {
    format!("{PLAN}{quick}")
}

const QUICK: &str = "[quick]\nseconds = 2\nthreads = [8]\nrepeats = 1\n[quick.rig]\nsize = \"1G\"\n\
                     [quick.workloads.read_write]\nrand_type = \"zipf\"\n";

#[test]
fn quick_lies_over_tables_and_replaces_the_rest() {
    let text = with_quick(QUICK);
    let (full, quick) = (Plan::parse(&text).unwrap(), Plan::parse_quick(&text).unwrap());
    assert_eq!(full, Plan::parse(PLAN).unwrap(), "the full form is as if there were no other");
    assert_eq!(
        (quick.seconds.unwrap(), quick.threads.as_slice(), quick.repeats.clone()),
        (2.0, &[8][..], RepeatsSpec::from(1))
    );
    let rig = quick.rig_of(&quick.configs["on"]);
    assert_eq!((rig.size, rig.mount_options.len()), (Some(Size(1 << 30)), 2), "joined by key");
    assert_eq!(quick.workloads["read_write"].recipe(), full.workloads["read_write"].recipe());
    assert!(quick.workloads["read_write"].server().unwrap().rand_type.is_some());
    assert_eq!(quick.configs, full.configs);
}

#[test]
fn what_it_leaves_out_is_in_the_full_form_alone() {
    let text = with_quick("[quick]\nexclude = [\"configs.zlib\"]\n");
    let (full, quick) = (Plan::parse(&text).unwrap(), Plan::parse_quick(&text).unwrap());
    assert!(full.configs.contains_key("zlib") && !quick.configs.contains_key("zlib"));
    assert_eq!(quick.configs.len() + 1, full.configs.len());
}

#[test]
fn what_it_does_instead_is_told() {
    let text = with_quick(QUICK);
    let told = Forms::parse(&text).unwrap().choose(PlanForm::Quick, text).unwrap().form.unwrap();
    let says = "2 s measured in place of 10; 1 repeat in place of 3; threads 8 in place of 1, 8; \
        3 runs in place of 18.";
    assert!(told.starts_with(&format!("Quick profile: {says}")), "{told}");
}

#[test]
fn a_quick_form_that_is_not_there_or_wrong_is_refused() {
    let message = format!("{:#}", Plan::parse_quick(PLAN).unwrap_err());
    assert_eq!(
        message,
        "the plan has no quick profile; run it without --quick, or add [quick] to it"
    );
    for (quick, says) in [
        ("[quick]\nsecnods = 2\n", "[quick]: unknown key `secnods`; did you mean `seconds`?"),
        ("[quick]\nthreads = []\n", "[quick]: threads is empty"),
        ("[quick.configs.new]\ncompresion = \"zlib\"\n", "did you mean `compression`?"),
        (
            "[quick]\nexclude = [\"configs.zlob\"]\n",
            "exclude names `configs.zlob`, which the plan does not",
        ),
        ("[quick]\nexclude = [\"zlib\"]\n", "exclude names `zlib`, which"),
        ("[quick]\nexclude = 3\n", "exclude is a list of names such as"),
        ("[quick.quick]\nseconds = 2\n", "[quick]: a quick profile cannot have one itself"),
    ] {
        // Found with the full form, not when somebody is in a hurry.
        let message = error(&with_quick(quick));
        assert!(message.contains(says), "{quick}: {message}");
    }
}

#[test]
fn plans_that_come_with_us_can_be_run_in_every_form() {
    for (name, text) in PLANS {
        let full = Plan::parse(text).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        if *name == "disk" {
            continue;
        }
        let quick = Plan::parse_quick(text).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        assert!(trials(&quick).len() <= 76, "{name}: {} runs", trials(&quick).len());
        assert!(trials(&full).len() >= trials(&quick).len(), "{name}");
    }
    let plan = Plan::read(std::path::Path::new("demo"), PlanForm::Full).unwrap().plan;
    assert_eq!(plan.title, Plan::parse(PLANS[0].1).unwrap().title);
    let message =
        Plan::read(std::path::Path::new("percona-202"), PlanForm::Full).unwrap_err().to_string();
    assert!(message.starts_with("there is no plan `percona-202`"), "{message}");
}
