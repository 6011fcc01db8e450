#![no_main]

#[path = "../../crates/models/tests/fuzz/body.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::trace(bytes));
