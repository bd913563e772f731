//! Structured data types: fields, one behind the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use swath_codecs::ByteOrder;

use super::{DataType, ELEMENT_BYTES_MAX};
use crate::Error;
use crate::metadata::json as text;

/// The fields of a structured data type, packed: each lies right behind the one before.
///
/// There is at least one, no two have one name, and every one has a fixed size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructType {
    fields: Vec<StructField>,
    size_bytes: usize,
}

/// One field of a structured data type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructField {
    /// Its name; not empty.
    pub name: String,
    /// What it holds, or what each of its elements is.
    pub data_type: DataType,
    /// The shape of a field that is an array by itself, which only Zarr v2 has; empty for a single element.
    pub shape: Vec<u64>,
    /// The byte order it is stored in, which Zarr v2 names for each field; in Zarr v3 the `bytes` codec does, and this is
    /// `None`.
    pub order: Option<ByteOrder>,
}

/// Units of a structure that are stored in foreign byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeignUnits {
    /// Where the first begins in an element.
    pub(crate) offset_bytes: usize,
    /// Bytes of each: 2, 4 or 8.
    pub(crate) unit_bytes: usize,
    /// How many there are, one behind the other.
    pub(crate) count: usize,
}

impl StructField {
    /// Elements of the field; 1 where it has no shape of its own.
    fn element_count(&self) -> Option<usize> {
        let extents = self.shape.iter().map(|extent| usize::try_from(*extent).ok());
        extents.into_iter().try_fold(1_usize, |product, extent| product.checked_mul(extent?))
    }

    /// Bytes of the field.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        // The structure was checked to fit memory.
        self.element_count()
            .and_then(|count| count.checked_mul(self.data_type.size_bytes()))
            .unwrap_or(usize::MAX)
    }
}

impl StructType {
    /// A structure of `fields`.
    ///
    /// # Errors
    ///
    /// `Invalid` without fields, for two of one name and for one without a name; `Unsupported` for fields without a fixed
    /// size and for more than 2^20 bytes an element.
    pub fn new(fields: Vec<StructField>) -> Result<Self, Error> {
        let mut names = BTreeSet::new();
        let mut size_bytes = 0_usize;
        for field in &fields {
            let name = text::cut(&field.name);
            if field.name.is_empty() || !names.insert(&field.name) {
                return Err(Error::invalid(format!("wanted fields with names of their own, found `{name}`")));
            }
            if field.data_type.is_variable_length() || matches!(field.data_type, DataType::Optional(_)) {
                let data_type = &field.data_type;
                return Err(Error::unsupported(format!("the field `{name}` of data type `{data_type}`")));
            }
            let bytes =
                field.element_count().and_then(|count| count.checked_mul(field.data_type.size_bytes()));
            let total = bytes.and_then(|bytes| size_bytes.checked_add(bytes));
            size_bytes = total.filter(|total| *total <= ELEMENT_BYTES_MAX).ok_or_else(|| {
                Error::unsupported(format!(
                    "a structured data type of more than 2^20 bytes, at field `{name}`"
                ))
            })?;
        }
        if size_bytes == 0 {
            return Err(Error::invalid("wanted a structured data type of at least one byte, found none"));
        }
        Ok(Self { fields, size_bytes })
    }

    /// The fields, in order.
    #[must_use]
    pub fn fields(&self) -> &[StructField] {
        &self.fields
    }

    /// Bytes of an element.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// From the `configuration` of `struct` or `structured`: a list of objects, or of pairs.
    ///
    /// Source: the Zarr extensions registry, data type `struct`; zarr-python 3.1 wrote pairs under `structured`.
    pub(super) fn from_v3(configuration: Option<&Value>, found: &Value) -> Result<Self, Error> {
        let broken = || {
            let found = text::brief(found);
            Error::invalid(format!(
                "wanted a data type with `fields`, each a name and a data type, found {found}"
            ))
        };
        let fields =
            configuration.and_then(|configuration| configuration.get("fields")).and_then(Value::as_array);
        let field = |entry: &Value| {
            let (name, data_type) = match entry {
                Value::Object(entry) => entry.get("name").zip(entry.get("data_type")).ok_or_else(broken)?,
                Value::Array(pair) => {
                    pair.first().zip(pair.get(1)).filter(|_| pair.len() == 2).ok_or_else(broken)?
                }
                _ => return Err(broken()),
            };
            Ok(StructField {
                name: name.as_str().ok_or_else(broken)?.to_owned(),
                data_type: DataType::from_v3(data_type)?,
                shape: Vec::new(),
                order: None,
            })
        };
        Self::new(fields.ok_or_else(broken)?.iter().map(field).collect::<Result<_, Error>>()?)
    }

    /// From the `dtype` of Zarr v2: a list of name, data type and perhaps a shape. Fields without a name, which pad
    /// others, are named by their number, as NumPy does.
    pub(super) fn from_v2(entries: &[Value]) -> Result<Self, Error> {
        let field = |(number, entry): (usize, &Value)| {
            let broken = || {
                let found = text::brief(entry);
                Error::invalid(format!(
                    "wanted a field as [name, dtype] or [name, dtype, shape], found {found}"
                ))
            };
            let (name, dtype, shape) = match entry.as_array().map(Vec::as_slice) {
                Some([name, dtype]) => (name, dtype, Vec::new()),
                Some([name, dtype, shape]) => (name, dtype, field_shape(shape).ok_or_else(broken)?),
                _ => return Err(broken()),
            };
            let (data_type, order) = DataType::from_v2_json(dtype)?;
            let name = match name.as_str().ok_or_else(broken)? {
                "" => format!("f{number}"),
                name => name.to_owned(),
            };
            Ok(StructField { name, data_type, shape, order: Some(order) })
        };
        Self::new(entries.iter().enumerate().map(field).collect::<Result<_, Error>>()?)
    }

    /// The `data_type` of a Zarr v3 document.
    pub(super) fn to_v3(&self) -> Value {
        let fields =
            self.fields.iter().map(|field| json!({"name": field.name, "data_type": field.data_type.to_v3()}));
        json!({"name": "struct", "configuration": {"fields": fields.collect::<Vec<_>>()}})
    }

    /// The same fields as Zarr v3 has them, whose byte order the `bytes` codec says.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a field that is an array by itself, which v3 has not.
    pub(crate) fn without_orders(&self) -> Result<Self, Error> {
        let field = |field: &StructField| {
            if !field.shape.is_empty() {
                let name = text::cut(&field.name);
                return Err(Error::unsupported(format!(
                    "making a v3 array with the field `{name}`, an array"
                )));
            }
            let data_type = match &field.data_type {
                DataType::Struct(inner) => DataType::Struct(Arc::new(inner.without_orders()?)),
                other => other.clone(),
            };
            Ok(StructField { data_type, order: None, ..field.clone() })
        };
        Self::new(self.fields.iter().map(field).collect::<Result<_, Error>>()?)
    }

    /// What is stored in foreign byte order, where a `bytes` codec has stored what names no order of its own in `order`.
    pub(crate) fn foreign_units(&self, order: Option<ByteOrder>) -> Vec<ForeignUnits> {
        let mut found = Vec::new();
        self.add_foreign_units(order, 0, &mut found);
        found
    }

    fn add_foreign_units(&self, order: Option<ByteOrder>, start: usize, found: &mut Vec<ForeignUnits>) {
        let mut offset_bytes = start;
        for field in &self.fields {
            let end = offset_bytes + field.size_bytes();
            let is_foreign = field.order.or(order).is_some_and(|order| order != ByteOrder::NATIVE);
            let unit_bytes = field.data_type.element().swap_unit_bytes;
            if let DataType::Struct(inner) = &field.data_type {
                for place in (offset_bytes..end).step_by(inner.size_bytes) {
                    // Fields within name their own order wherever one outside does.
                    inner.add_foreign_units(order, place, found);
                }
            } else if is_foreign && 1 < unit_bytes {
                found.push(ForeignUnits { offset_bytes, unit_bytes, count: field.size_bytes() / unit_bytes });
            }
            offset_bytes = end;
        }
    }

    /// Whether a byte order has to be named for some field.
    pub(crate) fn needs_byte_order(&self) -> bool {
        self.fields.iter().any(|field| match &field.data_type {
            DataType::Struct(inner) => inner.needs_byte_order(),
            other => field.order.is_none() && 1 < other.element().swap_unit_bytes,
        })
    }
}

/// Reverses the bytes of every unit in `elements`, each of `element_bytes`.
pub(crate) fn swap_units(elements: &mut [u8], element_bytes: usize, units: &[ForeignUnits]) {
    for element in elements.chunks_exact_mut(element_bytes) {
        for ForeignUnits { offset_bytes, unit_bytes, count } in units {
            let run = element.get_mut(*offset_bytes..).unwrap_or_default();
            run.chunks_exact_mut(*unit_bytes).take(*count).for_each(<[u8]>::reverse);
        }
    }
}

/// One extent, or a list of them.
fn field_shape(value: &Value) -> Option<Vec<u64>> {
    match value {
        Value::Array(extents) => extents.iter().map(Value::as_u64).collect(),
        extent => Some(vec![extent.as_u64()?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn v2(value: Value) -> Result<DataType, Error> {
        DataType::from_v2_json(&value).map(|(data_type, _)| data_type)
    }

    #[test]
    fn fields_are_packed_and_nest() {
        let data_type =
            v2(json!([["a", "|u1"], ["b", ">f4", [2, 3]], ["c", [["d", "<i2"], ["e", ">M8[s]"]], 2]]));
        let data_type = data_type.unwrap();
        assert_eq!(data_type.size_bytes(), 1 + 24 + 20);
        let DataType::Struct(found) = &data_type else { panic!("a structure") };
        let unit = |offset_bytes, unit_bytes, count| ForeignUnits { offset_bytes, unit_bytes, count };
        let mut wanted = vec![unit(1, 4, 6), unit(27, 8, 1), unit(37, 8, 1)];
        if ByteOrder::NATIVE == ByteOrder::Big {
            wanted = vec![unit(25, 2, 1), unit(35, 2, 1)];
        }
        assert_eq!(found.foreign_units(None), wanted);
        assert!(!found.needs_byte_order());
        let mut bytes: Vec<u8> = (0..90).collect();
        swap_units(&mut bytes, 45, &[unit(1, 4, 2)]);
        assert_eq!(bytes[..10], [0, 4, 3, 2, 1, 8, 7, 6, 5, 9]);
        assert_eq!(bytes[45..50], [45, 49, 48, 47, 46]);
    }

    #[test]
    fn both_forms_of_v3_are_read() {
        let objects = json!({"name": "struct", "configuration": {"fields": [
            {"name": "x", "data_type": "float32"},
            {"name": "t", "data_type": {"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}}]}});
        let pairs = json!({"name": "structured", "configuration": {"fields": [["x", "float32"],
            ["t", {"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}]]}});
        let (one, other) = (DataType::from_v3(&objects).unwrap(), DataType::from_v3(&pairs).unwrap());
        assert_eq!((&one, one.to_v3()), (&other, objects));
        let DataType::Struct(found) = &one else { panic!("a structure") };
        assert!(found.needs_byte_order());
        assert_eq!(one.numpy_descr().matches("M8[ns]").count(), 1);
    }

    #[test]
    fn broken_structures_are_refused() {
        for value in [
            json!([]),
            json!([["a", "<i2"], ["a", "<i2"]]),
            json!([["a"]]),
            json!([["a", "<i2", -1]]),
            json!([[1, "<i2"]]),
            json!(["a", "<i2"]),
            json!([["a", "<i2", 0]]),
        ] {
            assert_eq!(v2(value.clone()).unwrap_err().kind(), ErrorKind::Invalid, "{value}");
        }
        for value in [
            json!([["a", "<i2", [1_u64 << 40, 1_u64 << 40]]]),
            json!([["a", "|O"]]),
            json!([["a", "<i8", 131_073]]),
        ] {
            assert_eq!(v2(value.clone()).unwrap_err().kind(), ErrorKind::Unsupported, "{value}");
        }
        let named = |fields: Value| json!({"name": "struct", "configuration": {"fields": fields}});
        for fields in [
            json!(null),
            json!([{"name": "x"}]),
            json!([["x", "int8", 3]]),
            json!([{"name": "", "data_type": "int8"}]),
        ] {
            assert_eq!(
                DataType::from_v3(&named(fields.clone())).unwrap_err().kind(),
                ErrorKind::Invalid,
                "{fields}"
            );
        }
    }
}
