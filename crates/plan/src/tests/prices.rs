//! Tests that a plan's prices are checked with it and change none of its runs.

use super::*;

const PRICES: &str = r#"
[prices]
currency = "USD"
years = 3
[prices.target]
tps = 1000
[prices.every_config]
server_price = 9999
[prices.configs.off]
drive_price = 1570
"#;

#[test]
fn prices_are_read_and_kept_and_change_no_trial() {
    let plan = Plan::parse(&format!("{PLAN}{PRICES}")).unwrap();
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    assert_eq!(plan.prices.as_ref().unwrap().of_config("off", None).drive_price, Some(1570.0));
    let bare = Plan::parse(PLAN).unwrap();
    let prints =
        |plan: &Plan| trials(plan).into_iter().map(|trial| trial.fingerprint).collect::<Vec<_>>();
    assert_eq!(prints(&plan), prints(&bare), "what something costs changes no result");
    assert!(!toml::to_string(&bare).unwrap().contains("prices"));
}

#[test]
fn prices_of_what_is_not_there_are_refused() {
    for (from, to, says) in [
        (
            "prices.configs.off",
            "prices.configs.of",
            "there is no configuration `of`; did you mean `off`?",
        ),
        ("years = 3", "years = -3", "years is -3; give a number above 0"),
        ("drive_price", "drive_prices", "did you mean `drive_price`?"),
        ("tps = 1000", "tps = 0", "target.tps is 0"),
    ] {
        let message = error(&format!("{PLAN}{}", PRICES.replace(from, to)));
        assert!(message.contains(says), "{to}: {message}");
    }
}
