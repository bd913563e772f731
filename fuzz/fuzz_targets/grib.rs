//! Any bytes as a GRIB file of either edition: fields or damages, and values or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swath_fuzz::grib::walk_and_unpack;

// libFuzzer's hook ends the process where anything panics. The decoder of JPEG 2000 may, and is caught; a panic of ours is not.
fuzz_target!(
    init: std::panic::set_hook(Box::new(|info| match info.location() {
        Some(place) if !place.file().contains("crates/") && !place.file().contains("fuzz/") => {}
        _ => {
            eprintln!("{info}");
            std::process::abort();
        }
    })),
    |bytes: &[u8]| walk_and_unpack(bytes)
);
