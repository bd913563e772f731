//! Plans as JSON, which say in their first field of which format they are.

use crate::{Error, ErrorKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A plan as JSON.
///
/// # Errors
///
/// `Internal` where it cannot be written so.
pub(crate) fn to_json(plan: &impl Serialize, format: &str) -> Result<Value, Error> {
    let mut plan = serde_json::to_value(plan)
        .map_err(|error| Error::new(ErrorKind::Internal, format!("a plan as JSON: {error}")))?;
    if let Some(plan) = plan.as_object_mut() {
        plan.shift_insert(0, FORMAT.to_owned(), Value::from(format));
    }
    Ok(plan)
}

/// A plan from JSON.
///
/// # Errors
///
/// `Invalid` where it is of another format, or no plan.
pub(crate) fn from_json<P: DeserializeOwned>(value: Value, format: &str) -> Result<P, Error> {
    let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
    if !is_of(&value, format) {
        let found = value.get(FORMAT).cloned().unwrap_or_default();
        return Err(invalid(format!("wanted a plan of format {format:?}, found {found}")));
    }
    serde_json::from_value(value).map_err(|error| invalid(format!("no plan: {error}")))
}

/// Whether JSON says that it is a plan of a format.
pub(crate) fn is_of(value: &Value, format: &str) -> bool {
    value.get(FORMAT).and_then(Value::as_str) == Some(format)
}

/// The field that says the format.
const FORMAT: &str = "format";
