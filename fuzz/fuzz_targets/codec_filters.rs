//! Any bytes as a chunk of numbers behind filters, `packbits` or `pcodec`: an error, or a whole chunk.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: swath_fuzz::filters::Case<'_>| swath_fuzz::filters::calculate(&case));
