//! The attribute `_FillValue` of v3 arrays, as xarray writes it.
//!
//! Of v2 arrays xarray takes the `fill_value` for what is missing; of v3 arrays only the attribute `_FillValue`, since their
//! `fill_value` cannot be null. So a v3 copy of a v2 array that xarray wrote needs it, or its missing values would be data; and a v2
//! copy of a v3 array without it needs the `fill_value` null where that reads as the same, or its zeros would be missing.
//! Source: xarray's `FillValueCoder`.

use crate::Array;
use crate::metadata::{ZarrFormat, base64};
use serde_json::{Value, json};

/// Where xarray keeps what stands for a missing value in v3 arrays.
pub(super) const FILL_VALUE: &str = "_FillValue";

/// The attribute that says of a v3 copy what the source's `fill_value` said; `None` where that says nothing, or xarray has no form
/// for it.
pub(super) fn attribute(source: &Array) -> Option<Value> {
    let document = source.metadata().document();
    let stored = document.get("fill_value").filter(|stored| !stored.is_null())?;
    let kind = document.get("dtype")?.as_str()?.get(1..2)?;
    let element = source.fill_value().bytes();
    match kind {
        "b" | "i" | "u" | "S" => Some(stored.clone()),
        "f" => float(element),
        "c" => {
            let (real, imaginary) = element.split_at(element.len() / 2);
            Some(json!([float(real)?, float(imaginary)?]))
        }
        _ => None,
    }
}

/// Whether the fill value of a copy is null: that of a v2 copy of an array with named dimensions that says of no value that it
/// stands for a missing one, if null reads as the same.
pub(super) fn becomes_null(source: &Array, zarr_format: ZarrFormat) -> bool {
    let metadata = source.metadata();
    (source.zarr_format(), zarr_format) == (ZarrFormat::V3, ZarrFormat::V2)
        && metadata.dimension_names().is_some()
        && !metadata.attributes().contains_key(FILL_VALUE)
        && source.fill_value().bytes().iter().all(|byte| *byte == 0)
}

/// A float as 64 little-endian bits in base64.
fn float(element: &[u8]) -> Option<Value> {
    let value = match *element {
        [a, b] => half::f16::from_ne_bytes([a, b]).to_f64(),
        [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]).into(),
        _ => f64::from_ne_bytes(element.try_into().ok()?),
    };
    Some(base64::encode(&value.to_le_bytes()).into())
}
