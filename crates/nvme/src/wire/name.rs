//! NVMe Qualified Names (Base, 4.5).

use thiserror::Error;

/// Most bytes of a name.
pub const NAME_BYTES_MAX: usize = 223;

/// Bytes of the field that holds a name, padded with zeroes.
pub(crate) const FIELD_BYTES: usize = 256;

/// The name of every discovery controller.
pub const DISCOVERY_NAME: &str = "nqn.2014-08.org.nvmexpress.discovery";

/// The name of a host or of a subsystem, e.g. `nqn.2026-11.io.example:volume`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nqn(String);

/// The reason for which a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// It does not begin like a name.
    #[error(
        "`{0}` is no NVMe name: names begin with nqn.YYYY-MM., e.g. \
         nqn.2014-08.org.nvmexpress:uuid:…"
    )]
    Form(String),
    /// It has too many bytes.
    #[error("`{0}` has {bytes} bytes; an NVMe name has at most {NAME_BYTES_MAX}", bytes = .0.len())]
    Length(String),
}

impl Nqn {
    /// Checks a name: `nqn.`, a year and a month, a dot, and at least one more character, none of
    /// them a space or a control character.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn parse(text: &str) -> Result<Nqn, NameError> {
        if text.len() > NAME_BYTES_MAX {
            return Err(NameError::Length(text.to_owned()));
        }
        let is_name = || {
            let (date, rest) = text.strip_prefix("nqn.")?.split_at_checked(8)?;
            let is_date = date.bytes().enumerate().all(|(place, byte)| match place {
                4 => byte == b'-',
                7 => byte == b'.',
                _ => byte.is_ascii_digit(),
            });
            let is_plain = |sign: char| !sign.is_whitespace() && !sign.is_control();
            (is_date && !rest.is_empty() && rest.chars().all(is_plain)).then_some(())
        };
        is_name().map(|()| Nqn(text.to_owned())).ok_or_else(|| NameError::Form(text.to_owned()))
    }

    /// The name of every discovery controller.
    #[must_use]
    pub fn discovery() -> Nqn {
        Nqn(DISCOVERY_NAME.to_owned())
    }

    /// Decodes a field of 256 bytes that ends with zeroes.
    pub(crate) fn of_field(field: &[u8; FIELD_BYTES]) -> Option<Nqn> {
        let end = field.iter().position(|byte| *byte == 0)?;
        let is_padded = field[end..].iter().all(|byte| *byte == 0);
        let text = std::str::from_utf8(&field[..end]).ok().filter(|_| is_padded)?;
        Nqn::parse(text).ok()
    }

    /// The field of 256 bytes.
    pub(crate) fn to_field(&self) -> [u8; FIELD_BYTES] {
        let mut field = [0; FIELD_BYTES];
        field[..self.0.len()].copy_from_slice(self.0.as_bytes());
        field
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for the name of discovery controllers.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        self.0 == DISCOVERY_NAME
    }
}

impl std::fmt::Display for Nqn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Nqn {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Nqn, NameError> {
        Nqn::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_other_texts() {
        for name in [DISCOVERY_NAME, "nqn.2026-11.a", "nqn.2014-08.org.nvmexpress:uuid:1-2"] {
            assert_eq!(Nqn::parse(name).unwrap().as_str(), name);
        }
        for text in
            ["", "nqn.", "nqn.2026-11.", "nqn.2026/11.a", "iqn.2026-11.a", "nqn.2026-11.a b"]
        {
            assert_eq!(Nqn::parse(text), Err(NameError::Form(text.to_owned())));
        }
        let long = format!("nqn.2026-11.{}", "a".repeat(NAME_BYTES_MAX));
        assert_eq!(Nqn::parse(&long), Err(NameError::Length(long)));
    }

    #[test]
    fn a_field_comes_back_and_one_that_does_not_end_is_none() {
        let name = Nqn::discovery();
        assert_eq!(Nqn::of_field(&name.to_field()), Some(name.clone()));
        assert_eq!(Nqn::of_field(&[b'n'; FIELD_BYTES]), None);
        let mut field = name.to_field();
        field[FIELD_BYTES - 1] = 1;
        assert_eq!(Nqn::of_field(&field), None, "bytes after the end");
    }
}
