//! The time of day, in the form in which it is stored.

/// The current time in UTC, to the second (RFC 3339).
#[must_use]
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Seconds since 1970 of a time that [`now`] wrote; `None` for another text.
#[must_use]
pub fn seconds(text: &str) -> Option<i64> {
    text.parse().ok().map(jiff::Timestamp::as_second)
}

/// The current time in UTC, to the millisecond (RFC 3339).
#[must_use]
pub fn now_precisely() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
