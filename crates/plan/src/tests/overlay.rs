//! Overlays lie over a plan and its quick profile, and are kept in its text.

use std::path::PathBuf;

use super::super::overlay::merged as lie_over;
use super::super::shipped::PLANS;
use super::*;

const QUICK: &str =
    "[quick]\nseconds = 2\nexclude = [\"configs.zlib\"]\n[quick.settings]\nsync_binlog = 0\n";

fn over(text: &str, overlay: &str) -> Result<String> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("mine.toml");
    std::fs::write(&path, overlay)?;
    lie_over(text.to_owned(), &[path])
}

#[test]
fn an_overlay_has_the_last_word_in_every_form() {
    let text = format!("{PLAN}{QUICK}");
    let overlay = "seconds = 3\n[settings]\nsync_binlog = 1\n";
    let merged = over(&text, overlay).unwrap();
    let (full, quick) = (Plan::parse(&merged).unwrap(), Plan::parse_quick(&merged).unwrap());
    for plan in [&full, &quick] {
        assert_eq!((plan.seconds.unwrap(), plan.settings["sync_binlog"].0.as_str()), (3.0, "1"));
    }
    let before = Plan::parse(PLAN).unwrap();
    assert_eq!(full.configs, before.configs, "in the same order, the rest as it was");
    assert!(before.configs.keys().eq(full.configs.keys()));
    assert_eq!(lie_over(text.clone(), &[]).unwrap(), text);
    let quick_alone = over(&text, "[quick]\nseconds = 1\n").unwrap();
    let told = Plan::parse(&quick_alone).unwrap().overlays.remove(0);
    let change = told.quick_changes.first().unwrap();
    assert!(told.changes.is_empty() && told.quick_changes.len() == 1, "{told:?}");
    assert_eq!((change.key.as_str(), change.before.as_deref()), ("seconds", Some("2")));
    assert_eq!(Plan::parse(&quick_alone).unwrap().seconds, before.seconds);
    assert_eq!(Plan::parse_quick(&quick_alone).unwrap().seconds, Some(1.0));
}

#[test]
fn what_an_overlay_changed_is_kept_in_the_text() {
    let merged =
        over(PLAN, "about = \"why\"\nseconds = 3\nexclude = [\"configs.zlib\"]\n").unwrap();
    let plan = Plan::parse(&merged).unwrap();
    let [overlay] = plan.overlays.as_slice() else { panic!("{:?}", plan.overlays) };
    assert_eq!((overlay.name.as_str(), overlay.about.as_deref()), ("mine", Some("why")));
    let change = |key: &str, before: &str, after: Option<&str>| assay_study::OverlayChange {
        key: key.into(),
        before: Some(before.into()),
        after: after.map(str::to_owned),
    };
    let expected = [change("configs.zlib", "a table", None), change("seconds", "10", Some("3"))];
    assert_eq!(overlay.changes, expected);
    let twice = over(&merged, "seconds = 4\n").unwrap();
    let plan = Plan::parse(&twice).unwrap();
    assert_eq!(plan.overlays.len(), 2);
    assert_eq!(plan.overlays[1].changes, [change("seconds", "3", Some("4"))]);
    let prints = |text: &str| {
        let all = trials(&Plan::parse(text).unwrap());
        all.into_iter().map(|trial| trial.fingerprint).collect::<Vec<_>>()
    };
    let renamed = merged.replace("name = \"mine\"", "name = \"other\"");
    assert_eq!(prints(&renamed), prints(&merged), "the name of an overlay changes no result");
}

#[test]
fn an_overlay_that_is_wrong_is_named_with_what_to_do() {
    let refused = |overlay: &str| {
        let merged = over(PLAN, overlay).and_then(|text| Plan::parse(&text));
        format!("{:#}", merged.unwrap_err())
    };
    assert!(refused("secnods = 3\n").contains("did you mean `seconds`?"));
    assert!(refused("exclude = [\"configs.zlob\"]\n").contains("exclude names `configs.zlob`"));
    assert!(refused("about = 3\n").contains("about is a line of text"));
    assert!(refused("seconds = \n").contains("overlay "), "{}", refused("seconds = \n"));
    let named =
        |name: &str| format!("{:#}", lie_over(PLAN.into(), &[PathBuf::from(name)]).unwrap_err());
    assert_eq!(
        named("producton"),
        "overlay producton: there is no such overlay; did you mean `production`?"
    );
    assert!(named("none.toml").contains("cannot read"), "{}", named("none.toml"));
}

const PAPERS: [&str; 4] = ["percona-2020", "stec-2013", "exflash-2015", "fungible-2021"];

#[test]
fn every_papers_plan_runs_with_production_settings_and_with_a_client_apart() {
    for name in PAPERS {
        for form in [PlanForm::Full, PlanForm::Quick] {
            let plan = |overlays: &[&str]| {
                let overlays: Vec<PathBuf> = overlays.iter().map(PathBuf::from).collect();
                Plan::read_with(name.as_ref(), form, &overlays).map(|read| read.plan)
            };
            let (before, production) = (plan(&[]).unwrap(), plan(&["production"]).unwrap());
            assert_eq!(before.settings["skip_log_bin"].0, "ON", "{name}: the paper had none");
            assert_eq!(trials(&before).len(), trials(&production).len());
            for config in production.configs.values() {
                let settings = production.settings_of(config);
                let is = |key: &str, value: &str| {
                    assert_eq!(settings[key], value, "{name}");
                };
                is("skip_log_bin", "OFF");
                is("sync_binlog", "1");
                is("innodb_flush_log_at_trx_commit", "1");
            }
            let apart: &[&str] = match name {
                "fungible-2021" => &["client-apart", "one-server"],
                _ => &["client-apart"],
            };
            let apart = plan(apart).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert_eq!(apart.server_host().unwrap().ssh, "assay-server");
        }
    }
}

#[test]
fn one_data_profile_of_a_papers_plan_stands_beside_its_own_figures() {
    let profiles = ["default 220G", "default 2.3T", "text 440G", "text 4.7T"];
    let excluded = profiles.map(|name| format!("\"data_profiles.{name}\"")).join(", ");
    let text = PLANS.iter().find(|(name, _)| *name == "percona-2020").unwrap().1;
    // Its pairs name data profiles; others take their place.
    let overlay = format!(
        "exclude = [{excluded}]\ncompare = [{{ config = \"csd, doublewrite off\", against = \
        \"plain, doublewrite on\" }}]\n"
    );
    let plan = Plan::parse(&over(text, &overlay).unwrap()).unwrap();
    let printed = plan.paper.iter().flat_map(|paper| &paper.comparisons);
    let profiles: BTreeSet<_> =
        printed.flat_map(|one| &one.printed).map(|one| one.data_profile.as_deref()).collect();
    assert_eq!(profiles, [Some("text 2.5T")].into());
}

#[test]
fn production_settings_lie_over_every_plan_with_servers_of_its_own() {
    for (name, text) in PLANS.iter().filter(|(name, _)| *name != "endpoint") {
        let merged = lie_over((*text).to_owned(), &[PathBuf::from("production")]).unwrap();
        let plan = Plan::parse(&merged).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        assert_eq!(plan.overlays.len(), 1);
    }
}

#[test]
fn a_slip_in_an_overlay_is_told_of_the_overlay() {
    let directory = tempfile::tempdir().unwrap();
    let told = |text: &str| {
        let path = directory.path().join("mine.toml");
        std::fs::write(&path, text).unwrap();
        let error = Plan::read_with("doublewrite".as_ref(), PlanForm::Full, &[path]).unwrap_err();
        format!("{error:#}")
    };
    let key = told("secondss = 3\n");
    assert!(key.contains("mine.toml: unknown key `secondss`; did you mean `seconds`?"), "{key}");
    let name = told("[configs.\"doublewrite of\".settings]\nsync_binlog = 1\n");
    assert!(
        name.ends_with(
            "the plan has no configuration `doublewrite of`; did you mean `doublewrite off`?"
        ),
        "{name}"
    );
}
