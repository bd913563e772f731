//! Files of GRIB messages: what a walk finds in them, and what their values unpack to.

use swath_convert::{Bitmap, Field, FieldBytes, Found, Span, Walk, unpack};

/// Points of a field that is unpacked: more would take the memory that all of a run may.
const POINTS_MAX: u64 = 1 << 20;

/// Fields of a file that are unpacked.
const FIELDS_MAX: usize = 64;

/// Walks through bytes as a file, and unpacks what is found. The first byte says how many are asked for at once.
///
/// # Panics
///
/// Where the walk wants what the file does not have, or does not come to an end.
pub fn walk_and_unpack(bytes: &[u8]) {
    let Some((first, file)) = bytes.split_first() else { return };
    let size = file.len() as u64;
    let mut walk = Walk::new(size, u64::from(*first));
    let mut fields: Vec<Field> = Vec::new();
    let mut reads = 0;
    while let Some(span) = walk.wanted() {
        assert!(span.len != 0 && span.end() <= size, "{span:?} of {size} bytes");
        walk.feed(part(file, span), &mut |found| {
            if let Found::Field(field) = found {
                assert!(field.message.end() <= size && field.place.data.end() <= size, "{field:?}");
                fields.push(*field);
            }
        });
        reads += 1;
        assert!(reads <= 4096 + 2 * file.len(), "the walk goes on and on");
    }
    for field in fields.iter().take(FIELDS_MAX) {
        if field.grid.points <= POINTS_MAX {
            unpacked(field, file);
        }
    }
}

fn part(file: &[u8], span: Span) -> &[u8] {
    &file[span.offset as usize..span.end() as usize]
}

fn unpacked(field: &Field, file: &[u8]) {
    let bytes = FieldBytes {
        bitmap: field.place.bitmap.map(|span| part(file, span).to_vec()),
        data: part(file, field.place.data).to_vec(),
    };
    assert!(bytes.bitmap.is_some() == (field.bitmap == Bitmap::Stored), "{field:?}");
    let points = field.grid.points as usize;
    let (mut wide, mut narrow) = (vec![0.0f64; points], vec![0.0f32; points]);
    let results = (unpack(field, &bytes, &mut wide), unpack(field, &bytes, &mut narrow));
    assert_eq!(results.0.is_ok(), results.1.is_ok(), "{results:?}");
    if results.0.is_ok() {
        let same =
            |(narrow, wide): (&f32, &f64)| narrow.to_bits() == (*wide as f32).to_bits() || wide.is_nan();
        assert!(narrow.iter().zip(&wide).all(same));
    }
}
