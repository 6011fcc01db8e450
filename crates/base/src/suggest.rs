//! "Did you mean": the known name nearest to what was typed.

/// The nearest of `known` to `typed`, if near enough to be a slip: at most two letters in five wrong, swapped, missing
/// or too many.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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
        .filter(|(similarity, _)| *similarity >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// ", did you mean `x`?", or nothing where no name is near.
#[must_use]
pub fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
