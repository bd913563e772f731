//! Types of elements, as NumPy writes them in Zarr v2's metadata.

use hdf5_reader::{ByteOrder, CompoundField, Datatype, EnumMember, StringSize, VarLenKind};
use serde_json::{Value, json};

/// How elements are stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stored {
    /// As they are, `bytes` each, of a type that v2's metadata names so.
    Fixed { name: Value, bytes: u64 },
    /// As references to strings of any length that lie elsewhere in the file.
    Strings,
}

/// Structures within structures, at most.
const DEPTH_MAX: usize = 16;

/// How elements of a type are stored; else why references cannot say that.
pub(super) fn stored(datatype: &Datatype) -> Result<Stored, String> {
    if let Datatype::VarLen { kind: VarLenKind::String, .. }
    | Datatype::String { size: StringSize::Variable, .. } = datatype
    {
        return Ok(Stored::Strings);
    }
    let (name, bytes) = fixed(datatype, 0)?;
    Ok(Stored::Fixed { name, bytes })
}

/// The name and the bytes of a type of fixed length.
fn fixed(datatype: &Datatype, depth: usize) -> Result<(Value, u64), String> {
    let named = |kind: &str, size: u8, order: ByteOrder| {
        let order = if size == 1 { "|" } else { ordered(order) };
        (json!(format!("{order}{kind}{size}")), u64::from(size))
    };
    Ok(match datatype {
        Datatype::FixedPoint { size: size @ (1 | 2 | 4 | 8), signed, byte_order } => {
            named(if *signed { "i" } else { "u" }, *size, *byte_order)
        }
        Datatype::FloatingPoint { size: size @ (2 | 4 | 8), byte_order } => named("f", *size, *byte_order),
        Datatype::Bitfield { size: size @ (1 | 2 | 4 | 8), byte_order } => named("u", *size, *byte_order),
        Datatype::Enum { base, members } if is_boolean(base, members) => (json!("|b1"), 1),
        Datatype::Enum { base, .. } => fixed(base, depth)?,
        Datatype::String { size: StringSize::Fixed(bytes), .. } => {
            (json!(format!("|S{bytes}")), u64::from(*bytes))
        }
        Datatype::Opaque { size, .. } => (json!(format!("|V{size}")), u64::from(*size)),
        Datatype::Compound { size, fields } => (compound(*size, fields, depth)?, u64::from(*size)),
        other => return Err(format!("elements of type {other:?}")),
    })
}

/// A complex number, or the fields of a structure: bytes between them are fields without a name of their own.
fn compound(size: u32, fields: &[CompoundField], depth: usize) -> Result<Value, String> {
    if DEPTH_MAX <= depth {
        return Err(format!("structures within structures {DEPTH_MAX} deep"));
    }
    if let Some(complex) = complex(size, fields) {
        return Ok(complex);
    }
    let mut sorted: Vec<&CompoundField> = fields.iter().collect();
    sorted.sort_by_key(|field| field.byte_offset);
    let (mut named, mut end) = (Vec::new(), 0);
    for field in sorted {
        let (name, bytes) = fixed(&field.datatype, depth + 1)?;
        let offset = u64::from(field.byte_offset);
        if offset < end {
            return Err(format!("a structure whose field {:?} overlaps another", field.name));
        }
        if end < offset {
            named.push(json!([format!("padding_{end}"), format!("|V{}", offset - end)]));
        }
        named.push(json!([field.name, name]));
        end = offset + bytes;
    }
    let size = u64::from(size);
    if size < end {
        return Err(format!("a structure of {size} bytes whose fields end at {end}"));
    }
    if end < size {
        named.push(json!([format!("padding_{end}"), format!("|V{}", size - end)]));
    }
    Ok(named.into())
}

/// What h5py and NetCDF write complex numbers as: two floats, `r` and `i`.
fn complex(size: u32, fields: &[CompoundField]) -> Option<Value> {
    let [real, imaginary] = fields else { return None };
    let Datatype::FloatingPoint { size: half @ (4 | 8), byte_order } = real.datatype else { return None };
    let places = (real.byte_offset, imaginary.byte_offset) == (0, u32::from(half));
    let is_complex = real.name == "r"
        && imaginary.name == "i"
        && real.datatype == imaginary.datatype
        && places
        && size == 2 * u32::from(half);
    is_complex.then(|| json!(format!("{}c{size}", ordered(byte_order))))
}

/// What h5py writes booleans as.
fn is_boolean(base: &Datatype, members: &[EnumMember]) -> bool {
    let is = |member: &EnumMember, name: &str, value: u8| member.name == name && member.value == [value];
    matches!(base, Datatype::FixedPoint { size: 1, .. })
        && matches!(members, [first, second] if is(first, "FALSE", 0) && is(second, "TRUE", 1))
}

fn ordered(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::LittleEndian => "<",
        ByteOrder::BigEndian => ">",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: ByteOrder = ByteOrder::LittleEndian;

    fn field(name: &str, byte_offset: u32, datatype: Datatype) -> CompoundField {
        CompoundField { name: name.to_owned(), byte_offset, datatype }
    }

    #[test]
    fn structures_say_where_their_fields_lie() {
        let float = Datatype::FloatingPoint { size: 8, byte_order: LITTLE };
        let byte = Datatype::FixedPoint { size: 1, signed: true, byte_order: LITTLE };
        let padded =
            Datatype::Compound { size: 24, fields: vec![field("a", 0, byte), field("b", 8, float.clone())] };
        let wanted = json!([["a", "|i1"], ["padding_1", "|V7"], ["b", "<f8"], ["padding_16", "|V8"]]);
        assert_eq!(stored(&padded), Ok(Stored::Fixed { name: wanted, bytes: 24 }));
        let complex =
            Datatype::Compound { size: 16, fields: vec![field("r", 0, float.clone()), field("i", 8, float)] };
        assert_eq!(stored(&complex), Ok(Stored::Fixed { name: json!("<c16"), bytes: 16 }));
    }

    #[test]
    fn structures_that_contradict_themselves_are_refused() {
        let float = Datatype::FloatingPoint { size: 8, byte_order: LITTLE };
        for (size, second) in [(16, 4), (8, 8)] {
            let fields = vec![field("a", 0, float.clone()), field("b", second, float.clone())];
            assert!(stored(&Datatype::Compound { size, fields }).is_err());
        }
    }
}
