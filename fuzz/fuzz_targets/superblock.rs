#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| assay_drive::fuzzing::superblock(bytes));
