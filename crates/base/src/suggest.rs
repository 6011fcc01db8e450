//! Finds the known name nearest to a misspelt one: "did you mean".

/// Longest name that is compared, in bytes: the time is the product of both lengths.
const TYPED_BYTES_MAX: usize = 200;

/// The nearest of `known` to `typed`, if it is close enough for a misspelling: at most two letters
/// in five are wrong, swapped, missing or extra.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > TYPED_BYTES_MAX {
        return None;
    }
    let typed = typed.to_ascii_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|name| {
            (
                strsim::normalized_damerau_levenshtein(
                    &typed,
                    &name.to_ascii_lowercase().replace('-', "_"),
                ),
                name,
            )
        })
        .filter(|(similarity, name)| *similarity >= 0.6 && !are_opposites(&typed, name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Words with similar letters and opposite meanings.
const OPPOSITES: [(&str, &str); 9] = [
    ("read", "write"),
    ("min", "max"),
    ("insert", "delete"),
    ("select", "delete"),
    ("on", "off"),
    ("attach", "detach"),
    ("create", "cleanup"),
    ("include", "exclude"),
    ("enable", "disable"),
];

/// Returns true if one name contains a word and the other its opposite, or if one of them has an
/// extra `no` or `non`.
fn are_opposites(typed: &str, name: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.to_ascii_lowercase().split(['_', '-', ' ']).map(str::to_owned).collect()
    };
    let (typed, name) = (words(typed), words(name));
    let has = |words: &[String], word: &str| words.iter().any(|known| known == word);
    let swaps =
        |a: &str, b: &str| has(&typed, a) && !has(&typed, b) && has(&name, b) && !has(&name, a);
    let denies = |word: &str| has(&typed, word) != has(&name, word);
    OPPOSITES.iter().any(|(a, b)| swaps(a, b) || swaps(b, a)) || denies("no") || denies("non")
}

/// `, did you mean `x`?`, or an empty text if no name is near.
#[must_use]
pub fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opposite_is_never_meant() {
        let options = ["oltp_read_only", "user_delay_max", "update_non_index"];
        for typed in ["oltp-write-only", "user_delay_min", "update_index"] {
            assert_eq!(nearest(typed, options), None, "{typed}");
        }
        assert_eq!(nearest("oltp_read_onyl", options), Some("oltp_read_only"));
        assert_eq!(nearest("user_dely_max", options), Some("user_delay_max"));
    }

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["threads", "table_size", "tables"];
        assert_eq!(nearest("threds", known), Some("threads"));
        assert_eq!(nearest("tablesize", known), Some("table_size"));
        assert_eq!(nearest("rnu", ["prepare", "run"]), Some("run"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(hint("zzz", known), "");
    }
}
