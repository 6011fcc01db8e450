//! The side of a host.

use super::key::is_same;
use super::message::{AuthFailure, Message};
use super::{HashKind, Parties, Question, Secret};

/// Authentication of one queue, as its host sees it.
pub struct Answerer {
    parties: Parties,
    own_secret: Secret,
    /// The subsystem's secret, if it has to authenticate too.
    subsystem_secret: Option<Secret>,
    transaction: u16,
    expected: Option<Vec<u8>>,
}

impl Answerer {
    /// Shows `own_secret`, and asks for `subsystem_secret` if there is one.
    #[must_use]
    pub fn new(
        parties: Parties,
        own_secret: Secret,
        subsystem_secret: Option<Secret>,
        transaction: u16,
    ) -> Answerer {
        Answerer { parties, own_secret, subsystem_secret, transaction, expected: None }
    }

    /// The first message.
    #[must_use]
    pub fn begin(&self) -> Vec<u8> {
        let hashes = HashKind::ALL.iter().rev().map(|hash| *hash as u8).collect();
        Message::Negotiate { transaction: self.transaction, hashes, groups: vec![0] }.encode()
    }

    /// The reply to a challenge. `random` gives the challenge to the subsystem.
    ///
    /// # Errors
    /// The reason for which authentication ends.
    pub fn reply(
        &mut self,
        challenge: &[u8],
        random: &dyn Fn() -> ([u8; 64], u32),
    ) -> Result<Vec<u8>, AuthFailure> {
        let (hash, sequence, challenge) = match Message::decode(challenge) {
            Some(Message::Challenge { transaction, hash, sequence, challenge })
                if transaction == self.transaction =>
            {
                (hash, sequence, challenge)
            }
            Some(Message::Failure { .. }) => return Err(AuthFailure::Failed),
            Some(_) => return Err(AuthFailure::Sequence),
            None => return Err(AuthFailure::Payload),
        };
        let transaction = self.transaction;
        let question = Question { challenge: &challenge, sequence, transaction };
        let response = self.parties.of_host(hash, &self.own_secret, question);
        let (own, own_sequence) = match &self.subsystem_secret {
            None => (None, 0),
            Some(secret) => {
                let (random, sequence) = random();
                let (own, sequence) = (random[..hash.bytes()].to_vec(), sequence.max(1));
                let question = Question { challenge: &own, sequence, transaction };
                self.expected = Some(self.parties.of_controller(hash, secret, question));
                (Some(own), sequence)
            }
        };
        Ok(Message::Reply { transaction, sequence: own_sequence, response, own }.encode())
    }

    /// The last message, if the subsystem wants one, after its success.
    ///
    /// # Errors
    /// The reason for which authentication ends.
    pub fn accept(&self, success: &[u8]) -> Result<Option<Vec<u8>>, AuthFailure> {
        let response = match Message::decode(success) {
            Some(Message::Success1 { transaction, response, .. })
                if transaction == self.transaction =>
            {
                response
            }
            Some(Message::Failure { .. }) => return Err(AuthFailure::Failed),
            Some(_) => return Err(AuthFailure::Sequence),
            None => return Err(AuthFailure::Payload),
        };
        match (&self.expected, response) {
            (None, _) => Ok(None),
            (Some(expected), Some(response)) if is_same(expected, &response) => {
                Ok(Some(Message::Success2 { transaction: self.transaction }.encode()))
            }
            (Some(_), _) => Err(AuthFailure::Failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Challenger;
    use super::*;
    use crate::wire::Nqn;

    fn parties() -> Parties {
        let name = |text: &str| Nqn::parse(&format!("nqn.2026-11.test:{text}")).unwrap();
        Parties { host: name("host"), subsystem: name("volume") }
    }

    fn secret(byte: u8) -> Secret {
        Secret::of_random(&[byte; 48]).unwrap()
    }

    fn fixed() -> ([u8; 64], u32) {
        ([0x5a; 64], 77)
    }

    /// Whether each side accepts the other.
    fn exchange(host: &mut Answerer, controller: &mut Challenger) -> (bool, bool) {
        controller.take(&host.begin(), &fixed);
        let reply = match host.reply(&controller.give().unwrap(), &fixed) {
            Ok(reply) => reply,
            Err(_) => return (false, controller.is_done()),
        };
        controller.take(&reply, &fixed);
        let accepted = host.accept(&controller.give().unwrap());
        if let Ok(Some(last)) = &accepted {
            controller.take(last, &fixed);
        }
        (accepted.is_ok(), controller.is_done())
    }

    #[test]
    fn those_who_know_the_secrets_accept_each_other_and_no_one_else_is_accepted() {
        let host = |own, of| Answerer::new(parties(), secret(own), of, 9);
        let target = |of, own| Challenger::new(parties(), secret(of), own);
        assert_eq!(exchange(&mut host(1, None), &mut target(1, None)), (true, true));
        assert_eq!(exchange(&mut host(2, None), &mut target(1, None)), (false, false));
        let mutual = exchange(&mut host(1, Some(secret(3))), &mut target(1, Some(secret(3))));
        assert_eq!(mutual, (true, true));
        let wrong = exchange(&mut host(1, Some(secret(3))), &mut target(1, Some(secret(4))));
        assert_eq!(wrong, (false, false), "the host refuses a target without its secret");
        let none = exchange(&mut host(1, Some(secret(3))), &mut target(1, None));
        assert_eq!(none, (false, false));
    }

    #[test]
    fn a_replayed_reply_is_refused() {
        let mut host = Answerer::new(parties(), secret(1), None, 9);
        let mut first = Challenger::new(parties(), secret(1), None);
        first.take(&host.begin(), &fixed);
        let reply = host.reply(&first.give().unwrap(), &fixed).unwrap();
        let mut second = Challenger::new(parties(), secret(1), None);
        let other = || ([0x33; 64], 78);
        second.take(&host.begin(), &other);
        second.give().unwrap();
        second.take(&reply, &other);
        assert!(second.has_failed(), "another challenge");
        first.take(&reply, &fixed);
        first.give().unwrap();
        assert!(first.is_done());
        first.take(&reply, &fixed);
        assert!(first.has_failed(), "a challenge is answered once");
    }

    #[test]
    fn messages_out_of_turn_end_it() {
        let mut controller = Challenger::new(parties(), secret(1), None);
        assert_eq!(controller.give(), None, "nothing is to be fetched yet");
        controller.take(&[1, 2, 3], &fixed);
        assert!(controller.has_failed());
        let told = Message::decode(&controller.give().unwrap()).unwrap();
        assert_eq!(told, Message::failure(0, AuthFailure::Payload, false));
    }
}
