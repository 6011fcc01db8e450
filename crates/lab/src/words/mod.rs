//! Sentences: from values of the store to English, for whoever shows them. Nothing here decides, and nobody takes a sentence apart
//! again.

pub(crate) mod unwatched;
pub(crate) mod warning;
