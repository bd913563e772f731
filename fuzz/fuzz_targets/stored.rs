//! Any document of an array, and any bytes as its first chunk: an answer or an error.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| swath_fuzz::stored::read(input));
