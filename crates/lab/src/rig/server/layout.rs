//! Places of a server's program within a directory.

use std::path::{Path, PathBuf};

/// Names of the programs; MySQL first, because a MariaDB installation often has both names.
pub(super) const PROGRAMS: [&str; 2] = ["mysqld", "mariadbd"];

/// Places of a server within a directory that a user names.
const WITHIN_DIRECTORY: [&str; 7] =
    ["", "bin", "sbin", "libexec", "usr/sbin", "usr/bin", "usr/libexec"];

/// The server's program in `directory`, if it holds one.
pub(super) fn program_in(directory: &Path) -> Option<PathBuf> {
    WITHIN_DIRECTORY
        .iter()
        .flat_map(|part| PROGRAMS.map(|name| directory.join(part).join(name)))
        .find(|program| program.is_file())
}
