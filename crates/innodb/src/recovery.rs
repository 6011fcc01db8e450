//! Known behaviour of servers that recover torn pages from the doublewrite buffer, by version. The
//! versions are those that `assay powercut tear` was run on.
//!
//! The audit, the crash safety in every report and `docs/powercut.md` take it from here.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    /// MySQL, built by Oracle or a distribution.
    Mysql,
    /// Percona Server for MySQL.
    Percona,
    /// MariaDB Server.
    Mariadb,
}

/// A fault in a server's recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryFault {
    /// The transaction system page, (0, 5), is read before torn pages are restored. If it is torn,
    /// the server does not start.
    TransactionSystemEarly,
    /// A torn page is restored from the first whole copy that the server finds. That copy may be
    /// older than the checkpoint: changes are lost, and the server may not start.
    FirstCopy,
}

/// Known behaviour of a server's recovery of torn pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "recovery", content = "faults")]
pub enum PageRecovery {
    /// This version was not tested.
    #[serde(rename = "not_tried")]
    NotTested,
    /// The faults found in a test; may be empty.
    #[serde(rename = "tried")]
    Tested(&'static [RecoveryFault]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestedVersion {
    pub vendor: Vendor,
    /// Major, minor and patch number.
    pub version: [u32; 3],
    pub faults: &'static [RecoveryFault],
}

pub const TESTED_VERSIONS: [TestedVersion; 2] = [
    TestedVersion {
        vendor: Vendor::Mysql,
        version: [9, 7, 4],
        faults: &[RecoveryFault::TransactionSystemEarly, RecoveryFault::FirstCopy],
    },
    TestedVersion { vendor: Vendor::Mariadb, version: [10, 11, 19], faults: &[] },
];

/// The known behaviour of the server with these values of the variables `version` and
/// `version_comment`.
#[must_use]
pub fn recovery_of(version: &str, comment: &str) -> PageRecovery {
    let vendor = vendor_of(version, comment);
    let end = version.find(|sign: char| !sign.is_ascii_digit() && sign != '.');
    let numbers = version[..end.unwrap_or(version.len())].split('.');
    let numbers: Vec<u32> = numbers.filter_map(|number| number.parse().ok()).collect();
    let tested = TESTED_VERSIONS
        .iter()
        .find(|tested| tested.vendor == vendor && tested.version[..] == numbers[..]);
    tested.map_or(PageRecovery::NotTested, |tested| PageRecovery::Tested(tested.faults))
}

/// The vendor of the server with these values of the variables `version` and `version_comment`. A
/// distribution's comment names no vendor.
#[must_use]
pub fn vendor_of(version: &str, comment: &str) -> Vendor {
    let is =
        |word: &str| [version, comment].iter().any(|text| text.to_ascii_lowercase().contains(word));
    match () {
        () if is("mariadb") => Vendor::Mariadb,
        () if is("percona") => Vendor::Percona,
        () => Vendor::Mysql,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_if_it_was_tried_and_no_other_is() {
        let faults = TESTED_VERSIONS[0].faults;
        for (version, comment, known) in [
            ("9.7.4-2", "(Debian)", PageRecovery::Tested(faults)),
            ("9.7.4", "MySQL Community Server - GPL", PageRecovery::Tested(faults)),
            ("9.7.40", "", PageRecovery::NotTested),
            ("9.7.4-4", "Percona Server (GPL), Release 4", PageRecovery::NotTested),
            ("8.0.36", "MySQL Community Server - GPL", PageRecovery::NotTested),
            ("10.11.19-MariaDB-0+deb12u1", "Debian 12", PageRecovery::Tested(&[])),
            ("11.8.3-MariaDB", "", PageRecovery::NotTested),
            ("", "", PageRecovery::NotTested),
        ] {
            assert_eq!(recovery_of(version, comment), known, "{version} {comment}");
        }
    }
}
