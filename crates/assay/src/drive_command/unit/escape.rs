//! Escapes names for systemd and fstab (`systemd.unit(5)`, "String escaping for inclusion in unit
//! names").

use std::fmt::Write;
use std::path::{Component, Path};

/// Turns an absolute path into an instance name, as `systemd-escape --path` does: slashes become
/// dashes, except those at the ends.
#[must_use]
pub(crate) fn path(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.as_encoded_bytes()),
        _ => None,
    });
    let joined = parts.collect::<Vec<_>>().join(&b'/');
    if joined.is_empty() { "-".into() } else { escaped(&joined) }
}

fn escaped(bytes: &[u8]) -> String {
    let mut name = String::new();
    for (place, &byte) in bytes.iter().enumerate() {
        match byte {
            b'/' => name.push('-'),
            b'.' if place > 0 => name.push('.'),
            b':' | b'_' => name.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => name.push(byte.into()),
            // Writing to a string cannot fail.
            byte => {
                let _ = write!(name, "\\x{byte:02x}");
            }
        }
    }
    name
}

/// Quotes a word of a command line in a unit (`systemd.service(5)`, "Command lines"), or of a
/// setting that takes several words, and doubles `%`.
#[must_use]
pub(crate) fn word(text: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+=:@,".contains(sign);
    let doubled = text.replace('%', "%%");
    match text.chars().all(is_plain) {
        true => doubled,
        false => format!("\"{}\"", doubled.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// Escapes a field of `fstab(5)`: characters that end a field or a line become octal numbers.
#[must_use]
pub(crate) fn field(text: &str) -> String {
    let mut field = String::new();
    for sign in text.chars() {
        match sign {
            ' ' | '\t' | '\n' | '\\' | '#' => {
                let _ = write!(field, "\\{:03o}", u32::from(sign));
            }
            sign => field.push(sign),
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const PATHS: [(&str, &str); 7] = [
        ("/srv/vol.img", "srv-vol.img"),
        ("/", "-"),
        ("//srv//a-b/", "srv-a\\x2db"),
        ("/dev/nvme1n1", "dev-nvme1n1"),
        ("/.hidden/.x", "\\x2ehidden-.x"),
        ("/data/my drive#1", "data-my\\x20drive\\x231"),
        ("/ü_:", "\\xc3\\xbc_:"),
    ];

    #[test]
    fn a_path_is_escaped_as_systemd_does() {
        for (unescaped, escaped) in PATHS {
            assert_eq!(path(Path::new(unescaped)), escaped);
        }
    }

    #[test]
    fn systemd_escapes_so_too() {
        for (unescaped, escaped) in PATHS {
            let result = Command::new("systemd-escape").args(["--path", unescaped]).output();
            let Ok(output) = result else {
                return assay_testing::skip("systemd-escape");
            };
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), escaped);
        }
    }

    #[test]
    fn words_and_fields_stay_one() {
        assert_eq!(word("/usr/bin/assay"), "/usr/bin/assay");
        assert_eq!(word("/a b/100%"), "\"/a b/100%%\"");
        assert_eq!(word("a\"b\\"), "\"a\\\"b\\\\\"");
        assert_eq!(field("/var/lib/my sql"), "/var/lib/my\\040sql");
        assert_eq!(field("a\\b#"), "a\\134b\\043");
    }
}
