//! Tests that a plan's statements about a paper match what it runs.

use super::*;

const PAPER: &str = r#"
[paper]
title = "A paper"
[[paper.comparisons]]
table = "Table 1"
config = "off"
against = "on"
printed = [{ workload = "read_write", percent = 44 }]
"#;

#[test]
fn a_paper_is_read_and_kept() {
    let plan = Plan::parse(&format!("{PLAN}{PAPER}")).unwrap();
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    let comparison = &plan.paper.as_ref().unwrap().comparisons[0];
    assert_eq!((comparison.metric.as_str(), comparison.printed[0].percent), ("qps", Some(44.0)));
    let bare = Plan::parse(PLAN).unwrap();
    let prints =
        |plan: &Plan| trials(plan).into_iter().map(|trial| trial.fingerprint).collect::<Vec<_>>();
    assert_eq!(prints(&plan), prints(&bare), "what is printed changes no result");
}

#[test]
fn a_paper_about_something_else_is_refused() {
    for (from, to, says) in [
        (
            "\"off\"",
            "\"of\"",
            "paper, Table 1: there is no configuration `of`; did you mean `off`?",
        ),
        ("\"off\"", "\"on\"", "a configuration is compared with itself"),
        ("\"read_write\"", "\"write\"", "there is no workload `write`"),
        ("percent = 44", "percnt = 44", "did you mean `percent`?"),
        (", percent = 44", "", "nothing is printed for `read_write`"),
        ("percent = 44", "data_profile = \"x\", percent = 4", "there is no data profile `x`"),
    ] {
        let message = error(&format!("{PLAN}{}", PAPER.replace(from, to)));
        assert!(message.contains(says), "{to}: {message}");
    }
}

#[test]
fn a_plan_takes_what_is_printed_from_claims_or_says_it_itself() {
    let named = "\n[paper]\nclaims = \"stec-2031\"\n";
    assert!(error(&format!("{PLAN}{named}")).contains("did you mean `stec-2013`?"));
    let foreign = "\n[paper]\nclaims = \"stec-2013\"\n";
    assert!(error(&format!("{PLAN}{foreign}")).contains("there is no configuration `s1120 card`"));
    let both = PAPER.replace("title =", "claims = \"stec-2013\"\ntitle =");
    assert!(error(&format!("{PLAN}{both}")).contains("are in the claims `stec-2013`; remove them"));
    let neither = PAPER.replace("title = \"A paper\"", "");
    assert!(error(&format!("{PLAN}{neither}")).contains("the key `title` is missing"));
}
