//! Secrets, in the form in which `nvme gen-dhchap-key` prints them (Base, 8.13.5.8).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::{Sha256, Sha384, Sha512};
use thiserror::Error;

use crate::wire::Nqn;

/// The hash functions of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum HashKind {
    /// SHA-256.
    Sha256 = 1,
    /// SHA-384.
    Sha384 = 2,
    /// SHA-512.
    Sha512 = 3,
}

impl HashKind {
    pub(super) const ALL: [HashKind; 3] = [HashKind::Sha256, HashKind::Sha384, HashKind::Sha512];

    pub(super) fn of(number: u8) -> Option<HashKind> {
        HashKind::ALL.into_iter().find(|one| *one as u8 == number)
    }

    /// Bytes of a hash.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            HashKind::Sha256 => 32,
            HashKind::Sha384 => 48,
            HashKind::Sha512 => 64,
        }
    }

    /// The HMAC of these parts in this order.
    pub(super) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        match self {
            HashKind::Sha256 => mac::<Hmac<Sha256>>(key, parts),
            HashKind::Sha384 => mac::<Hmac<Sha384>>(key, parts),
            HashKind::Sha512 => mac::<Hmac<Sha512>>(key, parts),
        }
    }
}

fn mac<M: Mac + hmac::digest::KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // HMAC takes keys of any length.
    let Ok(mut mac) = <M as Mac>::new_from_slice(key) else { return Vec::new() };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

/// Returns true for equal bytes, in a time that does not tell where they differ.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

/// The reason for which a text is no secret. None repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The text has not the form.
    #[error("this is no NVMe secret; `nvme gen-dhchap-key` prints one: DHHC-1:00:…:")]
    Form,
    /// The secret has another length than the form says.
    #[error("this NVMe secret has not 32, 48 or 64 bytes")]
    Length,
    /// The checksum of the secret is wrong.
    #[error("this NVMe secret has a wrong checksum: a character is wrong or missing")]
    Checksum,
}

/// A secret of a host or of a subsystem.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    key: Vec<u8>,
    /// The hash that binds the key to its owner's name, if it is to be bound.
    transform: Option<HashKind>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Bytes of the checksum behind a key: CRC-32, little-endian.
const CHECKSUM_BYTES: usize = 4;

impl Secret {
    /// Decodes `DHHC-1:HH:BASE64:`, with white space around it.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn parse(text: &str) -> Result<Secret, KeyError> {
        let rest = text.trim().strip_prefix("DHHC-1:").ok_or(KeyError::Form)?;
        let (hash, rest) = rest.split_once(':').ok_or(KeyError::Form)?;
        let encoded = rest.strip_suffix(':').ok_or(KeyError::Form)?;
        let transform = match hash {
            "00" => None,
            "01" => Some(HashKind::Sha256),
            "02" => Some(HashKind::Sha384),
            "03" => Some(HashKind::Sha512),
            _ => return Err(KeyError::Form),
        };
        let decoded = STANDARD.decode(encoded).map_err(|_| KeyError::Form)?;
        let key_bytes = decoded.len().checked_sub(CHECKSUM_BYTES).ok_or(KeyError::Length)?;
        let is_length = match transform {
            Some(hash) => key_bytes == hash.bytes(),
            None => matches!(key_bytes, 32 | 48 | 64),
        };
        if !is_length {
            return Err(KeyError::Length);
        }
        let (key, checksum) = decoded.split_at(key_bytes);
        if crc32fast::hash(key).to_le_bytes() != checksum {
            return Err(KeyError::Checksum);
        }
        Ok(Secret { key: key.to_vec(), transform })
    }

    /// The secret of these random bytes: 32, 48 or 64.
    ///
    /// # Errors
    /// [`KeyError::Length`].
    pub fn of_random(key: &[u8]) -> Result<Secret, KeyError> {
        match key.len() {
            32 | 48 | 64 => Ok(Secret { key: key.to_vec(), transform: None }),
            _ => Err(KeyError::Length),
        }
    }

    /// The form in which a file holds the secret.
    #[must_use]
    pub fn to_text(&self) -> String {
        let checksum = crc32fast::hash(&self.key).to_le_bytes();
        let encoded = STANDARD.encode([&self.key[..], &checksum].concat());
        format!("DHHC-1:{:02}:{encoded}:", self.transform.map_or(0, |hash| hash as u8))
    }

    /// The key bound to its owner's name.
    pub(super) fn transformed(&self, owner: &Nqn) -> Vec<u8> {
        match self.transform {
            None => self.key.clone(),
            Some(hash) => hash.hmac(&self.key, &[owner.as_str().as_bytes(), b"NVMe-over-Fabrics"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_come_back_and_others_are_refused_without_being_repeated() {
        for bytes in [32, 48, 64] {
            let secret = Secret::of_random(&vec![7; bytes]).unwrap();
            assert_eq!(Secret::parse(&format!(" {}\n", secret.to_text())).unwrap(), secret);
        }
        let text = Secret::of_random(&[7; 32]).unwrap().to_text();
        assert_eq!(Secret::parse(&text.replacen("Bw", "Cw", 1)), Err(KeyError::Checksum));
        assert_eq!(Secret::parse(&text.replace(":00:", ":02:")), Err(KeyError::Length));
        for wrong in ["", "DHHC-1:00:", "DHHC-1:09:AAAA:", "DHHC-1:00:?:", &text[..text.len() - 1]]
        {
            assert_eq!(Secret::parse(wrong), Err(KeyError::Form), "{wrong}");
        }
        let shown = format!("{:?} {}", Secret::parse(&text).unwrap(), KeyError::Checksum);
        assert!(!shown.contains("Bw"), "{shown}");
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_hashes_are_those_of_the_standard() {
        let key = b"Jefe";
        let data: &[&[u8]] = &[b"what do ya want ", b"for nothing?"];
        let begins = [
            (HashKind::Sha256, [0x5b, 0xdc, 0xc1, 0x46]),
            (HashKind::Sha384, [0xaf, 0x45, 0xd2, 0xe3]),
            (HashKind::Sha512, [0x16, 0x4b, 0x7a, 0x7b]),
        ];
        for (hash, begin) in begins {
            let mac = hash.hmac(key, data);
            assert_eq!((mac.len(), &mac[..4]), (hash.bytes(), &begin[..]));
        }
    }
}
