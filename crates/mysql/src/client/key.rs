//! The RSA key that encrypts a password on a connection without TLS.
//!
//! Guarantee: `mysql_common`, which panics on an invalid key, gets only keys that were parsed and
//! encoded again here.

use std::fmt::Write;

use mysql_common::crypto;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

/// `rsaEncryption` with its absent parameters (RFC 8017, A.1), as DER.
const RSA: [u8; 13] = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 0x05, 0];

/// Bytes of a modulus: 1,024 to 16,384 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 128..=2048;
/// Bytes of the longest exponent.
const EXPONENT_BYTES_MAX: usize = 4;
/// Bytes of the padding (RFC 8017, 7.1.1, with SHA-1).
const PADDING_BYTES: usize = 42;

/// A valid key.
#[derive(Debug)]
pub(super) struct RsaKey {
    pem: String,
    modulus_bytes: usize,
}

impl RsaKey {
    /// Reads PEM; `None` for anything but an RSA public key.
    pub(super) fn of(pem: &[u8]) -> Option<RsaKey> {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
        let modulus_bytes = modulus_bytes(&der)?;
        Some(RsaKey { pem: to_pem(&der), modulus_bytes })
    }

    /// Encrypts a secret; `None` if the key is too short for it.
    pub(super) fn encrypt(&self, secret: &[u8]) -> Option<Vec<u8>> {
        let fits = secret.len() + PADDING_BYTES <= self.modulus_bytes;
        fits.then(|| crypto::encrypt(secret, self.pem.as_bytes()))
    }
}

/// The length of the modulus of an RSA key (RFC 5280, 4.1; RFC 8017, A.1.1); `None` unless every
/// byte is valid.
fn modulus_bytes(der: &[u8]) -> Option<usize> {
    let (info, &[]) = element(der, 0x30)? else { return None };
    let (algorithm, rest) = element(info, 0x30)?;
    let (bits, &[]) = element(rest, 0x03)? else { return None };
    let (0, key) = bits.split_first().map(|(unused, key)| (*unused, key))? else { return None };
    let (numbers, &[]) = element(key, 0x30)? else { return None };
    let (modulus, rest) = element(numbers, 0x02)?;
    let (exponent, &[]) = element(rest, 0x02)? else { return None };
    // A leading zero keeps the first bit from being a sign. With that bit set, the bytes tell the
    // length in bits.
    let [0, modulus @ ..] = modulus else { return None };
    let is_odd = |number: &[u8]| number.last().is_some_and(|last| last % 2 == 1);
    let is_one = exponent == [1];
    let is_good = algorithm == RSA
        && MODULUS_BYTES.contains(&modulus.len())
        && modulus[0] >= 0x80
        && is_odd(modulus)
        && (1..=EXPONENT_BYTES_MAX).contains(&exponent.len())
        && exponent[0] < 0x80
        && is_odd(exponent)
        && !is_one;
    is_good.then_some(modulus.len())
}

/// The content of the first element, which has this tag, and the bytes after it (X.690, 8.1).
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = der.split_first_chunk()?;
    let (length, rest) = match length {
        _ if found != tag => return None,
        0..=0x7f => (usize::from(length), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x82 => {
            let (&[high, low], rest) = rest.split_first_chunk()?;
            (usize::from(high) << 8 | usize::from(low), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Encodes a key as MySQL does (RFC 7468).
fn to_pem(der: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
    for line in der.chunks(48) {
        for three in line.chunks(3) {
            let bits = (0..3).fold(0usize, |bits, at| {
                bits << 8 | usize::from(three.get(at).copied().unwrap_or_default())
            });
            for at in 0..4 {
                let sign = char::from(SIGNS[bits >> (18 - 6 * at) & 63]);
                pem.push(if at <= three.len() { sign } else { '=' });
            }
        }
        pem.push('\n');
    }
    let _ = writeln!(pem, "-----END PUBLIC KEY-----");
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of 2,048 bits, made by `openssl genpkey -algorithm RSA`.
    pub(in crate::client) const KEY: &str = include_str!("key_of_tests.pem");

    #[test]
    fn a_key_is_put_together_as_it_was() {
        let key = RsaKey::of(KEY.as_bytes()).unwrap();
        assert_eq!((key.pem.trim(), key.modulus_bytes), (KEY.trim(), 256));
        assert_eq!(key.encrypt(b"secret\0").unwrap().len(), 256);
        assert!(key.encrypt(&[7; 214]).is_some());
        assert!(key.encrypt(&[7; 215]).is_none(), "the padding has no room");
    }

    #[test]
    fn what_is_no_key_is_none_and_does_not_panic() {
        let der = SubjectPublicKeyInfoDer::from_pem_slice(KEY.as_bytes()).unwrap().to_vec();
        for at in 0..der.len() {
            assert!(modulus_bytes(&der[..at]).is_none(), "cut off at {at}");
            for bit in 0..8 {
                let mut wrong = der.clone();
                wrong[at] ^= 1 << bit;
                // Most other moduli are valid too; an accepted key must be usable.
                if let Some(key) = RsaKey::of(to_pem(&wrong).as_bytes()) {
                    assert!(at >= 30 && key.modulus_bytes == 256, "{at}");
                }
            }
        }
        for wrong in [
            "",
            "-----BEGIN PUBLIC KEY-----",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\n====\n-----END PUBLIC KEY-----\n",
            "-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----\n",
        ] {
            assert!(RsaKey::of(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
