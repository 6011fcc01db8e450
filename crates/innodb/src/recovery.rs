//! Recovery of torn pages with the doublewrite buffer on, by server version: the versions that `assay powercut tear` was run on.
//!
//! The one place that says so: the audit, the crash safety of every report and `docs/powercut.md` follow it.

use serde::{Deserialize, Serialize};

/// The maker of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Make {
    /// MySQL, as Oracle or a distribution builds it.
    Mysql,
    /// Percona Server for MySQL.
    Percona,
    /// MariaDB Server.
    Mariadb,
}

/// A fault of a server's recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The transaction system page, (0, 5), is read before torn pages are restored: if it is torn, the server does not start.
    TransactionSystemEarly,
    /// A torn page is restored from the first whole copy that the server finds, which may be older than the checkpoint: changes are
    /// lost, and the server may not start.
    FirstCopy,
}

/// Known behaviour of a server's recovery of torn pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "recovery", content = "faults")]
pub enum Recovery {
    /// Not tried with this version.
    NotTried,
    /// Tried: the faults that were found, none of which may be.
    Tried(&'static [Fault]),
}

/// A version that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Whose.
    pub make: Make,
    /// Major, minor and patch number.
    pub version: [u32; 3],
    /// The findings.
    pub faults: &'static [Fault],
}

/// The versions that were tried.
pub const TRIED: [Tried; 2] = [
    Tried {
        make: Make::Mysql,
        version: [9, 7, 4],
        faults: &[Fault::TransactionSystemEarly, Fault::FirstCopy],
    },
    Tried { make: Make::Mariadb, version: [10, 11, 19], faults: &[] },
];

/// Known behaviour of the server with these variables `version` and `version_comment`.
#[must_use]
pub fn recovery_of(version: &str, comment: &str) -> Recovery {
    let make = make_of(version, comment);
    let end = version.find(|sign: char| !sign.is_ascii_digit() && sign != '.');
    let numbers = version[..end.unwrap_or(version.len())].split('.');
    let numbers: Vec<u32> = numbers.filter_map(|number| number.parse().ok()).collect();
    let tried = TRIED.iter().find(|tried| tried.make == make && tried.version[..] == numbers[..]);
    tried.map_or(Recovery::NotTried, |tried| Recovery::Tried(tried.faults))
}

/// Whose server it is whose variables `version` and `version_comment` are these; a distribution's comment names no maker.
#[must_use]
pub fn make_of(version: &str, comment: &str) -> Make {
    let is =
        |word: &str| [version, comment].iter().any(|text| text.to_ascii_lowercase().contains(word));
    match () {
        () if is("mariadb") => Make::Mariadb,
        () if is("percona") => Make::Percona,
        () => Make::Mysql,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_if_it_was_tried_and_no_other_is() {
        let faults = TRIED[0].faults;
        for (version, comment, known) in [
            ("9.7.4-2", "(Debian)", Recovery::Tried(faults)),
            ("9.7.4", "MySQL Community Server - GPL", Recovery::Tried(faults)),
            ("9.7.40", "", Recovery::NotTried),
            ("9.7.4-4", "Percona Server (GPL), Release 4", Recovery::NotTried),
            ("8.0.36", "MySQL Community Server - GPL", Recovery::NotTried),
            ("10.11.19-MariaDB-0+deb12u1", "Debian 12", Recovery::Tried(&[])),
            ("11.8.3-MariaDB", "", Recovery::NotTried),
            ("", "", Recovery::NotTried),
        ] {
            assert_eq!(recovery_of(version, comment), known, "{version} {comment}");
        }
    }
}
