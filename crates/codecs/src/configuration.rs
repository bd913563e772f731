//! Reads a codec's configuration object field by field, so that each error names codec, field, wanted and found.

use serde_json::{Map, Value};

use crate::error::Error;

/// The configuration of one codec.
pub(crate) struct Configuration<'a> {
    codec: &'static str,
    fields: Option<&'a Map<String, Value>>,
}

impl<'a> Configuration<'a> {
    /// Takes an object or null, with no other fields than `known`.
    ///
    /// An unknown field is refused, as zarr-python does: it may change what the bytes mean.
    pub(crate) fn new(codec: &'static str, configuration: &'a Value, known: &[&str]) -> Result<Self, Error> {
        let fields = match configuration {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            other => return Err(Error::invalid_field(codec, "configuration", "an object", other)),
        };
        let mut names = fields.into_iter().flat_map(Map::keys);
        if let Some(unknown) = names.find(|name| !known.contains(&name.as_str())) {
            let wanted = if known.is_empty() { "no field".to_owned() } else { known.join(", ") };
            return Err(Error::invalid(codec, format!("fields: wanted {wanted}, found `{unknown}`")));
        }
        Ok(Self { codec, fields })
    }

    /// The field, unless it is missing or null.
    pub(crate) fn get(&self, field: &str) -> Option<&'a Value> {
        self.fields?.get(field).filter(|value| !value.is_null())
    }

    /// A whole number between `min` and `max`.
    pub(crate) fn integer(&self, field: &str, min: i64, max: i64) -> Result<Option<i64>, Error> {
        let Some(value) = self.get(field) else { return Ok(None) };
        match value.as_i64() {
            Some(number) if min <= number && number <= max => Ok(Some(number)),
            _ => Err(self.wrong(field, &format!("a whole number from {min} to {max}"), value)),
        }
    }

    /// A whole number that is cut to `min..=max`, for settings that the libraries cut too.
    pub(crate) fn integer_clamped(&self, field: &str, min: i32, max: i32) -> Result<Option<i32>, Error> {
        let number = self.integer(field, i64::MIN, i64::MAX)?;
        Ok(number.map(|number| i32::try_from(number.clamp(min.into(), max.into())).unwrap_or(max)))
    }

    /// A boolean; numcodecs also writes 0 and 1.
    pub(crate) fn flag(&self, field: &str) -> Result<Option<bool>, Error> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(value) => match value.as_i64() {
                Some(number @ 0..=1) => Ok(Some(number == 1)),
                _ => Err(self.wrong(field, "true or false", value)),
            },
        }
    }

    /// A string.
    pub(crate) fn text(&self, field: &str, wanted: &str) -> Result<Option<&'a str>, Error> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.wrong(field, wanted, value)),
        }
    }

    /// The error for a field that holds something else than wanted.
    pub(crate) fn wrong(&self, field: &str, wanted: &str, found: &Value) -> Error {
        Error::invalid_field(self.codec, field, wanted, found)
    }

    /// The error for a field that has to be there and is not.
    pub(crate) fn missing(&self, field: &str, wanted: &str) -> Error {
        Error::invalid_field(self.codec, field, wanted, "nothing")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_checked() {
        let value = json!({"level": 3, "on": 1, "name": "x", "none": null});
        let fields = Configuration::new("zstd", &value, &["level", "on", "name", "none"]).unwrap();
        assert_eq!(fields.integer("level", 0, 9).unwrap(), Some(3));
        assert_eq!(fields.integer("none", 0, 9).unwrap(), None);
        assert_eq!(fields.integer_clamped("level", 5, 9).unwrap(), Some(5));
        assert_eq!(fields.flag("on").unwrap(), Some(true));
        assert_eq!(fields.text("name", "a name").unwrap(), Some("x"));
        assert_eq!(
            fields.integer("level", 4, 9).unwrap_err().to_string(),
            "codec zstd: invalid metadata: field `level`: wanted a whole number from 4 to 9, found 3"
        );
        assert!(fields.flag("name").is_err());
        assert!(fields.text("level", "a name").is_err());
    }

    #[test]
    fn unknown_fields_and_shapes_are_refused() {
        assert!(Configuration::new("gzip", &json!({"lvel": 1}), &["level"]).is_err());
        assert!(Configuration::new("gzip", &json!([1]), &["level"]).is_err());
        assert!(Configuration::new("gzip", &Value::Null, &["level"]).unwrap().get("level").is_none());
    }
}
