//! The device models: that they answer when the closed forms say, on a clock that is set by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod nand;
#[path = "../../../drive/tests/common/random.rs"]
#[allow(dead_code, reason = "other tests draw more from it")]
mod random;
