//! DH-HMAC-CHAP (Base, 8.13.5): a host shows that it knows a secret, and a target, if it is asked,
//! that it does too. No secret travels.
//!
//! Only the NULL group of Diffie-Hellman is offered: the secret is as safe against guessing as it
//! is long. Nothing that follows is encrypted.
//!
//! Guarantees: a challenge is answered once; an answer to another challenge, transaction, host or
//! subsystem is refused; comparisons take the same time wherever bytes differ.

mod controller_side;
mod host_side;
mod key;
mod message;

pub use controller_side::Challenger;
pub use host_side::Answerer;
pub use key::{HashKind, KeyError, Secret};
pub use message::AuthFailure;

use crate::wire::Nqn;

/// The two that authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parties {
    /// The host.
    pub host: Nqn,
    /// The subsystem.
    pub subsystem: Nqn,
}

/// Inputs of a response besides the names.
#[derive(Debug, Clone, Copy)]
struct Question<'a> {
    challenge: &'a [u8],
    sequence: u32,
    transaction: u16,
}

impl Parties {
    /// The host's response (Base, 8.13.5.4.1).
    fn of_host(&self, hash: HashKind, secret: &Secret, question: Question<'_>) -> Vec<u8> {
        let key = secret.transformed(&self.host);
        let parts = [self.host.as_str(), self.subsystem.as_str()];
        response(hash, &key, question, b"HostHost", parts)
    }

    /// The controller's response.
    fn of_controller(&self, hash: HashKind, secret: &Secret, question: Question<'_>) -> Vec<u8> {
        let key = secret.transformed(&self.subsystem);
        let parts = [self.subsystem.as_str(), self.host.as_str()];
        response(hash, &key, question, b"Controller", parts)
    }
}

fn response(
    hash: HashKind,
    key: &[u8],
    question: Question<'_>,
    role: &[u8],
    [own, other]: [&str; 2],
) -> Vec<u8> {
    const NO_SECURE_CHANNEL: [u8; 1] = [0];
    hash.hmac(
        key,
        &[
            question.challenge,
            &question.sequence.to_le_bytes(),
            &question.transaction.to_le_bytes(),
            &NO_SECURE_CHANNEL,
            role,
            own.as_bytes(),
            &[0],
            other.as_bytes(),
        ],
    )
}
