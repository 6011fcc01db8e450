//! What an event is called: a transaction, or an operation where files alone were loaded.
//!
//! Everything is written with the word that fits a server, which is nearly every study; here one term is put in the place of another in
//! what is shown. Names of metrics (`write_bytes_per_transaction`) stay as they are: they are the same in every study.

use assay_study::Study;

/// Terms, and what they are called where files were loaded; the longer ones before those that they contain.
const TERMS: [(&str, &str); 12] = [
    ("transactions committed", "operations done"),
    ("Transactions committed", "Operations done"),
    ("a transaction", "an operation"),
    ("A transaction", "An operation"),
    ("one transaction", "one operation"),
    ("transactions", "operations"),
    ("Transactions", "Operations"),
    ("transaction", "operation"),
    ("Transaction", "Operation"),
    ("from InnoDB's files", "from the files"),
    ("TPS", "operations/s"),
    ("trx", "operation"),
];

/// The text in the study's terms.
pub fn named(study: &Study, text: String) -> String {
    if study.is_of_files() { TERMS.iter().fold(text, replaced) } else { text }
}

/// The text with a term in another's place, where it stands as words of its own.
fn replaced(text: String, (from, to): &(&str, &str)) -> String {
    let is_inside = |one: Option<char>| one.is_some_and(|one| one.is_alphanumeric() || one == '_');
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(place) = rest.find(from) {
        let (before, behind) = (&rest[..place], &rest[place + from.len()..]);
        let before_it = before.chars().next_back().or_else(|| out.chars().next_back());
        let is_word = !is_inside(before_it) && !is_inside(behind.chars().next());
        out.push_str(before);
        out.push_str(if is_word { to } else { from });
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::Workload;

    fn study(recipes: &[&str]) -> Study {
        let workload = |recipe: &&str| Workload {
            name: (*recipe).into(),
            data_profile: None,
            workload: (*recipe).into(),
            recipe: (*recipe).into(),
            options: [].into(),
        };
        Study { workloads: recipes.iter().map(workload).collect(), ..Study::default() }
    }

    #[test]
    fn events_are_operations_where_files_alone_were_loaded() {
        let text = "966 transactions/s; response time of a transaction; 3.1 kB/trx; Transactions committed per second; TPS; \
                    media_write_bytes_per_transaction";
        let of_files = "966 operations/s; response time of an operation; 3.1 kB/operation; Operations done per second; \
                        operations/s; media_write_bytes_per_transaction";
        assert_eq!(named(&study(&["fileio"]), text.into()), of_files);
        assert_eq!(named(&study(&["fileio", "oltp_insert"]), text.into()), text, "of both kinds");
        assert_eq!(named(&study(&[]), text.into()), text);
    }
}
