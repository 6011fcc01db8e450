//! What a plan says of prices is checked with the plan and changes none of its cells.

use super::*;

const PRICES: &str = r#"
[prices]
currency = "USD"
years = 3
[prices.target]
tps = 1000
[prices.every_arm]
server_price = 9999
[prices.arms.off]
drive_price = 1570
"#;

#[test]
fn prices_are_read_and_kept_and_change_no_cell() {
    let plan = Plan::parse(&format!("{PLAN}{PRICES}")).unwrap();
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    assert_eq!(plan.prices.as_ref().unwrap().of_arm("off", None).drive_price, Some(1570.0));
    let bare = Plan::parse(PLAN).unwrap();
    let prints =
        |plan: &Plan| cells(plan).into_iter().map(|cell| cell.fingerprint).collect::<Vec<_>>();
    assert_eq!(prints(&plan), prints(&bare), "what something costs changes no result");
    assert!(!toml::to_string(&bare).unwrap().contains("prices"));
}

#[test]
fn prices_of_what_is_not_there_are_refused() {
    for (from, to, says) in [
        ("prices.arms.off", "prices.arms.of", "there is no arm `of`; did you mean `off`?"),
        ("years = 3", "years = -3", "years is -3; give a number above 0"),
        ("drive_price", "drive_prices", "did you mean `drive_price`?"),
        ("tps = 1000", "tps = 0", "target.tps is 0"),
    ] {
        let message = error(&format!("{PLAN}{}", PRICES.replace(from, to)));
        assert!(message.contains(says), "{to}: {message}");
    }
}
