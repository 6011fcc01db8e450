//! Server switches that are no variables: one that is there turns something off, whatever its value is.
//!
//! A server takes `--skip-log-bin=OFF` for `--skip-log-bin`, so whoever writes settings down for one leaves out those that ask for
//! nothing.

/// Switches that leave a server without a binary log.
pub const NO_BINARY_LOG: [&str; 2] = ["skip_log_bin", "disable_log_bin"];

/// Whether a switch with this value is off (MySQL reference manual, "Program Option Modifiers").
#[must_use]
pub fn is_off(value: &str) -> bool {
    ["0", "off", "false"].iter().any(|off| off.eq_ignore_ascii_case(value))
}

/// The name as `SHOW VARIABLES` prints it: servers take hyphens, and letters of any case.
#[must_use]
pub fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Whether a setting is such a switch and is off: it asks for nothing.
#[must_use]
pub fn asks_for_nothing(name: &str, value: &str) -> bool {
    NO_BINARY_LOG.contains(&canonical(name).as_str()) && is_off(value)
}
