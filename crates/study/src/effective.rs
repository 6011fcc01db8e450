//! Compares a requested server setting with the value that the server runs with.
//!
//! Guarantees: two spellings of one value are equal, and so are values that cannot be compared (the
//! number of an enumeration's word, the name of a log that a switch turns on).

use std::collections::BTreeSet;

use assay_base::Size;

/// Returns true if `effective` is the value that was `asked` for.
#[must_use]
pub fn is_as_asked(asked: &str, effective: &str) -> bool {
    let (asked, effective) = (bare(asked), bare(effective));
    if asked == effective {
        return true;
    }
    if let Some(is_on) = switch(&effective) {
        // A word other than a switch's turns it on (`log_bin = name`).
        let asks_for_off = asked == "0" || switch(&asked) == Some(false);
        return is_on != asks_for_off;
    }
    match (number(&asked), number(&effective)) {
        (Some(asked), Some(effective)) => asked == effective,
        // Enumerations accept numbers for their words, and switches with more than two words accept
        // ON and OFF.
        (Some(_), None) => true,
        (None, Some(_)) => switch(&asked).is_some(),
        (None, None) => has_all(&effective, &asked),
    }
}

/// Strips quotes and spaces and converts to lower case.
fn bare(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_ascii_lowercase()
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "on" | "true" | "yes" => Some(true),
        "off" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Parses a count, a size or a fraction.
fn number(text: &str) -> Option<f64> {
    let size = || Size::parse(text).ok().map(|size| size.0 as f64);
    text.parse().ok().or_else(size)
}

/// Returns true if list `whole` has all members of `part`: a server adds members that were not
/// named.
fn has_all(whole: &str, part: &str) -> bool {
    let members = |text: &str| -> BTreeSet<String> {
        text.split([',', ';']).map(|member| member.trim().to_owned()).collect()
    };
    let lists = [whole, part].iter().any(|text| text.contains([',', ';']));
    lists && members(part).is_subset(&members(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_as_asked() {
        for (asked, effective) in [
            ("32M", "33554432"),
            ("1", "ON"),
            ("off", "OFF"),
            ("0", "OFF"),
            ("TRUE", "ON"),
            ("READ-COMMITTED", "read-committed"),
            ("90", "90.000000"),
            ("\"all\"", "all"),
            ("binlog", "ON"),
            ("3", "strict_crc32"),
            ("index_merge=on", "index_merge=on,index_merge_union=on"),
            ("TRADITIONAL", "STRICT_TRANS_TABLES,TRADITIONAL"),
            ("-1", "-1"),
        ] {
            assert!(is_as_asked(asked, effective), "{asked} {effective}");
        }
    }

    #[test]
    fn other_values_are_not_as_asked() {
        for (asked, effective) in [
            ("8", "1"),
            ("300M", "402653184"),
            ("20000", "2000"),
            ("ON", "OFF"),
            ("1", "OFF"),
            ("O_DIRECT", "fsync"),
            ("index_merge=off", "index_merge=on,index_merge_union=on"),
        ] {
            assert!(!is_as_asked(asked, effective), "{asked} {effective}");
        }
    }
}
