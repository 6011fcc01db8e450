//! Power cuts: what media are when they lose power, and what no plan may say of it.

use super::*;
use assay_models::power::{Keeps, TearsAt};

fn image(media: &str) -> String {
    format!("kind = \"image\"\nsize = \"1G\"\nmedia = {media}")
}

fn plan(rig: &str, power_cut: &str) -> Result<Plan> {
    let plan = "title = \"t\"\nthreads = [1]\nseconds = 1\n[workloads.w]\nrecipe = \
        \"oltp_read_write\"\n[configs.one]\n";
    Plan::parse(&format!("{plan}[rig]\n{rig}\n[power_cut]\n{power_cut}\n"))
}

#[test]
fn media_tear_and_lose_as_the_plan_says() {
    let nature = |media: &str, is_under_drive| {
        plan(&image(media), "").unwrap().rig.media.unwrap().volatility(is_under_drive).unwrap()
    };
    let unsaid = nature("{ }", false);
    assert_eq!((unsaid.tears_at, unsaid.keeps), (TearsAt::Bytes(4096), Keeps::Any));
    assert_eq!((unsaid.cache_bytes, unsaid.ignores_flush), (64 << 20, false));
    assert_eq!(nature("{ }", true).tears_at, TearsAt::Bytes(512));
    let said = nature(
        "{ tears_at = \"16K\", cache = \"8M\", ignores_flush = true, keeps = \"oldest\" }",
        false,
    );
    assert_eq!((said.tears_at, said.cache_bytes), (TearsAt::Bytes(16384), 8 << 20));
    assert_eq!((said.ignores_flush, said.keeps), (true, Keeps::Oldest));
    assert_eq!(nature("{ tears_at = \"never\" }", false).tears_at, TearsAt::Command);
    let written =
        toml::to_string(&plan(&image("{ tears_at = \"never\" }"), "cuts = 7").unwrap()).unwrap();
    assert_eq!(Experiment::received(&written).unwrap().power_cut.cuts, 7);
}

#[test]
fn what_cannot_be_cut_so_is_refused_with_what_to_do() {
    for (rig, power_cut, expected) in [
        (image("{ tears_at = \"3K\" }"), "", "a power of two from 512 to 1M"),
        (image("{ tears_at = \"256\" }"), "", "a power of two from 512 to 1M"),
        (image("{ cache = \"1K\" }"), "", "cache is 1K; give from 1M to 1G"),
        (image("{ keeps = \"newest\" }"), "", "newest"),
        (image("{ tears = 1 }"), "", "unknown key `tears`"),
        (image("{ }"), "cuts = 0", "cuts is 0; give from 1 to 1000000"),
        (image("{ }"), "rows = 10", "rows is 10; give from 128"),
        (image("{ }"), "workload = \"x\"", "no workload is called `x`"),
        (
            image("{ }"),
            "replicas = { two = \"async\" }",
            "replicas: `two`: there is no such configuration; the plan has `one`",
        ),
        (
            image("{ }"),
            "replicas = { one = \"sync\" }",
            "unknown value `sync`; did you mean `async`?",
        ),
        (
            "kind = \"directory\"\nmedia = { }".into(),
            "",
            "media does not apply to a rig of kind \"directory\"",
        ),
    ] {
        let error = format!("{:#}", plan(&rig, power_cut).unwrap_err());
        assert!(error.contains(expected), "{rig} {power_cut}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn the_power_is_cut_of_images_and_of_drives_in_files() {
    let experiment = |rig: &str| Experiment::of(plan(rig, "").unwrap()).unwrap();
    let allowed = |rig: &str| experiment(rig).check_power_cuts(&["one".into()]);
    assert!(allowed(&image("{ }")).is_ok());
    assert!(allowed("kind = \"drive\"\ncapacity = \"1G\"").is_ok());
    for rig in [
        "kind = \"directory\"",
        "kind = \"drive\"\ndevice = \"/dev/x\"",
        "kind = \"device\"\ndevice = \"/dev/x\"",
    ] {
        let error = allowed(rig).unwrap_err().to_string();
        assert!(error.starts_with("configuration `one`: power cuts need"), "{error}");
    }
    let error = experiment(&image("{ }")).check_power_cuts(&["two".into()]).unwrap_err();
    assert_eq!(error.to_string(), "no configuration is called `two`; the plan has `one`");
}

#[test]
fn a_replica_needs_the_binary_log_and_concerns_its_configuration_alone() {
    let with = |settings: &str| {
        let power_cut = format!("replicas = {{ one = \"semi-sync\" }}\n[settings]\n{settings}");
        plan(&image("{ }"), &power_cut)
    };
    let error = format!("{:#}", with("skip-log-bin = true").unwrap_err());
    assert_eq!(
        error,
        "power_cut: replicas: `one`: a replica reads the binary log; set skip_log_bin = false \
        and log_bin = \"binlog\""
    );
    let spec = with("skip_log_bin = false").unwrap().power_cut.unwrap();
    assert_eq!(spec.of_config("one"), spec);
    assert_eq!(spec.of_config("other"), PowerCutSpec::default());
}
