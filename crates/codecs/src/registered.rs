//! Codecs that the program using this crate brings along, for names that this crate does not know.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use crate::codec::CodecClass;
use crate::error::{Error, Wanted};
use crate::layout::ChunkLayout;

/// The work of a codec of the program's own. Lanes call it, several at once.
pub trait CodecCode: Send + Sync {
    /// Decodes all of `source` to the front of `target`, and returns how many bytes that are.
    ///
    /// # Errors
    ///
    /// What is wrong with `source`, in one sentence; also that it decodes to more bytes than `target` has.
    fn decode(
        &self,
        source: &[u8],
        content: Option<&ChunkLayout>,
        target: &mut [u8],
    ) -> Result<usize, String>;

    /// Encodes all of `source`, replacing what `target` holds. Where `content` is stated, these are its elements in C order
    /// and native byte order; else bytes that another codec made.
    ///
    /// # Errors
    ///
    /// Why not, in one sentence.
    fn encode(
        &self,
        source: &[u8],
        content: Option<&ChunkLayout>,
        target: &mut Vec<u8>,
    ) -> Result<(), String>;

    /// The most bytes that a sound chunk of so many bytes is encoded to: longer ones are not read.
    ///
    /// Unless the codec says otherwise that is much more than compressors need: four times the content, and 64 KiB.
    ///
    /// Where nothing else is said, inner chunks of a shard that is encoded once more have 1 KiB each on average in place of
    /// the 64.
    fn encoded_bytes_max(&self, decoded_bytes: u64) -> u64 {
        unstated_bytes_max(decoded_bytes)
    }
}

/// What a codec that does not say otherwise may make of so many bytes.
fn unstated_bytes_max(decoded_bytes: u64) -> u64 {
    decoded_bytes.saturating_mul(4).saturating_add(64 << 10)
}

/// What of that is free in each of many chunks.
const UNSTATED_SPARE_BYTES: u64 = 63 << 10;

/// A codec of the program's own: see [`register_codecs`].
#[derive(Clone)]
pub struct RegisteredCodec {
    entry: Value,
    class: CodecClass,
    code: Arc<dyn CodecCode>,
}

impl RegisteredCodec {
    /// A codec for a metadata entry (an object with `name` in Zarr v3, with `id` in v2) that `code` decodes and encodes.
    #[must_use]
    pub fn new(entry: &Value, class: CodecClass, code: Arc<dyn CodecCode>) -> Self {
        Self { entry: entry.clone(), class, code }
    }

    /// The name that metadata have for it.
    #[must_use]
    pub fn name(&self) -> &str {
        name_of(&self.entry)
    }

    /// Between what it stands.
    #[must_use]
    pub fn class(&self) -> CodecClass {
        self.class
    }

    /// The Zarr v3 entry: of one that was found for a v2 entry, what stands beside the `id` is the configuration.
    pub(crate) fn to_v3(&self) -> Value {
        match &self.entry {
            Value::Object(fields) if fields.contains_key("id") => {
                let others = fields.iter().filter(|(field, _)| *field != "id");
                let configuration: serde_json::Map<String, Value> =
                    others.map(|(field, value)| (field.clone(), value.clone())).collect();
                serde_json::json!({"name": format!("numcodecs.{}", self.name()), "configuration": configuration})
            }
            entry => entry.clone(),
        }
    }

    pub(crate) fn encoded_bytes_max(&self, decoded_bytes: u64) -> u64 {
        self.code.encoded_bytes_max(decoded_bytes)
    }

    /// What of that chunks do not use that are small and many; nothing where the codec says how much it needs.
    pub(crate) fn spare_bytes(&self, decoded_bytes: u64) -> u64 {
        let is_unstated = self.encoded_bytes_max(decoded_bytes) == unstated_bytes_max(decoded_bytes);
        if is_unstated { UNSTATED_SPARE_BYTES } else { 0 }
    }

    pub(crate) fn decode(
        &self,
        source: &[u8],
        content: Option<&ChunkLayout>,
        target: &mut [u8],
        wanted: Wanted,
    ) -> Result<usize, Error> {
        let written = self.code.decode(source, content, target);
        // Which of its failures are for want of room, only the program's own code knows.
        let may_be_too_long = matches!(wanted, Wanted::AtMost(_));
        let failed = |message| Error::corrupt(self.name().to_owned(), message).noting(may_be_too_long);
        let written = written.map_err(failed)?;
        match wanted.check("registered", written) {
            Ok(()) => Ok(written),
            Err(_) => {
                let message = format!("wanted {wanted} decoded bytes, found {written}");
                Err(Error::corrupt(self.name().to_owned(), message))
            }
        }
    }

    pub(crate) fn encode(
        &self,
        source: &[u8],
        content: Option<&ChunkLayout>,
        target: &mut Vec<u8>,
    ) -> Result<(), Error> {
        target.clear();
        let encoded = self.code.encode(source, content, target);
        encoded.map_err(|message| Error::invalid(self.name().to_owned(), message))
    }
}

impl fmt::Debug for RegisteredCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegisteredCodec({}, {:?})", self.entry, self.class)
    }
}

/// Codecs are equal whose entries are.
impl PartialEq for RegisteredCodec {
    fn eq(&self, other: &Self) -> bool {
        (&self.entry, self.class) == (&other.entry, other.class)
    }
}

/// Finds the codec for a metadata entry whose name this crate does not know: `None` where there is none, what is wrong with
/// the entry where there is one that it does not fit.
type FindCodec = dyn Fn(&Value) -> Option<Result<RegisteredCodec, String>> + Send + Sync;

static FINDERS: RwLock<Vec<Arc<FindCodec>>> = RwLock::new(Vec::new());

/// Has `find` asked for every codec whose name this crate does not know, in this process, from now on: with the metadata
/// entry, an object with `name` and mostly `configuration` (Zarr v3), or with `id` (v2). Finders are asked in the order in
/// which they were registered; one that answers with a text says what is wrong with the entry. Array->array codecs are
/// refused as `Unsupported`: this crate has to know what array those make.
///
/// ```
/// use std::sync::Arc;
/// use swath_codecs::{ChunkLayout, CodecClass, CodecCode, Codec, RegisteredCodec, register_codecs};
///
/// struct Inverted;
///
/// impl CodecCode for Inverted {
///     fn decode(&self, source: &[u8], _: Option<&ChunkLayout>, target: &mut [u8]) -> Result<usize, String> {
///         let target = target.get_mut(..source.len()).ok_or("too long")?;
///         target.iter_mut().zip(source).for_each(|(to, from)| *to = !from);
///         Ok(source.len())
///     }
///
///     fn encode(&self, source: &[u8], _: Option<&ChunkLayout>, target: &mut Vec<u8>) -> Result<(), String> {
///         target.extend(source.iter().map(|byte| !byte));
///         Ok(())
///     }
/// }
///
/// register_codecs(|entry| {
///     let is_ours = entry["name"] == "inverted";
///     is_ours.then(|| Ok(RegisteredCodec::new(entry, CodecClass::BytesToBytes, Arc::new(Inverted))))
/// });
/// assert_eq!(Codec::from_v3("inverted", &serde_json::json!({}))?.name(), "inverted");
/// # Ok::<(), swath_codecs::Error>(())
/// ```
pub fn register_codecs(
    find: impl Fn(&Value) -> Option<Result<RegisteredCodec, String>> + Send + Sync + 'static,
) {
    FINDERS.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(find));
}

/// What the finders have for an entry.
pub(crate) fn find_registered(entry: &Value) -> Option<Result<RegisteredCodec, Error>> {
    // A copy, as a finder may register others.
    let finders = FINDERS.read().unwrap_or_else(PoisonError::into_inner).clone();
    let found = finders.iter().find_map(|find| find(entry))?;
    Some(match found {
        Ok(codec) if codec.class == CodecClass::ArrayToArray => {
            let message = "wanted a registered codec that makes bytes, found one that makes another array";
            Err(Error::unsupported(codec.name().to_owned(), message))
        }
        Ok(codec) => Ok(codec),
        Err(message) => Err(Error::invalid(name_of(entry).to_owned(), message)),
    })
}

fn name_of(entry: &Value) -> &str {
    ["name", "id"].iter().find_map(|field| entry.get(field)?.as_str()).unwrap_or("registered")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chain, Codec, Element, ErrorKind, NumberType, Scratch};
    use serde_json::json;

    /// Repeats every byte, and fails as its entry says.
    struct Doubled {
        fault: Option<&'static str>,
    }

    impl CodecCode for Doubled {
        fn decode(&self, source: &[u8], _: Option<&ChunkLayout>, target: &mut [u8]) -> Result<usize, String> {
            let count = source.len() / 2;
            match self.fault {
                Some("error") => return Err("wanted pairs".to_owned()),
                Some("short") => return Ok(count.saturating_sub(1)),
                Some("long") => return Ok(count + 1),
                _ => {}
            }
            let target = target.get_mut(..count).ok_or("wanted less")?;
            target.iter_mut().zip(source.chunks_exact(2)).for_each(|(to, from)| *to = from[0]);
            Ok(count)
        }

        fn encode(
            &self,
            source: &[u8],
            content: Option<&ChunkLayout>,
            target: &mut Vec<u8>,
        ) -> Result<(), String> {
            if let Some(content) = content {
                assert_eq!(content.decoded_len().unwrap(), source.len());
            }
            target.extend(source.iter().flat_map(|byte| [*byte; 2]));
            Ok(())
        }
    }

    fn register() {
        register_codecs(|entry| {
            let name = entry.get("name").or_else(|| entry.get("id"))?.as_str()?;
            let class = match name {
                "doubled" | "numcodecs.doubled" => CodecClass::BytesToBytes,
                "doubled-array" => CodecClass::ArrayToBytes,
                "doubled-filter" => CodecClass::ArrayToArray,
                "doubled-wrong" => return Some(Err("field `wrong`: wanted none, found one".to_owned())),
                _ => return None,
            };
            let fault = ["error", "short", "long"]
                .into_iter()
                .find(|fault| entry["configuration"]["fault"] == *fault);
            Some(Ok(RegisteredCodec::new(entry, class, Arc::new(Doubled { fault }))))
        });
    }

    fn compile(names: &[(&str, Value)]) -> Result<Chain, Error> {
        register();
        let codecs: Result<Vec<Codec>, Error> =
            names.iter().map(|(name, configuration)| Codec::from_v3(name, configuration)).collect();
        let layout = ChunkLayout { shape: vec![2, 3], element: Element::number(NumberType::UInt16) };
        Chain::compile(&codecs?, &layout)
    }

    #[test]
    fn registered_codecs_decode_what_they_encode() {
        let (little, big) = (json!({"endian": "little"}), json!({"endian": "big"}));
        for names in [
            &[("bytes", little), ("doubled", json!({}))][..],
            &[("bytes", big), ("doubled", json!({})), ("zstd", json!({"level": 1, "checksum": true}))],
            &[("doubled-array", json!({})), ("doubled", json!({})), ("crc32c", Value::Null)],
            &[("transpose", json!({"order": [1, 0]})), ("doubled-array", json!({}))],
        ] {
            let chain = compile(names).unwrap();
            let values: Vec<u8> = (0..12).collect();
            let (mut stored, mut decoded) = (Vec::new(), vec![0; 12]);
            let mut scratch = Scratch::default();
            chain.encode(&values, &mut stored, &mut scratch).unwrap();
            assert!(stored.len() as u64 <= chain.encoded_len_max());
            chain.decode_into(&stored, &mut decoded, &mut scratch).unwrap();
            assert_eq!(decoded, values, "{names:?}");
        }
    }

    #[test]
    fn what_registered_codecs_do_wrong_is_an_error_that_names_them() {
        for (fault, message) in [("error", "wanted pairs"), ("short", "found 11"), ("long", "found 13")] {
            let bytes = ("bytes", json!({"endian": "little"}));
            let chain = compile(&[bytes, ("doubled", json!({"fault": fault}))]).unwrap();
            let error = chain.decode_into(&[0; 24], &mut [0; 12], &mut Scratch::default()).unwrap_err();
            assert_eq!((error.kind(), error.codec()), (ErrorKind::Corrupt, "doubled"));
            assert!(error.to_string().contains(message), "{error}");
        }
        let bytes = || ("bytes", json!({"endian": "little"}));
        let error = compile(&[("doubled-filter", json!({})), bytes()]).unwrap_err();
        assert_eq!((error.kind(), error.codec()), (ErrorKind::Unsupported, "doubled-filter"));
        let error = compile(&[bytes(), ("doubled-wrong", json!({}))]).unwrap_err();
        assert_eq!((error.kind(), error.codec()), (ErrorKind::Invalid, "doubled-wrong"));
        assert!(error.to_string().contains("field `wrong`"), "{error}");
    }

    #[test]
    fn entries_are_kept() {
        register();
        let entry = json!({"name": "doubled", "configuration": {"level": 3}});
        let codec = Codec::from_v3("doubled", &entry["configuration"]).unwrap();
        assert_eq!((codec.to_v3(), codec.name()), (entry, "doubled"));
        let old = Codec::from_v2(&json!({"id": "doubled", "level": 3})).unwrap();
        assert_eq!(old.to_v3(), json!({"name": "numcodecs.doubled", "configuration": {"level": 3}}));
        assert_ne!(old, codec);
        assert_eq!(old, Codec::from_v2(&json!({"id": "doubled", "level": 3})).unwrap());
        assert_eq!(Codec::from_v2(&json!({"id": "tripled"})).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
