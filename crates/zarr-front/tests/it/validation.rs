//! Checking arrays: what is sound is found sound, and what cannot be read is found.

use crate::oracle::spec;
use crate::written::Spec;
use proptest::prelude::*;
use swath_codecs::Checksums;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{Array, Severity, Store, ValidateOptions, Validated};

fn validate(array: &Array) -> (Validated, Vec<String>) {
    let mut found = Vec::new();
    let done = array.validate(&ValidateOptions::default(), &mut |finding| {
        if finding.severity == Severity::Damage {
            found.push(format!("{}: {}", finding.object, finding.message));
        }
    });
    (done.unwrap(), found)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn arrays_of_every_layout_are_sound_until_a_byte_of_them_cannot_be_read(
        spec in spec(), object in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bit in 0_u32..8,
    ) {
        let written = spec.clone().write();
        let memory = written.memory();
        let array = Array::open_in(&Store::memory(&memory), "").unwrap();
        let (done, found) = validate(&array);
        prop_assert!(found.is_empty(), "{found:?}");
        let is_chunk = |key: &&String| !key.ends_with("zarr.json") && !key.ends_with(".zarray");
        let chunks: Vec<&String> = written.objects.keys().filter(is_chunk).collect();
        prop_assert_eq!(done.objects, u64::try_from(chunks.len()).unwrap());
        // Of shards in shards only the outer index is looked through: what lies below an entry counts as stored.
        prop_assert!(1 < spec.levels.len() || done.chunks <= written.stored_chunks);

        if chunks.is_empty() {
            return Ok(());
        }
        let key = chunks[object.index(chunks.len())];
        let mut bytes = written.objects[key].clone();
        if bytes.is_empty() {
            return Ok(());
        }
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        memory.put(key, bytes);
        let (_, found) = validate(&array);
        let read = Array::open_in(&Store::memory(&memory), "").unwrap().read(&"...".parse().unwrap());
        if let Err(error) = read {
            prop_assert!(!found.is_empty(), "{key}, bit {bit} of byte {at}: {error}");
            prop_assert!(found.iter().all(|finding| finding.contains(key.as_str())), "{key}: {found:?}");
        }
    }
}

#[test]
fn checksums_are_verified_where_the_store_passes_over_them() {
    let written = Spec { compressor: Some("crc32c"), ..Spec::plain(&[8], &[4]) }.write();
    let memory: MemoryMedium = written.memory();
    let mut bytes = written.objects["c/1"].clone();
    bytes[0] ^= 1;
    memory.put("c/1", bytes);
    let store = Store::memory(&memory).with_checksums(Checksums::Skip);
    let array = Array::open_in(&store, "").unwrap();
    assert!(array.read(&"...".parse().unwrap()).is_ok());
    let (done, found) = validate(&array);
    assert_eq!((done.chunks, done.damages), (2, 1), "{found:?}");
    assert!(found[0].contains("c/1"), "{found:?}");
}
