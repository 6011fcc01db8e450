//! The nearest known name to a misspelt one.

/// The name that is most like `wrong`, if one is like it at all.
#[must_use]
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(&wrong.to_lowercase(), &name.to_lowercase());
    known
        .into_iter()
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_named_and_nonsense_is_not_guessed() {
        let known = ["threads", "repeats", "seconds"];
        assert_eq!(nearest("thread", known), Some("threads"));
        assert_eq!(nearest("Secnods", known), Some("seconds"));
        assert_eq!(nearest("xyz", known), None);
    }
}
