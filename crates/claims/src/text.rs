//! Formats numbers of papers: four significant digits, thousands separated.

use super::interval::RoundingInterval;

/// Four significant digits without trailing zeroes: `556.4`, `15 024`, `0.2179`.
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() || (value != 0.0 && !(1e-4..1e15).contains(&value.abs())) {
        return format!("{value:e}");
    }
    let before_point = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    let decimals = usize::try_from(4 - before_point).unwrap_or(0);
    fixed(value, decimals)
}

/// Printed digits with thousands separated from five digits on, and a minus sign for a hyphen.
#[must_use]
pub fn digits(printed: &str) -> String {
    let (sign, rest) = match printed.strip_prefix('-') {
        Some(rest) => ("−", rest),
        None => ("", printed),
    };
    let (whole, fraction) = rest.split_at(rest.find(['.', 'e', 'E']).unwrap_or(rest.len()));
    let mut text = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) && whole.len() > 4 {
            text.push(' ');
        }
        text.push(digit);
    }
    text + fraction
}

/// Smallest range that is shown, as a share of the number.
const SHARE_SHOWN: f64 = 1e-4;

/// The bounds in parentheses, with enough digits to separate them by ten steps; empty for a
/// negligible range.
#[must_use]
pub fn range(interval: RoundingInterval) -> String {
    let width = interval.high - interval.low;
    if !width.is_finite() || width <= interval.value.abs() * SHARE_SHOWN || interval.is_exact() {
        return String::new();
    }
    let decimals = usize::try_from(1 - width.log10().floor() as i32).unwrap_or(0);
    format!(" ({} to {})", fixed(interval.low, decimals), fixed(interval.high, decimals))
}

/// Fixed number of decimals, without trailing zeroes.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    digits(if short == "-0" { "0" } else { short })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        let shown = [556.4444, 15_024.0, 0.217_905, 19.0, 1e9, -2.333_33, 0.0, 99.08, 27.23, 1e-20];
        assert_eq!(
            shown.map(number),
            [
                "556.4",
                "15 024",
                "0.2179",
                "19",
                "1 000 000 000",
                "−2.333",
                "0",
                "99.08",
                "27.23",
                "1e-20"
            ]
        );
        assert_eq!(digits("-1000000.50"), "−1 000 000.50");
        assert_eq!(range(RoundingInterval::around(27.0, 0.5)), " (26.5 to 27.5)");
        assert_eq!(range(RoundingInterval::around(4760.0, 0.5)), " (4759.5 to 4760.5)");
        assert_eq!(
            range(RoundingInterval { low: 546.31, value: 556.4, high: 566.96 }),
            " (546 to 567)"
        );
        assert_eq!(range(RoundingInterval::around(44.26, 0.000_05)), "");
        assert_eq!(range(RoundingInterval::exact(27.0)), "");
    }
}
