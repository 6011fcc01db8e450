//! What a plan says of a paper must be about what it runs.

use super::*;

const PAPER: &str = r#"
[paper]
title = "A paper"
[[paper.comparisons]]
table = "Table 1"
arm = "off"
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
        |plan: &Plan| cells(plan).into_iter().map(|cell| cell.fingerprint).collect::<Vec<_>>();
    assert_eq!(prints(&plan), prints(&bare), "what is printed changes no result");
}

#[test]
fn a_paper_about_something_else_is_refused() {
    for (from, to, says) in [
        ("\"off\"", "\"of\"", "paper, Table 1: there is no arm `of`; did you mean `off`?"),
        ("\"off\"", "\"on\"", "an arm is compared with itself"),
        ("\"read_write\"", "\"write\"", "there is no workload `write`"),
        ("percent = 44", "percnt = 44", "did you mean `percent`?"),
        (", percent = 44", "", "nothing is printed for `read_write`"),
        ("percent = 44", "data_set = \"x\", percent = 4", "there is no data set `x`"),
    ] {
        let message = error(&format!("{PLAN}{}", PAPER.replace(from, to)));
        assert!(message.contains(says), "{to}: {message}");
    }
}
