//! Any files as references in Parquet: what they lead to, or an error, and never more memory than they pay for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use swath_fuzz::folder::folder;
use swath_fuzz::nodes::read;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{ReferenceTargets, Store};

// libFuzzer's hook ends the process where anything panics. The reader of Parquet may, and is caught; all that is not caught ends
// the process as well, or is an error of the kind `Internal`.
fuzz_target!(
    init: std::panic::set_hook(Box::new(|info| match info.location() {
        Some(place) if !place.file().contains("crates/") && !place.file().contains("fuzz/") => {}
        _ => eprintln!("{info}"),
    })),
    |bytes: &[u8]| {
        static ELSEWHERE: OnceLock<MemoryMedium> = OnceLock::new();
        ELSEWHERE.get_or_init(|| {
            let memory = MemoryMedium::named("fuzz-references").expect("nobody else has that name");
            memory.put("data.bin", vec![7; 613]);
            memory.put("whole.bin", vec![7; 200]);
            memory
        });
        let targets = ReferenceTargets::new().with_folder("memory://fuzz-references/");
        read(Store::parquet_references(Store::memory(&folder(bytes)), targets));
    }
);
