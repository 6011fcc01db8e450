//! Numbers, sizes, durations and lists as people read them.

use std::time::Duration;

/// Returns true for a character that changes the direction of the text behind it (Unicode Standard
/// Annex 9, "Explicit Directional Formatting Characters", and the marks). Such a character can
/// disguise a text.
#[must_use]
pub fn turns(sign: char) -> bool {
    matches!(
        sign,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// A count with its noun: `1 block`, `2 blocks`, `2 entries`.
#[must_use]
pub fn counted(number: u64, thing: &str) -> String {
    match (number, thing.strip_suffix('y')) {
        (1, _) => format!("1 {thing}"),
        (_, Some(front)) => format!("{number} {front}ies"),
        (_, None) => format!("{number} {thing}s"),
    }
}

/// Words as a list: `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Thread counts as a list: `1 thread`, `1, 4 and 16 threads`.
#[must_use]
pub fn threads(counts: &[u32]) -> String {
    let words: Vec<String> = counts.iter().map(ToString::to_string).collect();
    format!("{} thread{}", list(&words), if counts == [1] { "" } else { "s" })
}

/// A duration, rounded down to a second, or to a minute from an hour on.
pub fn time(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds).unwrap_or_default().as_secs();
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, _) => format!("{h}h{m:02}m"),
    }
}

/// Bytes with the binary prefix that leaves one to four digits before the point.
#[must_use]
pub fn size(bytes: f64) -> String {
    let mut scaled = bytes;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1023.95 {
            let decimals = usize::from(unit != "B" && scaled < 99.95);
            return format!("{scaled:.decimals$} {unit}");
        }
        scaled /= 1024.0;
    }
    format!("{scaled:.1} PiB")
}

/// A number with at least three significant digits, and a space between thousands.
#[must_use]
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 || value.fract() == 0.0 => grouped(&format!("{value:.0}")),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Digits with a space between thousands, from five digits on.
#[must_use]
pub fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A word quoted for a shell.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+=:@,".contains(sign);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into()
    } else if word.chars().any(char::is_control) {
        // `$'…'` is read by bash, ksh and zsh, and keeps a copied line on one line.
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A character as it is written between `$'` and `'`.
fn escaped(sign: char) -> String {
    match sign {
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        '\'' | '\\' => format!("\\{sign}"),
        sign if sign.is_ascii_control() => format!("\\x{:02x}", u32::from(sign)),
        sign => sign.into(),
    }
}

/// A text with its line breaks replaced, for errors of libraries and servers that have several
/// lines.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(String::new(), |joined, line| match joined.chars().last() {
        None => line.to_owned(),
        Some(':') => joined + " " + line,
        Some(_) => joined + "; " + line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes =
            [0.0, 1023.0, 1024.0, 99.96 * 1024.0, 1023.99 * 1024.0, 12.34 * f64::from(1 << 30)];
        assert_eq!(sizes.map(size), ["0 B", "1023 B", "1.0 KiB", "100 KiB", "1.0 MiB", "12.3 GiB"]);
        assert_eq!(size(2048.0 * 2f64.powi(40)), "2.0 PiB");
    }

    #[test]
    fn a_word_for_a_shell_is_one_line() {
        let words = ["a/b-c.img", "", "my drive", "it's", "new\nline's", "tab\t\u{1b}ä"];
        let expected =
            ["a/b-c.img", "''", "'my drive'", "'it'\\''s'", "$'new\\nline\\'s'", "$'tab\\t\\x1bä'"];
        assert_eq!(words.map(shell_word), expected);
    }

    #[test]
    fn times_are_short_and_rounded_down() {
        assert_eq!(
            [time(0.4), time(59.9), time(125.0), time(7_265.0)],
            ["0s", "59s", "2m05s", "2h01m"]
        );
    }

    #[test]
    fn several_lines_become_one() {
        assert_eq!(on_one_line("a\n  b\n\nc"), "a; b; c");
        assert_eq!(on_one_line("its log ends:\n  b\nc"), "its log ends: b; c");
    }
}
