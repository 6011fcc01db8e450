//! The compressors and decompressors of one worker, created when first needed and reused.

use std::sync::Arc;

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use lz4_flex::block::{self, CompressTable};

use super::zstandard::{Decoder, Encoder};
use super::{Codec, CodecError, Dictionary, Encoding, looks_incompressible, packed, simulated};

/// Level of libdeflate: as dense as higher levels on blocks of rows, and twice as fast.
const DEFLATE_LEVEL: i32 = 1;

/// Encodes and decodes data. Used by one thread at a time; takes up to about 1.5 MiB.
pub struct Coder {
    codec: Codec,
    lz4: Option<Box<CompressTable>>,
    deflate: Option<Compressor>,
    inflate: Option<Decompressor>,
    zstd: Option<Encoder>,
    zstd_with_dictionary: Option<Encoder>,
    zstd_decoder: Option<Decoder>,
}

impl Coder {
    /// A coder that encodes with `codec` and decodes everything.
    #[must_use]
    pub fn new(codec: Codec) -> Coder {
        Coder {
            codec,
            lz4: None,
            deflate: None,
            inflate: None,
            zstd: None,
            zstd_with_dictionary: None,
            zstd_decoder: None,
        }
    }

    /// The codec with which it encodes.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Appends the stored form of `data` to `out` and returns its codec id (see [`Encoding`]).
    ///
    /// Data are stored raw if they look incompressible or would not shrink to 15/16. Only zstd uses
    /// `dictionary`; preparing one other than the last costs about as much as ten blocks. If `out`
    /// has capacity for twice the data, this does not allocate.
    pub fn encode(
        &mut self,
        data: &[u8],
        dictionary: Option<&Dictionary>,
        out: &mut Vec<u8>,
    ) -> u8 {
        let start = out.len();
        if self.codec == Codec::Simulated && simulated::encode(data, out) {
            if out.len() - start <= limit(data.len()) {
                return Encoding::Simulated.id();
            }
            out.truncate(start);
        }
        let stored =
            if looks_incompressible(data) { None } else { self.shrink(data, dictionary, out) };
        let encoding = match stored {
            Some((encoding, length)) if length <= limit(data.len()) => {
                out.truncate(start + length);
                encoding
            }
            _ => {
                out.truncate(start);
                out.extend_from_slice(data);
                Encoding::Raw
            }
        };
        encoding.id()
    }

    /// Appends the stored form of a map node and returns its codec id: packed, or raw if packing
    /// saves little or the codec is none.
    pub(crate) fn encode_node(&self, words: &[u64; packed::NODE_WORDS], out: &mut Vec<u8>) -> u8 {
        if self.codec == Codec::None {
            out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            return Encoding::Raw.id();
        }
        packed::encode(words, out).id()
    }

    /// Puts a shorter form behind the bytes in `out`, and leaves surplus bytes after it; `None` if
    /// there is none.
    fn shrink(
        &mut self,
        data: &[u8],
        dictionary: Option<&Dictionary>,
        out: &mut Vec<u8>,
    ) -> Option<(Encoding, usize)> {
        let start = out.len();
        let room = if self.codec == Codec::Lz4 {
            block::get_maximum_output_size(data.len())
        } else {
            limit(data.len())
        };
        out.resize(start + room, 0);
        let stored = &mut out[start..];
        match (self.codec, dictionary) {
            (Codec::None | Codec::Simulated, _) => None,
            (Codec::Lz4, _) => Some((Encoding::Lz4, self.shrink_lz4(data, stored)?)),
            (Codec::Deflate, _) => Some((Encoding::Deflate, self.shrink_deflate(data, stored)?)),
            (Codec::Zstd, None) => {
                Some((Encoding::Zstd, made(&mut self.zstd, Encoder::plain)?.encode(data, stored)?))
            }
            (Codec::Zstd, Some(dictionary)) => {
                let (version, frame) = stored.split_first_mut()?;
                *version = dictionary.version();
                let encoder = made(&mut self.zstd_with_dictionary, Encoder::for_dictionaries)?;
                Some((Encoding::ZstdDictionary, 1 + encoder.encode_with(dictionary, data, frame)?))
            }
        }
    }

    fn shrink_lz4(&mut self, data: &[u8], stored: &mut [u8]) -> Option<usize> {
        let table = self.lz4.get_or_insert_with(Box::default);
        block::compress_into_with_table(data, stored, table).ok()
    }

    fn shrink_deflate(&mut self, data: &[u8], stored: &mut [u8]) -> Option<usize> {
        let level = CompressionLvl::new(DEFLATE_LEVEL).ok()?;
        self.deflate
            .get_or_insert_with(|| Compressor::new(level))
            .deflate_compress(data, stored)
            .ok()
    }

    /// Fills `data` from bytes that [`Coder::encode`] has made from data of this length.
    ///
    /// `dictionaries` finds a dictionary by its version. After an error, the contents of `data` are
    /// unspecified.
    ///
    /// # Errors
    /// [`CodecError`] for bytes that no coder has made from data of this length.
    pub fn decode(
        &mut self,
        codec_id: u8,
        stored: &[u8],
        dictionaries: &dyn Fn(u8) -> Option<Arc<Dictionary>>,
        data: &mut [u8],
    ) -> Result<(), CodecError> {
        let encoding = Encoding::from_id(codec_id).ok_or(CodecError::UnknownEncoding(codec_id))?;
        let malformed = CodecError::Malformed { encoding, length: data.len() };
        let filled = match encoding {
            Encoding::Raw => copy(stored, data),
            Encoding::Lz4 => block::decompress_into(stored, data).ok(),
            Encoding::Packed => packed::decode(stored, data),
            Encoding::Simulated => simulated::decode(stored, data),
            Encoding::Deflate => self
                .inflate
                .get_or_insert_with(Decompressor::new)
                .deflate_decompress(stored, data)
                .ok(),
            Encoding::Zstd => self.zstd_decoder()?.decode(stored, data).ok(),
            Encoding::ZstdDictionary => {
                let (&version, frame) = stored.split_first().ok_or(malformed.clone())?;
                let dictionary =
                    dictionaries(version).ok_or(CodecError::MissingDictionary(version))?;
                self.zstd_decoder()?.decode_with(&dictionary, frame, data).ok()
            }
        };
        if filled == Some(data.len()) { Ok(()) } else { Err(malformed) }
    }

    fn zstd_decoder(&mut self) -> Result<&mut Decoder, CodecError> {
        made(&mut self.zstd_decoder, Decoder::new).ok_or(CodecError::NoMemory)
    }
}

/// The longest stored form that is kept, 15/16 of the data: below it, reading costs more than it
/// saves.
fn limit(data_bytes: usize) -> usize {
    data_bytes - data_bytes.div_ceil(16)
}

fn made<T>(place: &mut Option<T>, make: impl FnOnce() -> Option<T>) -> Option<&mut T> {
    if place.is_none() {
        *place = make();
    }
    place.as_mut()
}

fn copy(stored: &[u8], data: &mut [u8]) -> Option<usize> {
    (stored.len() == data.len()).then(|| {
        data.copy_from_slice(stored);
        data.len()
    })
}

impl std::fmt::Debug for Coder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Coder({})", self.codec)
    }
}
