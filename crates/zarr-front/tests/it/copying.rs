//! Copies of random arrays into random chunks, in little memory, interrupted and gone on with.

use crate::oracle::spec;
use proptest::prelude::*;
use std::cell::Cell;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{
    Array, CopyCodecs, CopyExisting, CopyOptions, CopyShards, ErrorKind, Store, ValidateOptions, Verify,
    ZarrFormat,
};

/// What a copy is to be.
#[derive(Clone, Debug)]
struct Wanted {
    chunks: Vec<u64>,
    /// Chunks of a shard along each axis.
    shards: Option<Vec<u64>>,
    v2: bool,
    compressor: Option<&'static str>,
    memory_bytes: u64,
    /// Asks after an interrupt that are answered with no, before one is answered with yes.
    patience: u32,
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let extents = || prop::collection::vec(1_u64..9, 5);
    let codec = prop::sample::select(vec![None, Some("none"), Some("zstd"), Some("gzip"), Some("blosc")]);
    (extents(), prop::option::of(extents()), any::<bool>(), codec, 20_000_u64..400_000, 0_u32..12).prop_map(
        |(chunks, shards, v2, compressor, memory_bytes, patience)| {
            let shards = shards.filter(|_| !v2);
            Wanted { chunks, shards, v2, compressor, memory_bytes, patience }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_copy_has_the_same_elements(spec in spec(), wanted in wanted()) {
        let written = spec.write();
        let source = Array::open_in(&Store::memory(&written.memory()), "").unwrap();
        let rank = spec.shape.len();
        let chunks = wanted.chunks[..rank].to_vec();
        let shards = wanted.shards.as_ref().map(|shards| shards.iter().zip(&chunks).map(|(n, chunk)| n * chunk).collect());
        let (asked, patience) = (Cell::new(0), wanted.patience);
        let interrupt = || asked.replace(asked.get() + 1) == patience;
        let mut options = CopyOptions {
            chunk_shape: Some(chunks),
            shards: shards.map_or(CopyShards::None, CopyShards::Of),
            codecs: wanted.compressor.map_or(CopyCodecs::Keep, |name| CopyCodecs::Named(name.to_owned(), None)),
            zarr_format: Some(if wanted.v2 { ZarrFormat::V2 } else { ZarrFormat::V3 }),
            memory_bytes: wanted.memory_bytes,
            verify: Verify::Yes,
            existing: CopyExisting::Resume,
            interrupt: Some(&interrupt),
            ..CopyOptions::default()
        };
        let store = Store::memory(&MemoryMedium::new());
        match source.copy_to(&store, "a/b", &options) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Cancelled => {}
            // Objects that do not fit, and the order of a v3 array's chunks, which v2 cannot say.
            Err(error) if error.to_string().contains("wanted memory for objects") => return Ok(()),
            Err(error) if wanted.v2 && error.kind() == ErrorKind::Unsupported => return Ok(()),
            Err(error) => prop_assert!(false, "{error}"),
        }
        options.interrupt = None;
        let copy = source.copy_to(&store, "a/b", &options).unwrap();
        prop_assert!(copy.read(&"...".parse().unwrap()).unwrap().as_bytes() == written.elements);
        let mut found = Vec::new();
        copy.validate(&ValidateOptions::default(), &mut |finding| found.push(finding.message)).unwrap();
        prop_assert_eq!(found, Vec::<String>::new());
    }
}
