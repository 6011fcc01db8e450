//! The drive's own test media and random numbers, for tests of the whole tool.

#![allow(dead_code, reason = "each test program uses a part of this")]

#[path = "../../../drive/tests/common/media.rs"]
pub mod media;
#[path = "../../../drive/tests/common/random.rs"]
pub mod random;
