//! Chunks whose elements have lengths of their own.

mod encode;
mod indexed;
mod optional;

use std::borrow::Cow;
use std::ops::Range;

use super::Checksums;
use super::compile::StoredArray;
use super::stage::{Stage, StageCodec};
use crate::codec::Codec;
use crate::error::{Error, Wanted};
use crate::layout::ChunkLayout;
use crate::layout::Element;
use crate::reorder::c_order_strides;
use crate::scratch::{Contexts, Scratch};
use crate::variable::{VariableCodec, VariableElements, check_strings, elements_of_json, places};
use indexed::IndexedStage;
use optional::OptionalForm;

/// Bytes that a stage of a chunk may decode to, beside [`DECODED_FACTOR_MAX`] for each stored one: nothing but the stored
/// bytes tells how long elements of any length are, and those may be made to mislead.
const DECODED_BYTES_MAX: usize = 128 << 20;
const DECODED_FACTOR_MAX: usize = 256;

/// A chain of codecs compiled for chunks of strings or byte strings of any length.
///
/// In encode order: any number of array->array codecs that move axes, one of `vlen-utf8`, `vlen-bytes`, `vlen-array`, `vlen`
/// and `json2`, any number of bytes->bytes codecs. Elements that may be missing are stored by `optional`, with such a chain
/// for those that are there.
///
/// ```
/// use swath_codecs::{Codec, Scratch, VariableChain, VariableElements};
///
/// let codec = Codec::from_v3("vlen-utf8", &serde_json::Value::Null)?;
/// let chain = VariableChain::compile(&[codec], &[2], VariableElements::Strings)?;
/// let chunk = chain.decode(b"\x02\0\0\0\x01\0\0\0a\x02\0\0\0bc", &mut Scratch::default())?;
/// let strings: Vec<&[u8]> = chunk.places.iter().map(|place| &chunk.content[place.clone()]).collect();
/// assert_eq!(strings, [&b"a"[..], b"bc"]);
/// # Ok::<(), swath_codecs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct VariableChain {
    elements: VariableElements,
    /// Elements of a chunk.
    count: usize,
    /// Of each logical axis.
    lengths: Vec<usize>,
    /// How many elements are between neighbours along each logical axis, as they are stored.
    strides: Vec<usize>,
    /// Of the chunk as its array->bytes codec sees it.
    shape: Vec<u64>,
    form: Form,
    /// The bytes->bytes codecs, in encode order.
    stages: Vec<StageCodec>,
    checksums: Checksums,
    phrases: Vec<String>,
}

/// How elements lie in what the bytes->bytes codecs store.
#[derive(Debug, Clone)]
enum Form {
    /// Each behind its length.
    Interleaved,
    /// One behind the other, with their offsets beside them.
    Indexed(Box<IndexedStage>),
    Json,
    /// Those that are there alone, behind what tells which they are.
    Optional(Box<OptionalForm>),
}

/// A decoded chunk of elements of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableChunk {
    /// The bytes of all elements, with others in between.
    pub content: Vec<u8>,
    /// Where in the content each element lies, in the order that they are stored in.
    pub places: Vec<Range<usize>>,
    /// Of elements that may be missing, as many times as they may be: how many of these times each is there, from the
    /// outside in. What is there each time has its place. Empty where elements cannot be missing.
    pub presence: Vec<u8>,
}

impl VariableChain {
    /// Compiles `codecs`, in encode order, for chunks of `shape`.
    ///
    /// # Errors
    ///
    /// `Invalid` where there is not exactly one codec for elements of any length, with others around it where they may
    /// stand; `Unsupported` for array->array codecs that do more than move axes.
    pub fn compile(codecs: &[Codec], shape: &[u64], elements: VariableElements) -> Result<Self, Error> {
        Self::compile_optional(codecs, shape, elements, 0)
    }

    /// The same for elements that may be missing, so many times: `optional` of `optional` may be twice.
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile); `Invalid` where there are not as many `optional` codecs, each in the one before it.
    pub fn compile_optional(
        codecs: &[Codec],
        shape: &[u64],
        elements: VariableElements,
        times: u8,
    ) -> Result<Self, Error> {
        let place = ChunkLayout { shape: shape.to_vec(), element: Element::opaque(1, 1) };
        let (lengths, count) = place.checked()?;
        let mut stored = StoredArray::new(shape);
        let at = stored.take_axes(codecs)?;
        let Some((first, rest)) = codecs[at..].split_first() else {
            return Err(Error::invalid("chain", format!("wanted {}, found none", wanted(times))));
        };
        let form = match (first, times.checked_sub(1)) {
            (Codec::Variable(codec), None) => Form::new(codec, count, elements)?,
            (Codec::Optional(codec), Some(times)) => {
                Form::Optional(Box::new(OptionalForm::new(codec, &stored.shape, (elements, times))?))
            }
            (other, None) => {
                let message = format!("wanted {} behind codecs that move axes", wanted(times));
                return Err(Error::unsupported(other.name().to_owned(), message));
            }
            (other, Some(_)) => {
                let message = format!("wanted {} for elements that may be missing", wanted(times));
                return Err(Error::invalid(other.name().to_owned(), message));
            }
        };
        let mut stages = Vec::with_capacity(rest.len());
        for codec in rest {
            let stage = StageCodec::bytes_to_bytes(codec, None).ok_or_else(|| {
                Error::invalid(
                    codec.name().to_owned(),
                    format!("wanted bytes->bytes codecs behind {}", first.name()),
                )
            })?;
            stages.push(stage);
        }
        let stored_lengths: Vec<usize> = stored.axes.iter().map(|&axis| lengths[axis]).collect();
        let mut strides = vec![0; lengths.len()];
        for (&axis, stride) in stored.axes.iter().zip(c_order_strides(&stored_lengths, 1)) {
            strides[axis] = stride;
        }
        let phrases = codecs.iter().map(Codec::describe).collect();
        Ok(Self {
            elements,
            count,
            lengths,
            strides,
            shape: stored.shape,
            form,
            stages,
            checksums: Checksums::Verify,
            phrases,
        })
    }

    /// The same chain with another treatment of checksums; a compiled one verifies.
    #[must_use]
    pub fn with_checksums(mut self, checksums: Checksums) -> Self {
        self.checksums = checksums;
        match &mut self.form {
            Form::Indexed(indexed) => indexed.set_checksums(checksums),
            Form::Optional(optional) => optional.set_checksums(checksums),
            Form::Interleaved | Form::Json => {}
        }
        self
    }

    /// How many elements are between neighbours along each logical axis, in the order that they are stored in.
    #[must_use]
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// One short phrase per codec, in encode order.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        self.phrases.clone()
    }

    /// Decodes one stored chunk.
    ///
    /// Strings are checked to be UTF-8. Each stage decodes to at most 128 MiB and 256 bytes for each stored one.
    ///
    /// # Errors
    ///
    /// `Corrupt` when `stored` is not what the chain writes, has more or fewer elements than a chunk, or decodes to more;
    /// `Checksum` when a checksum does not match; `Internal` when there is no memory.
    pub fn decode(&self, stored: &[u8], scratch: &mut Scratch) -> Result<VariableChunk, Error> {
        let mut content = Cow::Borrowed(stored);
        for codec in self.stages.iter().rev() {
            content = Cow::Owned(self.undo(codec, &content, &mut scratch.contexts)?);
        }
        let (content, places) = match &self.form {
            Form::Interleaved => {
                let places = places(&content, self.count)?;
                (content.into_owned(), places)
            }
            Form::Indexed(indexed) => indexed.decode(&content, decoded_bytes_max(content.len()), scratch)?,
            Form::Json => elements_of_json(&content, self.count)?,
            Form::Optional(optional) => return optional.decode(&content, scratch),
        };
        if self.elements == VariableElements::Strings {
            check_strings(&content, &places)?;
        }
        Ok(VariableChunk { content, places, presence: Vec::new() })
    }

    /// How many times the element of this number in a decoded chunk is there, as long as that is fewer than it may be missing;
    /// `None` of an element that is there.
    #[must_use]
    pub fn missing(&self, chunk: &VariableChunk, element: usize) -> Option<u8> {
        chunk.presence.get(element).copied().filter(|present| *present < self.times())
    }

    /// How many times elements may be missing.
    #[must_use]
    pub fn times(&self) -> u8 {
        match &self.form {
            Form::Optional(optional) => optional.times(),
            _ => 0,
        }
    }

    /// Undoes one codec, with ever more room until its content fits.
    fn undo(&self, codec: &StageCodec, source: &[u8], contexts: &mut Contexts) -> Result<Vec<u8>, Error> {
        if let (StageCodec::Checksum(checksum), Checksums::Skip) = (codec, self.checksums) {
            return Ok(checksum.split(source)?.0.to_vec());
        }
        let most = decoded_bytes_max(source.len());
        let guess = source.len().saturating_mul(4).saturating_add(self.count.saturating_mul(32));
        let mut room = guess.saturating_add(64).min(most);
        loop {
            let mut target = Vec::new();
            target.try_reserve_exact(room).map_err(|_| {
                Error::internal("chain", format!("wanted memory for {room} bytes of a chunk, found none"))
            })?;
            target.resize(room, 0);
            let stage = Stage { codec: codec.clone(), wanted: Wanted::AtMost(room) };
            match stage.decode(source, &mut target, contexts) {
                Ok(written) => {
                    target.truncate(written);
                    return Ok(target);
                }
                Err(error) if error.is_too_long() && room < most => {
                    room = room.saturating_mul(4).min(most);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Form {
    /// How `codec` stores so many elements.
    fn new(codec: &VariableCodec, count: usize, elements: VariableElements) -> Result<Form, Error> {
        Ok(match codec {
            VariableCodec::Utf8 | VariableCodec::Bytes | VariableCodec::Array => Form::Interleaved,
            VariableCodec::Indexed(codec) => Form::Indexed(Box::new(IndexedStage::new(codec, count)?)),
            VariableCodec::Json if elements == VariableElements::Strings => Form::Json,
            VariableCodec::Json => return Err(Error::invalid(codec.name(), "wanted strings, found bytes")),
        })
    }
}

/// The codecs that store elements which may be missing so many times.
fn wanted(times: u8) -> &'static str {
    match times {
        0 => "one of vlen-utf8, vlen-bytes, vlen-array, vlen and json2",
        _ => "optional",
    }
}

/// The most bytes that so many stored ones may decode to.
fn decoded_bytes_max(stored: usize) -> usize {
    DECODED_BYTES_MAX.saturating_add(stored.saturating_mul(DECODED_FACTOR_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn codec(name: &str, configuration: Value) -> Codec {
        Codec::from_v3(name, &configuration).unwrap()
    }

    fn stored(strings: &[&str]) -> Vec<u8> {
        let len = |text: usize| u32::try_from(text).unwrap().to_le_bytes();
        let mut bytes = len(strings.len()).to_vec();
        for string in strings {
            bytes.extend(len(string.len()));
            bytes.extend(string.as_bytes());
        }
        bytes
    }

    fn texts(chunk: &VariableChunk) -> Vec<&str> {
        chunk.places.iter().map(|place| std::str::from_utf8(&chunk.content[place.clone()]).unwrap()).collect()
    }

    #[test]
    fn stages_are_undone_whatever_they_expand_to() {
        let long = "x".repeat(300_000);
        let strings = ["", "é", long.as_str(), "z"];
        let plain = stored(&strings);
        for (name, configuration) in [
            ("gzip", json!({"level": 5})),
            ("zstd", json!({"level": 1, "checksum": true})),
            ("blosc", json!({"cname": "lz4", "clevel": 5, "shuffle": "noshuffle", "blocksize": 0})),
            ("numcodecs.zlib", json!({"level": 1})),
            ("numcodecs.lz4", Value::Null),
            ("numcodecs.bz2", Value::Null),
            ("numcodecs.lzma", Value::Null),
            ("crc32c", Value::Null),
        ] {
            let codecs = [codec("vlen-utf8", Value::Null), codec(name, configuration)];
            let chain = VariableChain::compile(&codecs, &[2, 2], VariableElements::Strings).unwrap();
            let whole = [codec("bytes", Value::Null), codecs[1].clone()];
            let length = u64::try_from(plain.len()).unwrap();
            let layout = ChunkLayout { shape: vec![length], element: Element::opaque(1, 1) };
            let encoder = super::super::Chain::compile(&whole, &layout).unwrap();
            let (mut encoded, mut scratch) = (Vec::new(), Scratch::default());
            encoder.encode(&plain, &mut encoded, &mut scratch).unwrap();
            assert_eq!(texts(&chain.decode(&encoded, &mut scratch).unwrap()), strings, "{name}");
            let end = encoded.len() - 1;
            assert!(chain.decode(&encoded[..end], &mut scratch).is_err(), "{name}");
        }
    }

    #[test]
    fn only_what_is_too_long_asks_for_more_room() {
        let plain = stored(&["x".repeat(5000).as_str()]);
        for (name, configuration) in [
            ("gzip", json!({"level": 5})),
            ("zstd", json!({"level": 1, "checksum": true})),
            ("blosc", json!({"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "blocksize": 0})),
            ("numcodecs.zlib", json!({"level": 1})),
            ("numcodecs.lz4", Value::Null),
            ("numcodecs.bz2", Value::Null),
            ("numcodecs.lzma", Value::Null),
        ] {
            let stage = StageCodec::bytes_to_bytes(&codec(name, configuration), None).unwrap();
            let (mut encoded, mut contexts) = (Vec::new(), Contexts::default());
            let whole = Stage { codec: stage.clone(), wanted: Wanted::Exactly(plain.len()) };
            whole.encode(1, &plain, &mut encoded, &mut contexts).unwrap();
            let mut error = |stored: &[u8], room: usize| {
                let stage = Stage { codec: stage.clone(), wanted: Wanted::AtMost(room) };
                stage.decode(stored, &mut vec![0; room], &mut contexts).unwrap_err().is_too_long()
            };
            assert!(error(&encoded, 100), "{name}");
            for end in (0..encoded.len()).step_by(7) {
                assert!(!error(&encoded[..end], 1 << 20), "{name} {end}");
            }
        }
    }

    #[test]
    fn axes_that_were_moved_come_to_strides() {
        let transpose = codec("transpose", json!({"order": [1, 0]}));
        let codecs = [transpose, codec("vlen-bytes", Value::Null)];
        let chain = VariableChain::compile(&codecs, &[2, 3], VariableElements::Bytes).unwrap();
        assert_eq!(chain.strides(), [1, 2]);
        let chunk = chain.decode(&stored(&["a", "b", "c", "d", "e", "f"]), &mut Scratch::default()).unwrap();
        assert_eq!(texts(&chunk), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn other_chains_are_refused() {
        let compile = |codecs: &[Codec]| VariableChain::compile(codecs, &[4], VariableElements::Bytes);
        let (vlen, bytes) = (codec("vlen-bytes", Value::Null), codec("bytes", Value::Null));
        assert!(compile(&[]).is_err());
        assert!(compile(&[bytes]).is_err());
        assert!(compile(&[vlen.clone(), vlen.clone()]).is_err());
        assert!(compile(&[codec("gzip", json!({"level": 1})), vlen]).is_err());
    }
}
