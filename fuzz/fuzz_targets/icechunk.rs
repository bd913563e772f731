//! Any files as an Icechunk repository: what is in it, or an error, and never more memory than they pay for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use swath_fuzz::folder::folder;
use swath_fuzz::nodes::read;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{IcechunkOptions, ReferenceTargets, Store};

/// Where virtual chunks may be: seeds name it as their container.
const SOURCE: &str = "memory://fuzz-source/";

fuzz_target!(|bytes: &[u8]| {
    static ELSEWHERE: OnceLock<MemoryMedium> = OnceLock::new();
    ELSEWHERE.get_or_init(|| {
        let memory = MemoryMedium::named("fuzz-source").expect("nobody else has that name");
        memory.put("data.bin", vec![7; 64]);
        memory
    });
    let options = IcechunkOptions::new().authorize(SOURCE);
    let repository = Store::memory(&folder(bytes));
    read(Store::icechunk(repository, &options, ReferenceTargets::new()));
});
