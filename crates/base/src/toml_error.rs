//! Turns an error of the TOML reader into one line, with the nearest valid name.

use crate::suggest::nearest;

/// The error with its line, e.g. ``line 3: unknown key `thread`; did you mean `threads`?``
#[must_use]
pub fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line =
        error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
    format!("{place}{}", reworded(error.message()))
}

/// The error without its line, for a text that no user wrote: ``unknown key `thread`; did you mean
/// `threads`?``
#[must_use]
pub fn without_line(error: &toml::de::Error) -> String {
    reworded(error.message())
}

/// Rewords serde's ``unknown field `x`, expected one of `a`, `b` `` and the same for variants
/// (serde's `Error` trait).
fn reworded(message: &str) -> String {
    let first_line = message.lines().next().unwrap_or_default();
    for (start, what) in [("unknown field ", "unknown key"), ("unknown variant ", "unknown value")]
    {
        if let Some(rest) = first_line.strip_prefix(start) {
            let names: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
            if let Some((wrong, known)) = names.split_first() {
                return format!("{what} `{wrong}`; {}", suggestion(wrong, known));
            }
        }
    }
    match first_line.strip_prefix("missing field ") {
        Some(name) => format!("the key {name} is missing; add it"),
        None => first_line.to_owned(),
    }
}

fn suggestion(wrong: &str, known: &[&str]) -> String {
    match nearest(wrong, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}
