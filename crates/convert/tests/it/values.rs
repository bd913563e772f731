//! The values of the shared sample files against those that two readers agree on.

use crate::corpus;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use swath_convert::{ErrorKind, Field, Sample, ScanOptions, read_field, unpack};
use swath_ioengine::{Engine, FileAccess, LocalFiles, ObjectRef};

/// What became of the fields of one packing and grid.
#[derive(Default)]
struct Row {
    equal: usize,
    near: usize,
    alone: usize,
    unsupported: BTreeMap<String, usize>,
}

/// Every field decodes to the values of ecCodes to the last bit, but those of packings that are said not to be supported. Prints
/// the table of what is covered.
#[test]
fn every_sample_field_has_the_values_that_others_read() {
    let Some(root) = corpus::root() else { return };
    let local = LocalFiles::open(&root, FileAccess::default()).unwrap();
    let mut table: BTreeMap<(u8, String, String), Row> = BTreeMap::new();
    for (name, wanted) in corpus::expected(&root) {
        let object = local.object(&name);
        let found =
            corpus::found_in(std::slice::from_ref(&object), &ScanOptions::default()).unwrap().remove(0);
        let (fields, _) = corpus::parted(found);
        for (field, message) in fields.iter().zip(wanted["messages"].as_array().unwrap()) {
            let key = |key: &str| message[key].as_str().unwrap().to_owned();
            let row = table.entry((field.edition, key("packingType"), key("gridType"))).or_default();
            check(&object, field, message, row);
        }
    }
    println!(
        "| edition | packing | grid | equal to the last bit | to 1e-6 | nobody else reads it | not supported |"
    );
    println!("| --- | --- | --- | ---: | ---: | ---: | --- |");
    for ((edition, packing, grid), Row { equal, near, alone, unsupported }) in &table {
        let unsupported: Vec<String> =
            unsupported.iter().map(|(why, count)| format!("{count}: {why}")).collect();
        println!(
            "| {edition} | {packing} | {grid} | {equal} | {near} | {alone} | {} |",
            unsupported.join("; ")
        );
    }
    let (mut equal, mut near, mut alone, mut unsupported) = (0, 0, 0, 0);
    for row in table.values() {
        equal += row.equal;
        near += row.near;
        alone += row.alone;
        unsupported += row.unsupported.values().sum::<usize>();
    }
    println!("{equal} equal, {near} near, {alone} alone, {unsupported} not supported");
    assert_eq!((equal, near, alone, unsupported), (1307, 0, 1, 1));
}

fn check(object: &ObjectRef, field: &Field, wanted: &Value, row: &mut Row) {
    let place = format!("{} at {}", object.key, field.message.offset);
    let bytes = read_field(&Engine::global(), object, field).unwrap();
    let mut values = vec![0.0f64; usize::try_from(field.grid.points).unwrap()];
    match unpack(field, &bytes, &mut values) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            *row.unsupported.entry(error.message().to_owned()).or_default() += 1;
            return;
        }
        Err(error) => panic!("{place}: {error}"),
    }
    if wanted["n"].is_null() {
        // A field that ecCodes cannot decode, and nobody else was asked to.
        row.alone += 1;
        return;
    }
    assert_eq!(values.len() as u64, wanted["n"].as_u64().unwrap(), "{place}");
    if checksum(&values) == wanted["sha256_f64le"].as_str().unwrap() {
        row.equal += 1;
    } else {
        compare(&values, wanted, &place);
        row.near += 1;
    }
    let mut narrow = vec![0.0f32; values.len()];
    unpack(field, &bytes, &mut narrow).unwrap();
    let rounded =
        |(narrow, wide): (&f32, &f64)| narrow.to_bits() == f32::from_f64(*wide).to_bits() || wide.is_nan();
    assert!(narrow.iter().zip(&values).all(rounded), "{place}: in 32 bits");
}

fn checksum(values: &[f64]) -> String {
    let mut sum = Sha256::new();
    for block in values.chunks(4096) {
        let canonical = |value: &f64| if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
        let bytes: Vec<u8> = block.iter().flat_map(|value| canonical(value).to_le_bytes()).collect();
        sum.update(bytes);
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Least, largest and mean, to a millionth of their range.
fn compare(values: &[f64], wanted: &Value, place: &str) {
    let present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    assert_eq!(
        (values.len() - present.len()) as u64,
        wanted["missing"].as_u64().unwrap(),
        "{place}: missing"
    );
    let least = present.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = present.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = present.iter().sum::<f64>() / present.len() as f64;
    let size = largest.abs().max(least.abs()).max(1e-30);
    for (name, found) in [("min", least), ("max", largest), ("mean", mean)] {
        let wanted = wanted[name].as_f64().unwrap();
        assert!((found - wanted).abs() <= 1e-6 * size, "{place}: {name} is {found}, and {wanted} is wanted");
    }
}
