//! Escapes control characters in text that comes from files or other programs.
//!
//! Titles of papers, names of configurations and unknown keys come from files, which may hold
//! escape sequences that colour text, move the cursor or set the terminal's title. Control
//! characters (Unicode's category Cc: C0, DEL and C1) other than line feed and tab are shown as in
//! JSON strings, so that a line of JSON stays one (RFC 8259, section 7). Characters that change the
//! direction of text are shown likewise, since they can make one text look like another.

use std::fmt::Write;

/// Returns `text` with control characters as `\u001b`.
#[must_use]
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\t' => plain.push(sign),
            sign if sign.is_control() || assay_base::text::turns(sign) => {
                // Writing to a string cannot fail.
                let _ = write!(plain, "\\u{:04x}", u32::from(sign));
            }
            sign => plain.push(sign),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_and_everything_else_stays() {
        assert_eq!(plain("a\u{1b}]0;x\u{7}b\rc"), "a\\u001b]0;x\\u0007b\\u000dc");
        assert_eq!(plain("\u{7f}\u{9b}31m"), "\\u007f\\u009b31m");
        assert_eq!(plain("a\u{202e}b\u{2066}c\u{200f}"), "a\\u202eb\\u2066c\\u200f");
        assert_eq!(plain("6 × 15K, 日本\n\tund ÷"), "6 × 15K, 日本\n\tund ÷");
        let json = serde_json::to_string("\u{9b}\u{1b}").unwrap();
        let back: String = serde_json::from_str(&plain(&json)).unwrap();
        assert_eq!(back, "\u{9b}\u{1b}");
    }
}
