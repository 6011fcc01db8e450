//! Lists of rates.

use super::*;
use assay_load::Pace;

fn with(rates: &str) -> String {
    PLAN.replace("repeats = 3", &format!("repeats = 1\n{rates}")).replace(
        "[workloads.read_write]",
        "[workloads.reads]\nrecipe = \"oltp_read_only\"\n[workloads.read_write]",
    )
}

#[test]
fn every_workload_is_run_at_every_rate_under_the_name_of_both() {
    let text = with("rates = [500, 0.5]")
        + "[[compare]]\nconfig = \"off\"\nagainst = \"on\"\nworkload = \"reads\"\n";
    let plan = Plan::parse(&text).unwrap();
    let names: Vec<&str> = plan.workloads.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "reads at 500 per second",
            "reads at 0.5 per second",
            "read_write at 500 per second",
            "read_write at 0.5 per second"
        ]
    );
    assert_eq!(plan.rate_of("read_write at 0.5 per second"), Some(0.5));
    assert!(matches!(plan.pace_of(names[0]), Pace::Rate { per_second: 500.0, .. }));
    let asked: Vec<_> = plan.compare.iter().map(|pair| pair.workload.as_deref().unwrap()).collect();
    assert_eq!(asked, &names[..2], "a pair is about every rate of its workload");
    assert_eq!(Plan::parse(&toml::to_string(&plan).unwrap()).unwrap(), plan);
    // Runs that differ by their rate alone are different runs.
    let fingerprints: BTreeSet<String> =
        trials(&plan).into_iter().map(|trial| trial.fingerprint).collect();
    let one = Plan::parse(&with("rate = 500")).unwrap();
    assert_eq!(
        (trials(&plan).len(), fingerprints.len()),
        (2 * trials(&one).len(), trials(&plan).len() / 2)
    );
}

#[test]
fn single_workloads_may_have_rates_of_their_own() {
    let text = PLAN.to_owned() + "[workload_rates]\nread_write = 700\n";
    let plan = Plan::parse(&text).unwrap();
    assert_eq!(plan.rate_of("read_write"), Some(700.0));
    assert_eq!(plan.rate_of("another"), None);
}

#[test]
fn rates_that_cannot_be_are_refused() {
    for (given, told) in [
        ("rates = [0]", "rates has 0"),
        ("rates = [5, 5]", "rates has 5 twice"),
        ("rate = 5\nrates = [6]", "keep one of them"),
        ("workload_rates = { x = 5 }", "which is no workload"),
        ("workload_rates = { reads = -5 }", "the rate of workload `reads` is -5"),
    ] {
        let message = error(&with(given));
        assert!(message.contains(told), "{given}: {message}");
    }
}
