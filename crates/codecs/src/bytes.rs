//! The `bytes` codec: elements laid one after the other in a stated byte order.
//!
//! Zarr v3 codec specification "bytes" 1.0; `endian` is its name of early drafts.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::Error;
use crate::layout::ByteOrder;

const NAME: &str = "bytes";

/// The order in which the bytes of each unit of an element are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytesCodec {
    /// `None` only for elements whose unit is one byte.
    pub order: Option<ByteOrder>,
}

impl BytesCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["endian"])?;
        let wanted = "\"little\" or \"big\"";
        let order = match fields.text("endian", wanted)? {
            None => None,
            Some("little") => Some(ByteOrder::Little),
            Some("big") => Some(ByteOrder::Big),
            Some(other) => return Err(Error::invalid_field(NAME, "endian", wanted, other)),
        };
        Ok(Self { order })
    }

    pub(crate) fn to_json(self) -> Value {
        match self.order {
            None => Value::Null,
            Some(ByteOrder::Little) => json!({"endian": "little"}),
            Some(ByteOrder::Big) => json!({"endian": "big"}),
        }
    }

    pub(crate) fn describe(self) -> String {
        match self.order {
            None => NAME.to_owned(),
            Some(ByteOrder::Little) => "bytes(little)".to_owned(),
            Some(ByteOrder::Big) => "bytes(big)".to_owned(),
        }
    }

    /// The unit to swap for elements of such a unit, if their bytes are foreign to this machine.
    pub(crate) fn foreign_unit(self, unit_bytes: usize) -> Result<Option<usize>, Error> {
        match self.order {
            _ if unit_bytes == 1 => Ok(None),
            Some(order) => Ok((order != ByteOrder::NATIVE).then_some(unit_bytes)),
            None => Err(Error::invalid_field(
                NAME,
                "endian",
                &format!("a byte order for units of {unit_bytes} bytes"),
                "nothing",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_written() {
        for (text, order) in [("little", ByteOrder::Little), ("big", ByteOrder::Big)] {
            let codec = BytesCodec::from_json(&json!({"endian": text})).unwrap();
            assert_eq!(codec.order, Some(order));
            assert_eq!(codec.to_json(), json!({"endian": text}));
            assert_eq!(codec.foreign_unit(4).unwrap().is_none(), order == ByteOrder::NATIVE);
            assert_eq!(codec.foreign_unit(1).unwrap(), None);
        }
        assert!(BytesCodec::from_json(&json!({"endian": "middle"})).is_err());
    }

    #[test]
    fn only_single_bytes_need_no_order() {
        let codec = BytesCodec::from_json(&Value::Null).unwrap();
        assert_eq!(codec.foreign_unit(1).unwrap(), None);
        assert!(codec.foreign_unit(2).is_err());
    }
}
