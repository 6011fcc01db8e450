//! The side that challenges a host.

use super::key::is_same;
use super::message::{AuthFailure, Message};
use super::{HashKind, Parties, Question, Secret};

/// Authentication of one queue, as its controller sees it.
pub struct Challenger {
    parties: Parties,
    host_secret: Secret,
    /// The subsystem's own secret, for hosts that ask it to authenticate.
    own_secret: Option<Secret>,
    state: State,
}

enum State {
    /// The host has to say what it can.
    Start,
    /// The challenge is to be fetched.
    Challenged {
        transaction: u16,
        hash: HashKind,
        sequence: u32,
        challenge: Vec<u8>,
    },
    /// The challenge was fetched, the host has to reply.
    Asked {
        transaction: u16,
        hash: HashKind,
        sequence: u32,
        challenge: Vec<u8>,
    },
    /// The success is to be fetched; `is_mutual` if the host then has to accept it.
    Replied {
        transaction: u16,
        hash: HashKind,
        response: Option<Vec<u8>>,
    },
    /// The host has to accept the controller's response.
    Answered {
        transaction: u16,
    },
    Done,
    /// The failure is to be fetched.
    Failed {
        transaction: u16,
        reason: AuthFailure,
    },
    Over,
}

impl Challenger {
    /// Asks for `host_secret`, and shows `own_secret` to hosts that want it.
    #[must_use]
    pub fn new(parties: Parties, host_secret: Secret, own_secret: Option<Secret>) -> Challenger {
        Challenger { parties, host_secret, own_secret, state: State::Start }
    }

    /// Returns true if the host has authenticated itself.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Returns true if the host has failed, and the queue is to end.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed { .. } | State::Over)
    }

    /// Takes a message of the host. `random` gives challenges: 64 bytes, and a number.
    pub fn take(&mut self, bytes: &[u8], random: &dyn Fn() -> ([u8; 64], u32)) {
        let state = std::mem::replace(&mut self.state, State::Over);
        self.state = match Message::decode(bytes) {
            None => failed(0, AuthFailure::Payload),
            Some(message) => self.next(state, message, random),
        };
    }

    fn next(&self, state: State, message: Message, random: &dyn Fn() -> ([u8; 64], u32)) -> State {
        match (state, message) {
            (State::Start, Message::Negotiate { transaction, hashes, groups }) => {
                negotiated(transaction, &hashes, &groups, random)
            }
            (
                State::Asked { transaction, hash, sequence, challenge },
                Message::Reply { transaction: of, sequence: own_sequence, response, own },
            ) if of == transaction => {
                let question = Question { challenge: &challenge, sequence, transaction };
                let expected = self.parties.of_host(hash, &self.host_secret, question);
                match is_same(&expected, &response) {
                    true => self.replied(transaction, hash, own, own_sequence),
                    false => failed(transaction, AuthFailure::Failed),
                }
            }
            (State::Answered { transaction }, Message::Success2 { transaction: of })
                if of == transaction =>
            {
                State::Done
            }
            (_, Message::Failure { .. }) => State::Over,
            (_, message) => failed(message.transaction(), AuthFailure::Sequence),
        }
    }

    fn replied(
        &self,
        transaction: u16,
        hash: HashKind,
        own: Option<Vec<u8>>,
        sequence: u32,
    ) -> State {
        let Some(challenge) = own else {
            return State::Replied { transaction, hash, response: None };
        };
        let Some(secret) = &self.own_secret else {
            return failed(transaction, AuthFailure::Failed);
        };
        let question = Question { challenge: &challenge, sequence, transaction };
        let response = Some(self.parties.of_controller(hash, secret, question));
        State::Replied { transaction, hash, response }
    }

    /// The message that the host fetches; `None` if there is none now.
    pub fn give(&mut self) -> Option<Vec<u8>> {
        let state = std::mem::replace(&mut self.state, State::Over);
        let (message, next) = match state {
            State::Challenged { transaction, hash, sequence, challenge } => (
                Message::Challenge { transaction, hash, sequence, challenge: challenge.clone() },
                State::Asked { transaction, hash, sequence, challenge },
            ),
            State::Replied { transaction, hash, response } => {
                let next = match response {
                    Some(_) => State::Answered { transaction },
                    None => State::Done,
                };
                (Message::Success1 { transaction, hash, response }, next)
            }
            State::Failed { transaction, reason } => {
                (Message::failure(transaction, reason, false), State::Over)
            }
            other => {
                self.state = other;
                return None;
            }
        };
        self.state = next;
        Some(message.encode())
    }
}

fn failed(transaction: u16, reason: AuthFailure) -> State {
    State::Failed { transaction, reason }
}

/// The strongest hash that the host has too.
fn negotiated(
    transaction: u16,
    hashes: &[u8],
    groups: &[u8],
    random: &dyn Fn() -> ([u8; 64], u32),
) -> State {
    if hashes.is_empty() {
        return failed(transaction, AuthFailure::Protocol);
    }
    let common = HashKind::ALL.into_iter().rev().find(|one| hashes.contains(&(*one as u8)));
    let Some(hash) = common else { return failed(transaction, AuthFailure::Hash) };
    if !groups.contains(&0) {
        return failed(transaction, AuthFailure::Group);
    }
    let (challenge, sequence) = random();
    let challenge = challenge[..hash.bytes()].to_vec();
    // 0 stands for no sequence.
    State::Challenged { transaction, hash, sequence: sequence.max(1), challenge }
}
