//! zstd as the drive uses it: level 1, frames without what the record says already.

use std::sync::Arc;

use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, DParameter, FrameFormat, ResetDirective, SafeResult,
};

use super::dictionary::Dictionary;

/// Level 1 is as dense as any on blocks of rows, and the fastest that codes literals.
const LEVEL: i32 = 1;

/// Compresses units, always with the same dictionary until another is asked for.
pub struct Encoder {
    context: CCtx<'static>,
    dictionary: Option<Arc<[u8]>>,
}

impl Encoder {
    /// `None` when there is no memory for it.
    pub fn new() -> Option<Encoder> {
        let mut context = CCtx::try_create()?;
        let settings = [
            CParameter::CompressionLevel(LEVEL),
            CParameter::Format(FrameFormat::Magicless),
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ];
        settings
            .into_iter()
            .try_for_each(|setting| context.set_parameter(setting).map(drop))
            .ok()?;
        Some(Encoder { context, dictionary: None })
    }

    /// Fills `stored` from its start; the bytes used, or `None` when it is too small.
    pub fn encode(&mut self, data: &[u8], stored: &mut [u8]) -> Option<usize> {
        let used = self.context.compress2(stored, data).ok();
        if used.is_none() {
            // A frame left in the middle would keep the context from taking another dictionary.
            self.context.reset(ResetDirective::SessionOnly).ok()?;
        }
        used
    }

    /// As `encode`; a dictionary that is not the last one used is prepared first.
    pub fn encode_with(
        &mut self,
        dictionary: &Dictionary,
        data: &[u8],
        stored: &mut [u8],
    ) -> Option<usize> {
        let bytes = dictionary.shared_bytes();
        if !self.dictionary.as_ref().is_some_and(|loaded| Arc::ptr_eq(loaded, bytes)) {
            self.dictionary = None;
            self.context.load_dictionary(bytes).ok()?;
            self.dictionary = Some(Arc::clone(bytes));
        }
        self.encode(data, stored)
    }
}

/// Decompresses units.
pub struct Decoder {
    context: DCtx<'static>,
}

impl Decoder {
    /// `None` when there is no memory for it.
    pub fn new() -> Option<Decoder> {
        let mut context = DCtx::try_create()?;
        context.set_parameter(DParameter::Format(FrameFormat::Magicless)).ok()?;
        Some(Decoder { context })
    }

    /// Fills `data` from its start; the bytes filled.
    pub fn decode(&mut self, stored: &[u8], data: &mut [u8]) -> SafeResult {
        self.context.decompress(data, stored)
    }

    /// As `decode`, for a unit that was stored with `dictionary`.
    pub fn decode_with(
        &mut self,
        dictionary: &Dictionary,
        stored: &[u8],
        data: &mut [u8],
    ) -> SafeResult {
        self.context.decompress_using_ddict(data, stored, dictionary.decoder())
    }
}
