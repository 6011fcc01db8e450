//! Server switches that are not variables: their presence turns something off, whatever their
//! value.
//!
//! A server reads `--skip-log-bin=OFF` as `--skip-log-bin`, so a switch that is off is left out of
//! option files.

/// Switches that leave a server without a binary log.
pub const NO_BINARY_LOG: [&str; 2] = ["skip_log_bin", "disable_log_bin"];

/// Returns true if a switch with this value is off (MySQL reference manual, "Program Option
/// Modifiers").
#[must_use]
pub fn is_off(value: &str) -> bool {
    ["0", "off", "false"].iter().any(|off| off.eq_ignore_ascii_case(value))
}

/// The name as `SHOW VARIABLES` prints it: servers accept hyphens and upper case.
#[must_use]
pub fn canonical(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Returns true for such a switch that is off, which has no effect.
#[must_use]
pub fn asks_for_nothing(name: &str, value: &str) -> bool {
    NO_BINARY_LOG.contains(&canonical(name).as_str()) && is_off(value)
}
