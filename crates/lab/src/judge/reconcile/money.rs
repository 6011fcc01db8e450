//! Prices that are printed, computed again.

use super::{Check, check, is_near};

/// A printed total is the sum of its printed parts, within `tolerance` of it.
#[allow(dead_code, reason = "for published figures; our own totals are sums")]
pub(crate) fn sum(parts: &[f64], printed: f64, tolerance: f64) -> Option<Check> {
    let total: f64 = parts.iter().sum();
    let told: Vec<String> = parts.iter().map(ToString::to_string).collect();
    check(
        "the total is the sum of its parts",
        &[total, printed],
        is_near(total, printed, tolerance),
        format!("{} = {total}, printed is {printed}", told.join(" + ")),
    )
}

/// A printed quotient, of a price and a rate or of two rates, is that of the printed figures.
#[allow(dead_code, reason = "for published figures; our own quotients are computed")]
pub(crate) fn quotient(over: f64, under: f64, printed: f64, tolerance: f64) -> Option<Check> {
    let found = over / under;
    check(
        "the quotient is that of its figures",
        &[found, printed],
        is_near(found, printed, tolerance),
        format!(
            "{over} ÷ {under} = {found:.4}, printed is {printed}; that would take {:.4}",
            over / printed
        ),
    )
}
