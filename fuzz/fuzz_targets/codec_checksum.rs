//! Any bytes as a chunk stored with one of numcodecs' checksums: an error, or a whole chunk.
#![no_main]

const NAMES: [&str; 4] = ["crc32", "adler32", "fletcher32", "jenkins_lookup3"];

libfuzzer_sys::fuzz_target!(|input: (u8, swath_fuzz::codec::Case<'_>)| {
    swath_fuzz::codec::decode(NAMES[usize::from(input.0) % NAMES.len()], &input.1)
});
