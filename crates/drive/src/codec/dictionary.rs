//! Dictionaries for zstd: what blocks of one database have in common, learnt once and kept on the drive.
//!
//! A dictionary never changes; a better one gets the next version, and records name the version they need.

use std::fmt;
use std::sync::Arc;

use zstd::zstd_safe::{self, DDict};

use super::CodecError;

/// Size in bytes to which a dictionary is trained unless something else is asked for.
pub const DICTIONARY_BYTES: usize = 16 * 1024;

/// A zstd dictionary (RFC 8878, section 5) with its version on the drive, prepared for decoding.
///
/// A [`Coder`](super::Coder) prepares it for encoding with its own settings when it is first given it.
pub struct Dictionary {
    version: u8,
    bytes: Arc<[u8]>,
    decoder: DDict<'static>,
}

impl Dictionary {
    /// Learns from samples, best some thousand units as they will be written, in at most `max_bytes`.
    /// `None` when there is too little to learn from.
    ///
    /// Takes seconds for megabytes: a matter for the background.
    ///
    /// # Errors
    /// [`CodecError::BadDictionary`] for version 0.
    pub fn train(
        version: u8,
        samples: &[impl AsRef<[u8]>],
        max_bytes: usize,
    ) -> Result<Option<Self>, CodecError> {
        let sizes: Vec<usize> = samples.iter().map(|sample| sample.as_ref().len()).collect();
        let together: Vec<u8> = samples.iter().flat_map(AsRef::as_ref).copied().collect();
        let mut bytes = Vec::with_capacity(max_bytes);
        match zstd_safe::train_from_buffer(&mut bytes, &together, &sizes) {
            Ok(_) => Dictionary::from_bytes(version, &bytes).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// A dictionary as it was stored.
    ///
    /// # Errors
    /// [`CodecError::BadDictionary`] for bytes that are none, and for version 0.
    pub fn from_bytes(version: u8, bytes: &[u8]) -> Result<Dictionary, CodecError> {
        let decoder = is_dictionary(bytes).then(|| DDict::try_create(bytes)).flatten();
        match decoder {
            Some(decoder) if version > 0 => {
                Ok(Dictionary { version, bytes: bytes.into(), decoder })
            }
            _ => Err(CodecError::BadDictionary(version)),
        }
    }

    /// Its version on the drive, 1 to 255.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// What is to be stored.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn shared_bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    pub(super) fn decoder(&self) -> &DDict<'static> {
        &self.decoder
    }
}

/// zstd takes bytes without a dictionary's header as plain history; ours always have one.
fn is_dictionary(bytes: &[u8]) -> bool {
    zstd_safe::get_dict_id_from_dict(bytes).is_some()
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Dictionary({}, {} bytes)", self.version, self.bytes.len())
    }
}
