//! Any bytes as a chunk of elements of any length: an error, or as many elements as there should be.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: swath_fuzz::filters::Case<'_>| swath_fuzz::filters::variable(&case));
