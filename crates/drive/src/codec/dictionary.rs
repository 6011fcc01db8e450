//! Dictionaries for zstd: the common parts of a database's blocks, learnt once and stored on the
//! drive.
//!
//! A dictionary never changes; a better one gets the next version, and records name the version
//! that they need.

use std::fmt;
use std::sync::Arc;

use zstd::zstd_safe::{self, DDict};

use super::{Codec, CodecError, Coder};

/// Default size of a trained dictionary, in bytes.
pub const DICTIONARY_BYTES: usize = 16 * 1024;

/// A zstd dictionary (RFC 8878, section 5) with its version on the drive, prepared for decoding.
///
/// A [`Coder`](super::Coder) prepares it for encoding, with its own settings, when it first gets
/// it.
pub struct Dictionary {
    version: u8,
    bytes: Arc<[u8]>,
    /// CRC-32C of the bytes.
    checksum: u32,
    decoder: DDict<'static>,
}

impl Dictionary {
    /// Trains a dictionary of at most `max_bytes` from samples, best from a thousand units as they
    /// will be written.
    ///
    /// Every eighth sample is reserved for a trial. Returns `None` if that does not show units at
    /// least 2 % smaller, or if there are too few samples: rows of random digits have nothing in
    /// common, and a dictionary harms them. A thousand samples of 4 KiB take a third of a second,
    /// so this belongs in the background.
    ///
    /// # Errors
    /// [`CodecError::BadDictionary`] for version 0.
    pub fn train(
        version: u8,
        samples: &[impl AsRef<[u8]>],
        max_bytes: usize,
    ) -> Result<Option<Self>, CodecError> {
        let lesson = || {
            samples
                .iter()
                .enumerate()
                .filter(|(index, _)| index % 8 != 0)
                .map(|(_, unit)| unit.as_ref())
        };
        let sizes: Vec<usize> = lesson().map(<[u8]>::len).collect();
        let together: Vec<u8> = lesson().flatten().copied().collect();
        let mut bytes = Vec::with_capacity(max_bytes);
        if zstd_safe::train_from_buffer(&mut bytes, &together, &sizes).is_err() {
            return Ok(None);
        }
        let dictionary = Dictionary::from_bytes(version, &bytes)?;
        let trial = || samples.iter().step_by(8).map(AsRef::as_ref);
        let gains =
            stored_bytes(trial(), Some(&dictionary)) * 100 < stored_bytes(trial(), None) * 98;
        Ok(gains.then_some(dictionary))
    }

    /// A dictionary from its stored bytes.
    ///
    /// # Errors
    /// [`CodecError::BadDictionary`] for bytes that are no dictionary, and for version 0.
    pub fn from_bytes(version: u8, bytes: &[u8]) -> Result<Dictionary, CodecError> {
        let decoder = is_dictionary(bytes).then(|| DDict::try_create(bytes)).flatten();
        match decoder {
            Some(decoder) if version > 0 => Ok(Dictionary {
                version,
                bytes: bytes.into(),
                checksum: crc32c::crc32c(bytes),
                decoder,
            }),
            _ => Err(CodecError::BadDictionary(version)),
        }
    }

    /// The version on the drive, 1 to 255.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The bytes to be stored.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The CRC-32C that identifies the dictionary: the checksums of records that need it include
    /// it.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        self.checksum
    }

    pub(super) fn shared_bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    pub(super) fn decoder(&self) -> &DDict<'static> {
        &self.decoder
    }
}

fn stored_bytes<'a>(
    units: impl Iterator<Item = &'a [u8]>,
    dictionary: Option<&Dictionary>,
) -> usize {
    let mut coder = Coder::new(Codec::Zstd);
    let mut stored = Vec::new();
    for unit in units {
        coder.encode(unit, dictionary, &mut stored);
    }
    stored.len()
}

/// Checks for a dictionary's header: zstd accepts bytes without one as plain history, but ours
/// always have it.
fn is_dictionary(bytes: &[u8]) -> bool {
    zstd_safe::get_dict_id_from_dict(bytes).is_some()
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Dictionary({}, {} bytes)", self.version, self.bytes.len())
    }
}
