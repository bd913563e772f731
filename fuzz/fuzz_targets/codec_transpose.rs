//! Any bytes as a chunk stored by `transpose`: an error, or a whole chunk.
#![no_main]

libfuzzer_sys::fuzz_target!(|case: swath_fuzz::codec::Case<'_>| swath_fuzz::codec::decode(
    "transpose",
    &case
));
