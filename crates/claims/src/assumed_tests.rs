//! Checks under an assumption are undecided, and so are values that overflow.

use super::findings::{STEC, UNSURE};
use super::outcome::ClaimVerdict;
use super::tests::{named, outcomes_of, text};

#[test]
fn what_rests_on_an_assumption_cannot_be_told_and_says_what_it_would_be() {
    for (paper, name, _) in UNSURE {
        let outcomes = outcomes_of(paper, text(paper));
        let one = named(&outcomes, name);
        assert_eq!(one.verdict, ClaimVerdict::Undecidable, "{name}");
        let told = one.assumption().unwrap();
        assert!(
            told.starts_with("assumed: ") && told.ends_with("; then it does not follow"),
            "{told}"
        );
    }
    let one = "usable capacity of six disks in RAID 10";
    let told = named(&outcomes_of(STEC, text(STEC)), one).assumption().unwrap();
    assert!(told.contains("TB is 2^40 bytes") && told.ends_with("; then it follows"), "{told}");
    // Negative control: without its assumption the same figures are judged.
    let sure = text(STEC).replacen("assumes = \"TB is", "otherwise = \"TB is", 1);
    let outcomes = outcomes_of(STEC, &sure);
    assert_eq!(
        (named(&outcomes, one).verdict, named(&outcomes, one).if_so),
        (ClaimVerdict::Follows, None)
    );
}

#[test]
fn tolerances_and_roundings_beyond_numbers_tell_nothing() {
    let huge = text(STEC).replacen(
        "disks_usable_tb = { printed = \"1.2\"",
        "disks_usable_tb = { printed = \"1e308\", within = 1.7e308",
        1,
    );
    let outcomes = outcomes_of(STEC, &huge);
    assert_eq!(
        named(&outcomes, "usable capacity of six disks in RAID 10").if_so,
        Some(ClaimVerdict::Undecidable)
    );
}
