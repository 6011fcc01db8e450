//! MySQL's `ssl-mode` (reference manual, "Command Options for Encrypted Connections"), from the
//! weakest to the strictest.

use std::path::PathBuf;

use crate::endpoint::Tls;

/// The required security of a connection; a greater one is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// No encryption.
    Disabled,
    /// Encryption if the server offers it.
    Preferred,
    /// Encryption.
    Required,
    /// Encryption, with a server whose certificate a CA has signed.
    VerifyCa,
    /// Encryption, with a server whose certificate a CA has signed for the host's name.
    VerifyIdentity,
}

const ALL: [SslMode; 5] = [
    SslMode::Disabled,
    SslMode::Preferred,
    SslMode::Required,
    SslMode::VerifyCa,
    SslMode::VerifyIdentity,
];

impl SslMode {
    /// The names, as MySQL writes them.
    pub const NAMES: [&str; 5] =
        ["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"];

    /// Reads a name, in capitals or not.
    #[must_use]
    pub fn parse(name: &str) -> Option<SslMode> {
        let place = SslMode::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        ALL.get(place).copied()
    }

    /// The encryption of this mode, with the given CA: the server is checked against it unless
    /// nothing is encrypted. `None` if the mode needs a CA and there is none.
    ///
    /// ```
    /// use assay_mysql::{SslMode, Tls};
    ///
    /// let mode = SslMode::parse("verify_ca").unwrap();
    /// assert_eq!(mode.with_ca(None), None);
    /// let ca = "/etc/ca.pem".into();
    /// assert_eq!(mode.with_ca(Some(ca)), Some(Tls::Verified { ca: "/etc/ca.pem".into() }));
    /// ```
    #[must_use]
    pub fn with_ca(self, ca: Option<PathBuf>) -> Option<Tls> {
        match (self, ca) {
            (SslMode::Disabled, _) => Some(Tls::Off),
            (SslMode::Preferred, None) => Some(Tls::Preferred),
            (SslMode::Required, None) => Some(Tls::Unverified),
            (SslMode::VerifyCa | SslMode::VerifyIdentity, None) => None,
            (SslMode::VerifyIdentity, Some(ca)) => Some(Tls::VerifiedIdentity { ca }),
            (_, Some(ca)) => Some(Tls::Verified { ca }),
        }
    }
}
