#![no_main]

#[path = "../../crates/plan/tests/fuzz/body.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|text: &str| body::plan(text));
