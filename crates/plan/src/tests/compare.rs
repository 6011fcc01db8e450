//! Pairs that a plan asks about: what is taken, what is refused and what is said then.

use super::data_profiles::SETS;
use super::*;

/// A plan with two workloads and three data profiles, of which only `csd` has `more`, and these
/// pairs.
fn asking(pairs: &str) -> Result<Plan> {
    Plan::parse(&format!("{SETS}{pairs}"))
}

fn refused(pair: &str) -> String {
    format!("{:#}", asking(&format!("[[compare]]\n{pair}\n")).unwrap_err())
}

#[test]
fn pairs_are_taken_in_their_order_and_change_no_run() {
    let text = r#"
[[compare]]
config = "zlib"
against = "csd"
workload = "write"
[[compare]]
config = "csd"
against = "plain"
data_profile = "more"
against_data_profile = "large"
"#;
    let plan = asking(text).unwrap();
    let named: Vec<_> = plan.compare.iter().map(|one| (&*one.config, &*one.against)).collect();
    assert_eq!(named, [("zlib", "csd"), ("csd", "plain")]);
    assert_eq!(plan.baseline(), Some("csd"), "what the first pair measures by");
    let keys = |plan: &Plan| trials(plan).into_iter().map(|trial| trial.key);
    let all = |plan: &Plan| keys(plan).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(all(&plan), all(&Plan::parse(SETS).unwrap()));
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn a_pair_that_cannot_be_compared_is_refused() {
    assert_eq!(
        refused("config = \"cds\"\nagainst = \"plain\""),
        "[[compare]], cds against plain: there is no configuration `cds`; did you mean `csd`?"
    );
    let both = "config = \"csd\"\nagainst = \"plain\"\n";
    for (more, said) in [
        ("workload = \"wite\"", "there is no workload `wite`; did you mean `write`?"),
        ("data_profile = \"smal\"", "there is no data profile `smal`; did you mean `small`?"),
        ("against_data_profile = \"small\"", "against_data_profile needs data_profile"),
        ("data_profile = \"more\"", "they share no workload and thread count"),
    ] {
        let error = refused(&format!("{both}{more}"));
        assert!(error.contains(said), "{error}");
    }
    assert!(refused("config = \"csd\"\nagainst = \"csd\"").contains("compared with itself"));
    let twice = format!("[[compare]]\n{both}[[compare]]\n{both}");
    assert!(format!("{:#}", asking(&twice).unwrap_err()).contains("there twice"));
    let across = "config = \"csd\"\nagainst = \"csd\"\ndata_profile = \"more\"";
    asking(&format!("[[compare]]\n{across}\nagainst_data_profile = \"large\"\n")).unwrap();
}

#[test]
fn a_quick_profile_asks_about_no_pair_that_it_excludes() {
    let text = r#"
[[compare]]
config = "csd"
against = "plain"
workload = "write"
[[compare]]
config = "csd"
against = "plain"
workload = "read"
[quick]
exclude = ["workloads.write"]
"#;
    let plan = Plan::parse_quick(&format!("{SETS}{text}")).unwrap();
    assert_eq!(plan.compare.len(), 1);
    assert_eq!(plan.compare[0].workload.as_deref(), Some("read"));
}

#[test]
fn kinds_of_statement_are_those_of_the_load() {
    let with = |list: &str| {
        let key = format!("percentiles_by_statement = {list}\ntitle =");
        Plan::parse(&SETS.replacen("title =", &key, 1))
    };
    let plan = with(r#"["index_update", "commit"]"#).unwrap();
    assert_eq!(plan.percentiles_by_statement, ["index_update", "commit"]);
    let told = |list| format!("{:#}", with(list).unwrap_err());
    let unknown = told(r#"["index_updates"]"#);
    assert!(
        unknown.contains(
            "there is no kind of statement `index_updates`; did you mean `index_update`?"
        ),
        "{unknown}"
    );
    assert!(told(r#"["commit", "commit"]"#).contains("names commit twice"));
}

#[test]
fn the_runs_of_a_pair_can_be_repeated_more_often() {
    let pair = "[[compare]]\nconfig = \"csd\"\nagainst = \"plain\"\nworkload = \
        \"write\"\ndata_profile = \"small\"\n";
    let with = |repeats: u32| {
        let text = format!("{SETS}{pair}")
            .replace("title =", &format!("compare_repeats = {repeats}\ntitle ="));
        Plan::parse(&text)
    };
    let (once, plan) = (asking(pair).unwrap(), with(4).unwrap());
    let more: Vec<_> =
        trials(&plan).into_iter().filter(|one| one.key.repeat > plan.repeats.at_most).collect();
    assert!(!more.is_empty() && trials(&plan).len() == trials(&once).len() + more.len());
    for trial in &more {
        assert!(["csd", "plain"].contains(&&*trial.key.config), "{trial:?}");
        assert_eq!(trial.key.workload, "small: write");
    }
    assert_eq!(more.iter().map(|one| one.key.repeat).max(), Some(4));
    assert!(
        with(0).unwrap_err().to_string().contains("compare_repeats is 0; give 1 (repeats) to 1000")
    );
    let alone = SETS.replace("title =", "compare_repeats = 3\ntitle =");
    assert!(Plan::parse(&alone).unwrap_err().to_string().contains("needs pairs to repeat"));
}

#[test]
fn runs_that_are_compared_follow_each_other() {
    let plan = asking(
        r#"
[[compare]]
config = "csd"
against = "plain"
data_profile = "small"
[[compare]]
config = "csd"
against = "csd"
data_profile = "more"
against_data_profile = "large"
"#,
    );
    let runs = trials(&Plan { repeats: 6.into(), ..plan.unwrap() });
    let is = |trial: &PlannedTrial, config: &str, profile: &str| {
        trial.variant.config == config && trial.variant.data_profile.as_deref() == Some(profile)
    };
    for (judged, against) in
        [(("csd", "small"), ("plain", "small")), (("csd", "more"), ("csd", "large"))]
    {
        for (place, one) in runs.iter().enumerate().filter(|one| is(one.1, judged.0, judged.1)) {
            let is_partner = |other: &&PlannedTrial| {
                is(other, against.0, against.1)
                    && (other.key.threads, other.key.repeat) == (one.key.threads, one.key.repeat)
                    && other.workload == one.workload
            };
            let next_to = [place.wrapping_sub(1), place + 1];
            let is_next =
                next_to.iter().filter_map(|place| runs.get(*place)).any(|other| is_partner(&other));
            assert_eq!(is_next, runs.iter().any(|other| is_partner(&other)), "{}", one.key);
        }
    }
}
