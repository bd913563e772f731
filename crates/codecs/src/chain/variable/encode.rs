//! Runs a chain of elements of any length forwards.

use super::{Form, VariableChain, decoded_bytes_max};
use crate::chain::stage::Stage;
use crate::error::{Error, Wanted};
use crate::scratch::Scratch;
use crate::variable::{VariableElements, elements_as_json, interleaved};

impl VariableChain {
    /// Encodes the elements of a chunk, given in C order, replacing what `target` holds.
    ///
    /// Of elements that may be missing, `presence` says how many of the times that each may be it is there, as
    /// [`VariableChunk`](super::VariableChunk) has it; what is missing at any is given as no bytes. It is empty where elements
    /// cannot be missing. After an error, what `target` holds is not defined.
    ///
    /// # Errors
    ///
    /// `Internal` for another number of elements than a chunk has; `Invalid` for strings that are not UTF-8, and for elements
    /// of more bytes than their codec's format has room for; `Unsupported` where a codec only decodes, and for chunks that
    /// come to more than [`decode`](Self::decode) takes.
    pub fn encode(
        &self,
        elements: &[&[u8]],
        presence: &[u8],
        target: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let is_optional = matches!(self.form, Form::Optional(_));
        if elements.len() != self.count || presence.len() != if is_optional { self.count } else { 0 } {
            let found = elements.len();
            return Err(Error::internal("chain", format!("wanted {} elements, found {found}", self.count)));
        }
        if self.elements == VariableElements::Strings {
            let broken = elements.iter().position(|element| std::str::from_utf8(element).is_err());
            if let Some(number) = broken {
                let message =
                    format!("wanted UTF-8, found other bytes in element {number} of {}", self.count);
                return Err(Error::invalid("vlen", message));
            }
        }
        let order = self.stored_order();
        let elements: Vec<&[u8]> = order.iter().map(|number| elements[*number]).collect();
        let mut content = match &self.form {
            Form::Interleaved => interleaved(&elements)?,
            Form::Indexed(indexed) => indexed.encode(&elements, scratch)?,
            Form::Json => elements_as_json(&elements, &self.shape)?,
            Form::Optional(optional) => {
                let presence: Vec<u8> = order.iter().map(|number| presence[*number]).collect();
                optional.encode(&elements, &presence, scratch)?
            }
        };
        for codec in &self.stages {
            let wanted = Wanted::Exactly(content.len());
            let stage = Stage { codec: codec.clone(), wanted };
            // Whether the codec's format has room for so much.
            stage.stored()?;
            let mut encoded = Vec::new();
            stage.encode(1, &content, &mut encoded, &mut scratch.contexts)?;
            let most = decoded_bytes_max(encoded.len());
            if most < content.len() {
                let found = content.len();
                let message = format!(
                    "wanted at most {most} bytes of elements in a chunk that takes {}, found {found}: \
                     smaller chunks are read",
                    encoded.len()
                );
                return Err(Error::unsupported("chain", message));
            }
            content = encoded;
        }
        *target = content;
        Ok(())
    }

    /// The numbers of the elements, which C order gives them, in the order that they are stored in.
    #[must_use]
    pub fn stored_order(&self) -> Vec<usize> {
        let mut order = vec![0; self.count];
        let mut at = vec![0; self.lengths.len()];
        for number in 0..self.count {
            let place: usize = at.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum();
            if let Some(element) = order.get_mut(place) {
                *element = number;
            }
            for (at, length) in at.iter_mut().zip(&self.lengths).rev() {
                *at += 1;
                if *at < *length {
                    break;
                }
                *at = 0;
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, ErrorKind};
    use serde_json::{Value, json};

    fn codec(entry: &Value) -> Codec {
        match entry {
            Value::String(name) => Codec::from_v3(name, &Value::Null).unwrap(),
            entry => Codec::from_v3(entry["name"].as_str().unwrap(), &entry["configuration"]).unwrap(),
        }
    }

    fn chain(codecs: &Value, shape: &[u64], times: u8) -> VariableChain {
        let codecs: Vec<Codec> = codecs.as_array().unwrap().iter().map(codec).collect();
        VariableChain::compile_optional(&codecs, shape, VariableElements::Strings, times).unwrap()
    }

    fn indexed(offset: &str, location: &str) -> Value {
        json!({"name": "zarrs.vlen", "configuration": {
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"],
            "data_codecs": ["bytes", {"name": "gzip", "configuration": {"level": 1}}],
            "index_data_type": offset, "index_location": location}})
    }

    const TEXTS: [&str; 6] = ["", "a", "\u{e9}\u{1f600}\"\\\n", "bcd", "a", "x"];

    #[test]
    fn what_is_encoded_is_decoded() {
        let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
        let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
        for codecs in [
            json!(["vlen-utf8"]),
            json!([transpose, "vlen-bytes", zstd, "crc32c"]),
            json!([indexed("uint32", "start")]),
            json!([indexed("uint64", "end"), zstd]),
            json!(["numcodecs.json2", zstd]),
        ] {
            let (chain, mut scratch, mut stored) = (chain(&codecs, &[2, 3], 0), Scratch::default(), vec![1]);
            let elements = TEXTS.map(str::as_bytes);
            chain.encode(&elements, &[], &mut stored, &mut scratch).unwrap();
            let chunk = chain.decode(&stored, &mut scratch).unwrap();
            for (number, element) in elements.into_iter().enumerate() {
                let place = number / 3 * chain.strides()[0] + number % 3 * chain.strides()[1];
                assert_eq!(&chunk.content[chunk.places[place].clone()], element, "{codecs}");
            }
            assert!(chain.encode(&elements[..5], &[], &mut stored, &mut scratch).is_err());
            assert!(chain.encode(&elements, &[1; 6], &mut stored, &mut scratch).is_err());
        }
    }

    #[test]
    fn what_is_missing_is_encoded_as_missing() {
        let optional = |data: Value| json!({"name": "optional", "configuration": {"mask_codecs": ["packbits"], "data_codecs": [data]}});
        for (data, times) in
            [(json!("vlen-utf8"), 1), (optional(json!("vlen-utf8")), 2), (indexed("uint32", "end"), 1)]
        {
            let chain = chain(&json!([optional(data), "crc32c"]), &[6], times);
            for presence in [[times, 0, times, 1, 0, times], [0; 6], [times; 6]] {
                let present = |number: usize| presence[number] == times;
                let text = |number: usize| if present(number) { TEXTS[number].as_bytes() } else { b"" };
                let elements: Vec<&[u8]> = (0..6).map(text).collect();
                let (mut stored, mut scratch) = (Vec::new(), Scratch::default());
                chain.encode(&elements, &presence, &mut stored, &mut scratch).unwrap();
                let chunk = chain.decode(&stored, &mut scratch).unwrap();
                assert_eq!(chunk.presence, presence);
                for (number, element) in elements.into_iter().enumerate() {
                    assert_eq!(&chunk.content[chunk.places[number].clone()], element);
                    assert_eq!(chain.missing(&chunk, number).is_none(), present(number));
                }
            }
        }
    }

    #[test]
    fn what_would_not_be_decoded_is_not_encoded() {
        let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
        let chain = chain(&json!(["vlen-utf8", zstd]), &[2], 0);
        let long = vec![b'x'; 200 << 20];
        let mut stored = Vec::new();
        let error = chain.encode(&[&long, b"a"], &[], &mut stored, &mut Scratch::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let error = chain.encode(&[b"\xff", b"a"], &[], &mut stored, &mut Scratch::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
