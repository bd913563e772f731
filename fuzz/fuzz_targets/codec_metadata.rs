//! Any JSON as a codec's metadata: an error, or a codec that its own metadata describes.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| swath_fuzz::codec::metadata(text));
