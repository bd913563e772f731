//! What scans find in messages that the tests wrote.

use crate::{corpus, made};
use serde_json::json;
use swath_convert::{Bitmap, DamageKind, Found, Parameter, ScanOptions, Span, Walk, record};
use swath_ioengine::{MemoryMedium, ObjectRef};

#[test]
fn a_message_of_each_edition_is_listed() {
    let (one, two) = (made::edition1(&[1, 2, 3, 4, 5, 6]), made::small());
    let (fields, damages) = corpus::scanned([one.clone(), two.clone()].concat());
    assert_eq!((fields.len(), damages.len()), (2, 0));
    assert_eq!(fields[0].parameter, Parameter::Indicator { table: 128, indicator: 130 });
    assert_eq!(fields[1].parameter, Parameter::Triple { discipline: 0, category: 0, number: 0 });
    let one_len = u64::try_from(one.len()).unwrap();
    assert_eq!(fields[1].message, Span { offset: one_len, len: u64::try_from(two.len()).unwrap() });
    for (field, pressure) in fields.iter().zip([500.0, 50_000.0]) {
        assert_eq!(field.level.unwrap().first.value, Some(pressure));
        assert_eq!(field.step.unwrap().end_seconds(), Some(86_400));
        assert_eq!(field.time.to_string(), "2019-03-01T06:00:00Z");
        assert_eq!((field.grid.columns, field.grid.rows, field.grid.points), (Some(3), Some(2), 6));
        assert_eq!((field.packing.bits, field.packing.values), (8, Some(6)));
        assert_eq!(field.place.data.len, 6);
    }
    let line = record("a.grib", &Found::Field(Box::new(fields[1].clone())));
    assert_eq!((&line["file"], &line["packing"]), (&json!("a.grib"), &json!("simple")));
    assert_eq!(line["level"], json!({"type": 100, "value": 50_000.0}));
    assert_eq!(line["grid"]["area"]["first"], json!([60.0, 350.0]));
}

#[test]
fn fields_of_one_message_share_what_they_do_not_repeat() {
    let bitmap = made::section(6, &[0, 0b1010_1100]);
    let data = |values: &[u8]| made::section(7, values);
    let bytes = made::message(&[
        made::identification(),
        made::grid(3, 2, 0),
        made::product(50_000, 24),
        made::simple(4, 8),
        bitmap,
        data(&[1, 2, 3, 4]),
        made::product(85_000, 24),
        made::simple(4, 8),
        made::section(6, &[254]),
        data(&[5, 6, 7, 8]),
        made::grid(2, 2, 0),
        made::product(85_000, 48),
        made::simple(4, 8),
        made::no_bitmap(),
        data(&[9, 9, 9, 9]),
    ]);
    let (fields, damages) = corpus::scanned(bytes.clone());
    assert_eq!(damages, []);
    let told: Vec<_> = fields.iter().map(|field| (field.number, field.grid.points, field.bitmap)).collect();
    assert_eq!(told, [(0, 6, Bitmap::Stored), (1, 6, Bitmap::Stored), (2, 4, Bitmap::None)]);
    assert_eq!(fields[0].place.bitmap, fields[1].place.bitmap);
    assert!(std::sync::Arc::ptr_eq(&fields[0].grid, &fields[1].grid));
    let start = usize::try_from(fields[1].place.data.offset).unwrap();
    assert_eq!(bytes[start..start + 4], [5, 6, 7, 8]);
}

/// Everything that can be cut off, and every way in which bytes can come, leads to the same fields or to a damage.
#[test]
fn whatever_is_cut_off_is_told() {
    let whole = [made::edition1(&[1, 2, 3, 4, 5, 6]), vec![0; 37], made::small(), made::small()].concat();
    let (first, small) = (made::edition1(&[1; 6]).len(), made::small().len());
    for len in 0..=whole.len() {
        let (fields, damages) = corpus::scanned(whole[..len].to_vec());
        let wanted = [first, first + 37 + small, whole.len()].iter().filter(|end| **end <= len).count();
        assert_eq!(fields.len(), wanted, "{len} bytes");
        let is_between = len == 0
            || len == whole.len()
            || (first..=first + 37).contains(&len)
            || len == first + 37 + small;
        assert_eq!(
            damages.is_empty(),
            is_between,
            "{len} bytes, the first {first}, the others {small}: {damages:?}"
        );
    }
}

#[test]
fn messages_are_found_between_other_bytes() {
    let small = made::small();
    let mut junk: Vec<u8> = (0..200_000u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
    junk[70_000..70_009].copy_from_slice(b"GRIB text");
    let bytes = [&junk[..], &small, b"GRI", &small, &[0; 100], &small, b"end"].concat();
    let (fields, damages) = corpus::scanned(bytes);
    assert_eq!(fields.len(), 3);
    let told: Vec<_> = damages.iter().map(|damage| (damage.kind, damage.span.len)).collect();
    let stray = DamageKind::Stray;
    assert_eq!(told, [(stray, 200_000), (stray, 3), (stray, 3)]);
}

#[test]
fn a_file_without_messages_is_given_up() {
    let options = ScanOptions { stray_bytes_max: Some(100_000), ..ScanOptions::default() };
    let mut found = corpus::found_in(&[corpus::object(vec![7; 1 << 20])], &options).unwrap();
    let (fields, damages) = corpus::parted(found.remove(0));
    assert_eq!((fields.len(), damages.len()), (0, 1));
    assert!(damages[0].span.len < 250_000 && damages[0].message.contains("beyond"), "{}", damages[0]);
}

/// Long messages take a read each, and none of their data.
#[test]
fn data_sections_are_not_read() {
    let data = made::section(7, &vec![1; 1_000_000]);
    let long = made::message(&[
        made::identification(),
        made::grid(1000, 1000, 0),
        made::product(50_000, 24),
        made::simple(1_000_000, 8),
        made::no_bitmap(),
        data,
    ]);
    let bytes = long.repeat(5);
    let mut walk = Walk::new(u64::try_from(bytes.len()).unwrap(), 1024);
    let (mut reads, mut total, mut fields) = (0, 0, 0);
    while let Some(span) = walk.wanted() {
        let start = usize::try_from(span.offset).unwrap();
        let end = usize::try_from(span.end()).unwrap();
        walk.feed(&bytes[start..end], &mut |_| fields += 1);
        (reads, total) = (reads + 1, total + span.len);
    }
    assert_eq!((fields, reads), (5, 6));
    assert!(total <= 6 * 1024, "{total} bytes read");
}

/// Short messages come many to a read.
#[test]
fn short_messages_share_reads() {
    let bytes = made::small().repeat(10_000);
    let mut walk = Walk::new(u64::try_from(bytes.len()).unwrap(), 1024);
    let (mut reads, mut fields) = (0, 0);
    while let Some(span) = walk.wanted() {
        let start = usize::try_from(span.offset).unwrap();
        walk.feed(&bytes[start..usize::try_from(span.end()).unwrap()], &mut |_| fields += 1);
        reads += 1;
    }
    assert_eq!(fields, 10_000);
    assert!(reads <= 2 + bytes.len() / 60_000, "{reads} reads");
}

#[test]
fn a_file_that_cannot_be_read_does_not_concern_others() {
    let memory = MemoryMedium::new();
    memory.put("a", made::small());
    memory.put("c", made::small());
    let files: Vec<ObjectRef> = ["a", "b", "c"].iter().map(|key| memory.object(key)).collect();
    let found = corpus::found_in(&files, &ScanOptions::default()).unwrap();
    let kinds: Vec<_> = found.into_iter().map(corpus::parted).collect();
    assert_eq!((kinds[0].0.len(), kinds[2].0.len()), (1, 1));
    assert_eq!(kinds[1].1[0].kind, DamageKind::Unread);
}
