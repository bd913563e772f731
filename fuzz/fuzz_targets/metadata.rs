//! Any bytes as any metadata document: an answer, and one that holds together.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swath_zarr_front::{ArrayMetadata, Consolidated, FillValue, GroupMetadata, NodeMetadata, ZarrFormat};

fn check_array(array: &ArrayMetadata) {
    let rank = array.shape().len();
    assert_eq!(array.chunk_shape().len(), rank);
    assert!(array.chunk_shape().iter().all(|extent| *extent != 0));
    assert!(array.dimension_names().is_none_or(|names| names.len() == rank));
    let fill = array.fill_value();
    // Elements of any length have values of any length.
    let is_fixed = !array.data_type().is_variable_length();
    assert!(!is_fixed || fill.bytes().len() == array.data_type().size_bytes());
    let again = FillValue::from_json(&fill.to_json(), array.data_type(), ZarrFormat::V3);
    assert_eq!(again.as_ref().ok(), Some(fill));
    let mut key = String::new();
    array.chunk_key_encoding().write_key(&vec![u64::MAX; rank], &mut key);
    assert!(!key.is_empty());
}

fn check_consolidated(consolidated: &Consolidated) {
    for (path, node) in consolidated.iter() {
        if let Ok(NodeMetadata::Array(array)) = node.parse(path) {
            check_array(&array);
        }
        let below = consolidated.below(path);
        for child in below.children() {
            assert!(below.get(child).is_some());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(node) = NodeMetadata::parse_v3(bytes, "zarr.json") {
        match node {
            NodeMetadata::Array(array) => check_array(&array),
            NodeMetadata::Group(group) => {
                if let Some(consolidated) = group.consolidated() {
                    check_consolidated(consolidated);
                }
            }
        }
    }
    if let Ok(array) = ArrayMetadata::parse_v2(bytes, Some(bytes), ".zarray") {
        check_array(&array);
    }
    let _ = GroupMetadata::parse_v2(bytes, None, ".zgroup");
    if let Ok(consolidated) = Consolidated::parse_v2(bytes, ".zmetadata") {
        check_consolidated(&consolidated);
    }
});
