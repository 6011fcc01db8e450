//! The messages of authentication (Base, 8.13.5.2 to 8.13.5.7).

use super::HashKind;

/// Types of messages.
const COMMON: u8 = 0x00;
const DH_HMAC_CHAP: u8 = 0x01;

/// Identifiers of messages.
const NEGOTIATE: u8 = 0x00;
const CHALLENGE: u8 = 0x01;
const REPLY: u8 = 0x02;
const SUCCESS_1: u8 = 0x03;
const SUCCESS_2: u8 = 0x04;
const FAILURE_2: u8 = 0xf0;
const FAILURE_1: u8 = 0xf1;

/// The group without an exchange of keys.
const NULL_GROUP: u8 = 0;

/// Bytes in front of a message's variable part.
const HEAD_BYTES: usize = 16;

/// Bytes of a protocol's descriptor in the first message: two lists of 30 from byte 4 on.
const DESCRIPTOR_BYTES: usize = 64;
const HASHES_AT: usize = 4;
const GROUPS_AT: usize = 34;
const LIST_MAX: usize = 30;

/// The reason for which authentication ends (Base, 8.13.5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AuthFailure {
    /// The other side does not know the secret.
    Failed = 0x01,
    /// No protocol in common.
    Protocol = 0x02,
    /// No hash in common.
    Hash = 0x04,
    /// No group in common.
    Group = 0x05,
    /// A message has not its layout.
    Payload = 0x06,
    /// A message that may not come now.
    Sequence = 0x07,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    Negotiate {
        transaction: u16,
        hashes: Vec<u8>,
        groups: Vec<u8>,
    },
    Challenge {
        transaction: u16,
        hash: HashKind,
        sequence: u32,
        challenge: Vec<u8>,
    },
    /// `own`: the challenge to the controller, if it has to authenticate too.
    Reply {
        transaction: u16,
        sequence: u32,
        response: Vec<u8>,
        own: Option<Vec<u8>>,
    },
    /// `response`: of the controller, if it was challenged.
    Success1 {
        transaction: u16,
        hash: HashKind,
        response: Option<Vec<u8>>,
    },
    Success2 {
        transaction: u16,
    },
    Failure {
        transaction: u16,
        is_hosts: bool,
        reason: u8,
    },
}

impl Message {
    pub(super) fn transaction(&self) -> u16 {
        match self {
            Message::Negotiate { transaction, .. }
            | Message::Challenge { transaction, .. }
            | Message::Reply { transaction, .. }
            | Message::Success1 { transaction, .. }
            | Message::Success2 { transaction }
            | Message::Failure { transaction, .. } => *transaction,
        }
    }

    pub(super) fn failure(transaction: u16, reason: AuthFailure, is_hosts: bool) -> Message {
        // The reason for all is that it failed; the explanation says why.
        Message::Failure { transaction, is_hosts, reason: reason as u8 }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, id) = match self {
            Message::Negotiate { .. } => (COMMON, NEGOTIATE),
            Message::Challenge { .. } => (DH_HMAC_CHAP, CHALLENGE),
            Message::Reply { .. } => (DH_HMAC_CHAP, REPLY),
            Message::Success1 { .. } => (DH_HMAC_CHAP, SUCCESS_1),
            Message::Success2 { .. } => (DH_HMAC_CHAP, SUCCESS_2),
            Message::Failure { is_hosts: true, .. } => (COMMON, FAILURE_2),
            Message::Failure { is_hosts: false, .. } => (COMMON, FAILURE_1),
        };
        let mut bytes = vec![0; HEAD_BYTES];
        (bytes[0], bytes[1]) = (kind, id);
        bytes[4..6].copy_from_slice(&self.transaction().to_le_bytes());
        match self {
            Message::Negotiate { hashes, groups, .. } => {
                bytes.truncate(8);
                bytes[7] = 1;
                bytes.extend(descriptor(hashes, groups));
            }
            Message::Challenge { hash, sequence, challenge, .. } => {
                (bytes[6], bytes[8], bytes[9]) = (challenge.len() as u8, *hash as u8, NULL_GROUP);
                bytes[12..16].copy_from_slice(&sequence.to_le_bytes());
                bytes.extend(challenge);
            }
            Message::Reply { sequence, response, own, .. } => {
                (bytes[6], bytes[8]) = (response.len() as u8, u8::from(own.is_some()));
                bytes[12..16].copy_from_slice(&sequence.to_le_bytes());
                bytes.extend(response);
                // The field is there whether or not it is valid.
                bytes.extend(own.clone().unwrap_or_else(|| vec![0; response.len()]));
            }
            Message::Success1 { hash, response, .. } => {
                (bytes[6], bytes[8]) = (hash.bytes() as u8, u8::from(response.is_some()));
                bytes.extend(response.clone().unwrap_or_else(|| vec![0; hash.bytes()]));
            }
            Message::Success2 { .. } => {}
            Message::Failure { reason, .. } => {
                (bytes[6], bytes[7]) = (AuthFailure::Failed as u8, *reason);
            }
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Message> {
        let transaction = u16::from_le_bytes([*bytes.get(4)?, *bytes.get(5)?]);
        match (*bytes.first()?, *bytes.get(1)?) {
            (COMMON, NEGOTIATE) => negotiate(bytes, transaction),
            (COMMON, id @ (FAILURE_1 | FAILURE_2)) => Some(Message::Failure {
                transaction,
                is_hosts: id == FAILURE_2,
                reason: *bytes.get(7)?,
            }),
            (DH_HMAC_CHAP, id) => {
                let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
                of_chap(id, transaction, head, rest)
            }
            _ => None,
        }
    }
}

fn of_chap(id: u8, transaction: u16, head: &[u8], rest: &[u8]) -> Option<Message> {
    let length = usize::from(head[6]);
    let sequence = u32::from_le_bytes(head[12..16].try_into().ok()?);
    let is_length = HashKind::ALL.iter().any(|hash| hash.bytes() == length);
    match id {
        CHALLENGE => {
            let hash = HashKind::of(head[8]).filter(|hash| hash.bytes() == length)?;
            let is_null = head[9] == NULL_GROUP && head[10..12] == [0, 0];
            let challenge = rest.get(..length).filter(|_| is_null)?.to_vec();
            Some(Message::Challenge { transaction, hash, sequence, challenge })
        }
        REPLY if is_length => {
            let response = rest.get(..length)?.to_vec();
            let own = rest.get(length..2 * length)?;
            let is_null = head[10..12] == [0, 0];
            let own = (head[8] & 1 != 0).then(|| own.to_vec());
            is_null.then_some(Message::Reply { transaction, sequence, response, own })
        }
        SUCCESS_1 if is_length => {
            let hash = HashKind::ALL.into_iter().find(|hash| hash.bytes() == length)?;
            let response = match head[8] & 1 != 0 {
                true => Some(rest.get(..length)?.to_vec()),
                false => None,
            };
            Some(Message::Success1 { transaction, hash, response })
        }
        SUCCESS_2 => Some(Message::Success2 { transaction }),
        _ => None,
    }
}

fn descriptor(hashes: &[u8], groups: &[u8]) -> [u8; DESCRIPTOR_BYTES] {
    let mut descriptor = [0; DESCRIPTOR_BYTES];
    descriptor[0] = DH_HMAC_CHAP;
    (descriptor[2], descriptor[3]) = (hashes.len() as u8, groups.len() as u8);
    descriptor[HASHES_AT..HASHES_AT + hashes.len()].copy_from_slice(hashes);
    descriptor[GROUPS_AT..GROUPS_AT + groups.len()].copy_from_slice(groups);
    descriptor
}

/// The first descriptor of DH-HMAC-CHAP; without one, empty lists.
fn negotiate(bytes: &[u8], transaction: u16) -> Option<Message> {
    let count = usize::from(*bytes.get(7)?);
    let descriptors = bytes.get(8..8 + count * DESCRIPTOR_BYTES)?;
    let found = descriptors.chunks_exact(DESCRIPTOR_BYTES).find(|one| one[0] == DH_HMAC_CHAP);
    let Some(found) = found else {
        return Some(Message::Negotiate { transaction, hashes: Vec::new(), groups: Vec::new() });
    };
    let (hashes, groups) = (usize::from(found[2]), usize::from(found[3]));
    if hashes > LIST_MAX || groups > LIST_MAX {
        return None;
    }
    Some(Message::Negotiate {
        transaction,
        hashes: found[HASHES_AT..HASHES_AT + hashes].to_vec(),
        groups: found[GROUPS_AT..GROUPS_AT + groups].to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back() {
        let hash = HashKind::Sha384;
        let (transaction, sequence) = (0x1234, 99);
        let messages = [
            Message::Negotiate { transaction, hashes: vec![3, 2, 1], groups: vec![0] },
            Message::Challenge { transaction, hash, sequence, challenge: vec![1; 48] },
            Message::Reply { transaction, sequence, response: vec![2; 48], own: None },
            Message::Reply { transaction, sequence, response: vec![2; 48], own: Some(vec![3; 48]) },
            Message::Success1 { transaction, hash, response: None },
            Message::Success1 { transaction, hash, response: Some(vec![4; 48]) },
            Message::Success2 { transaction },
            Message::failure(transaction, AuthFailure::Hash, true),
            Message::failure(transaction, AuthFailure::Failed, false),
        ];
        for message in messages {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message.clone()));
            for end in 0..bytes.len() {
                // Whatever is cut off, nothing breaks.
                let _ = Message::decode(&bytes[..end]);
            }
        }
        let negotiate = Message::Negotiate { transaction, hashes: vec![1], groups: vec![0] };
        assert_eq!(negotiate.encode().len(), 72);
    }
}
