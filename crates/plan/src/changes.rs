//! Differences between two texts of a plan, key by key.

use toml::{Table, Value};

/// A key with different values in two plans.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its path, as `configs.off.settings.innodb_doublewrite`.
    pub key: String,
    /// Value in the first plan as it is written there; `None` if the key is absent.
    pub before: Option<String>,
    /// Value in the second plan.
    pub after: Option<String>,
}

/// The keys that differ, in the order of their names. Nothing of a text that is no TOML.
#[must_use]
pub fn changes(before: &str, after: &str) -> Vec<Change> {
    let (Ok(before), Ok(after)) = (before.parse::<Table>(), after.parse::<Table>()) else {
        return Vec::new();
    };
    between(&before, &after)
}

/// The keys that differ, in the order of their names.
pub(super) fn between(before: &Table, after: &Table) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", Some(before), Some(after), &mut found);
    found.sort_by(|one, other| one.key.cmp(&other.key));
    found
}

fn compare(path: &str, before: Option<&Table>, after: Option<&Table>, found: &mut Vec<Change>) {
    let of = |table: Option<&Table>, key: &str| table.and_then(|table| table.get(key)).cloned();
    let keys = before.into_iter().chain(after).flat_map(Table::keys);
    let mut seen: Vec<&String> = Vec::new();
    for key in keys {
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (of(before, key), of(after, key)) {
            (one, other) if one == other => {}
            (Some(Value::Table(one)), Some(Value::Table(other))) => {
                compare(&path, Some(&one), Some(&other), found);
            }
            (one, other) => found.push(Change {
                key: path,
                before: one.as_ref().map(short),
                after: other.as_ref().map(short),
            }),
        }
    }
}

/// A table is named and not written out.
fn short(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_are_named_with_both_values() {
        let before = "seconds = 10\nthreads = [1, 8]\n[configs.a]\n[configs.b.settings]\nx = 1\n";
        let after = "seconds = 6\nthreads = [1, 8]\n[configs.b.settings]\nx = 1\ny = \"z\"\n";
        let change = |key: &str, before: Option<&str>, after: Option<&str>| Change {
            key: key.into(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        assert_eq!(
            changes(before, after),
            [
                change("configs.a", Some("a table"), None),
                change("configs.b.settings.y", None, Some("\"z\"")),
                change("seconds", Some("10"), Some("6")),
            ]
        );
        assert_eq!(changes(before, before), []);
        assert_eq!(changes("no toml", after), []);
    }
}
