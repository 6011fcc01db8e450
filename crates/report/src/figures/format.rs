//! Numbers as people read them: three significant digits, thousands apart, one decimal sign
//! everywhere.

pub(crate) use assay_base::text::{list, threads};

/// Between groups of three digits: a narrow no-break space, as ISO 80000-1 (7.3.1) has it.
pub(crate) const GROUP: char = '\u{202f}';

/// A figure with three significant digits below 1 000 and whole above, e.g. `12.3`, `1 235`; a dash
/// of what is no number.
pub(crate) fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let decimals = match size {
        0.0 => return "0".into(),
        _ if !(0.000_5..1e15).contains(&size) => return format!("{value:.2e}"),
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.999_5 => 2,
        _ => 3,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// A count, thousands apart.
pub(crate) fn count(value: usize) -> String {
    grouped(&value.to_string())
}

/// Bytes with the decimal prefix that leaves one to three digits before the point, e.g. `1.23 GB`.
pub(crate) fn bytes(value: f64) -> String {
    let mut scaled = value;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if scaled.abs() < 999.5 {
            return format!("{} {unit}", figure(scaled));
        }
        scaled /= 1000.0;
    }
    format!("{} PB", figure(scaled))
}

/// `1 run`, `2 runs`.
pub(crate) fn plural(number: usize, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// JSON that may stand inside a script element: no `<` in it, so neither `</script` nor `<!--`.
pub(crate) fn json_for_script(value: &impl serde::Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(value)?.replace('<', "\\u003c"))
}

fn grouped(number: &str) -> String {
    let (sign, digits) = number.split_at(number.len() - number.trim_start_matches('-').len());
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut text = String::with_capacity(number.len() + 8);
    text.push_str(sign);
    for (place, digit) in digits.char_indices() {
        if place > 0 && place < whole && (whole - place).is_multiple_of(3) {
            text.push(GROUP);
        }
        text.push(digit);
    }
    text
}

/// `2,000`, or with three digits below a hundred.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second >= 100.0 { count(per_second.round() as usize) } else { figure(per_second) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_significant_digits() {
        let shown =
            [0.0, 0.012_34, 0.999_7, 1.234, 9.996, 12.34, 99.96, 123.4, 1_234_567.8, -1234.0];
        let text = shown.map(figure);
        assert_eq!(
            text.map(|one| one.replace(GROUP, " ")),
            ["0", "0.012", "1.00", "1.23", "10.0", "12.3", "100", "123", "1 234 568", "-1 234"]
        );
        assert_eq!(figure(0.000_012_3), "1.23e-5");
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(figure), ["–"; 3]);
    }

    #[test]
    fn bytes_choose_their_prefix() {
        assert_eq!(
            [0.0, 999.0, 999.6, 16_384.0, 1.5e12, 2e18].map(bytes).join("|"),
            "0 B|999 B|1.00 kB|16.4 kB|1.50 TB|2\u{202f}000 PB"
        );
    }

    #[test]
    fn words_are_listed() {
        let words: Vec<String> = ["a", "b", "c"].map(Into::into).to_vec();
        assert_eq!(
            (list(&words[..1]), list(&words[..2]), list(&words)),
            ("a".into(), "a and b".into(), "a, b and c".into())
        );
        assert_eq!((plural(1, "run"), plural(2, "run")), ("1 run".into(), "2 runs".into()));
        assert_eq!(
            [threads(&[1]), threads(&[8]), threads(&[1, 4])],
            ["1 thread", "8 threads", "1 and 4 threads"]
        );
    }

    #[test]
    fn no_text_closes_the_script_it_stands_in() {
        let json = json_for_script(&"a</script><!--").unwrap();
        assert!(!json.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "a</script><!--");
    }
}
