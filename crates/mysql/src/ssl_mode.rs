//! MySQL's `ssl-mode` (reference manual, "Command Options for Encrypted Connections"), from the weakest to the strictest.

use std::path::PathBuf;

use crate::endpoint::Tls;

/// How much of a connection's security is asked for; a greater one is stricter.
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
        let place = SslMode::NAMES.iter().position(|one| one.eq_ignore_ascii_case(name))?;
        ALL.get(place).copied()
    }

    /// The encryption of this mode, with the CA that was named: the server is held to it unless nothing is encrypted. `None` if
    /// there is no CA to check the server by.
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
