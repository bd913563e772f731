//! The JSON document of a reference set: read once from its beginning to its end, without a tree of it in memory.

use super::expression::{Names, Value as Named, Work};
use super::generator::generate;
use super::keys::Keys;
use super::{Reference, add_inline};
use crate::Error;
use crate::metadata::base64;
use crate::metadata::json::{brief, quote_non_finite};
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// What a document says.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) keys: Keys,
    pub(super) inline: Vec<u8>,
    /// URLs and paths of other files, by number; empty for references that name none.
    pub(super) targets: Vec<String>,
}

/// A document while it is read.
#[derive(Default)]
pub(super) struct Reading {
    document: Document,
    /// Targets by what the document calls them.
    numbers: HashMap<String, u32>,
    templates: Names,
    work: Work,
    /// What else stands beside the fields of version 1: the keys of version 0.
    beside: Keys,
    version: Option<Value>,
    has_references: bool,
    generators: Vec<Value>,
    /// What is wrong with the document.
    wrong: Option<Error>,
    /// What is wrong with it if it is of version 0.
    wrong_beside: Option<Error>,
}

impl Document {
    /// # Errors
    ///
    /// `Invalid` for what are no references, `Unsupported` for templates that are more than the specification shows.
    pub(super) fn parse(bytes: &[u8]) -> Result<Document, Error> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let first = match Reading::read(bytes) {
            Ok(reading) => return reading.finish(),
            Err(first) => first,
        };
        // Documents that were not made texts may hold what Python writes for numbers that JSON does not have.
        let again = quote_non_finite(bytes, "").and_then(|quoted| Reading::read(&quoted).ok());
        again.map_or(Err(first), Reading::finish)
    }
}

impl Reading {
    fn read(bytes: &[u8]) -> Result<Reading, Error> {
        let mut reading = Reading::default();
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let read =
            deserializer.deserialize_map(DocumentVisitor(&mut reading)).and_then(|()| deserializer.end());
        match (read, reading.wrong.take()) {
            (_, Some(wrong)) => Err(wrong),
            (Ok(()), None) => Ok(reading),
            (Err(error), None) => {
                Err(Error::invalid(format!("wanted references in JSON, found: {error}")).with_source(error))
            }
        }
    }

    fn finish(mut self) -> Result<Document, Error> {
        match &self.version {
            Some(version) if version.as_u64() != Some(1) => {
                return Err(Error::unsupported(format!("references of version {}", brief(version))));
            }
            None if !self.has_references => {
                self.wrong_beside.take().map_or(Ok(()), Err)?;
                self.document.keys = std::mem::take(&mut self.beside);
            }
            _ => self.beside = Keys::default(),
        }
        self.render_targets()?;
        for generator in &std::mem::take(&mut self.generators) {
            generate(generator, &mut self)?;
        }
        self.document.keys.sort();
        Ok(self.document)
    }

    /// Puts into the targets what their templates stand for.
    fn render_targets(&mut self) -> Result<(), Error> {
        if self.templates.is_empty() {
            return Ok(());
        }
        self.numbers.clear();
        for (number, target) in (0u32..).zip(&mut self.document.targets) {
            if target.contains("{{") {
                *target = self.work.render(target, &Names::new(), &self.templates)?;
            }
            self.numbers.entry(target.clone()).or_insert(number);
        }
        Ok(())
    }

    /// The text with its templates rendered.
    pub(super) fn rendered(&mut self, text: &str, names: &Names) -> Result<String, Error> {
        self.work.render(text, names, &self.templates)
    }

    /// Counts so many bytes of work besides what is rendered.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Error> {
        self.work.take(bytes)
    }

    /// All of what a URL names.
    pub(super) fn whole(&mut self, url: &str) -> Reference {
        Reference::Whole { target: self.target(url) }
    }

    /// A part of what a URL names.
    pub(super) fn part(&mut self, url: &str, offset: u64, len: u64) -> Result<Reference, Error> {
        match offset.checked_add(len) {
            Some(_) => Ok(Reference::Part { target: self.target(url), offset, len }),
            None => Err(Error::invalid(format!("{len} bytes at {offset}, past the end of every file"))),
        }
    }

    fn target(&mut self, url: &str) -> u32 {
        if let Some(number) = self.numbers.get(url) {
            return *number;
        }
        // One number stands for what keys hold themselves; there are fewer targets than keys.
        let number = u32::try_from(self.document.targets.len()).unwrap_or(u32::MAX - 1);
        self.document.targets.push(url.to_owned());
        self.numbers.insert(url.to_owned(), number);
        number
    }

    /// Adds a key.
    pub(super) fn add(&mut self, key: &str, reference: Reference) -> Result<(), Error> {
        self.document.keys.push(key, reference)
    }

    fn take(&mut self, key: &str, found: Found) -> Result<(), Error> {
        let reference = self.reference(found).map_err(|error| named(key, error))?;
        self.add(key, reference)
    }

    /// Takes what stands beside the fields of version 1.
    fn take_beside(&mut self, key: &str, found: Found) {
        let taken = self.reference(found).map_err(|error| named(key, error));
        if let Err(error) = taken.and_then(|reference| self.beside.push(key, reference)) {
            self.wrong_beside.get_or_insert(error);
        }
    }

    fn reference(&mut self, found: Found) -> Result<Reference, Error> {
        match found {
            Found::Inline(bytes) => add_inline(&mut self.document.inline, &bytes?),
            Found::Whole(url) => Ok(self.whole(&url)),
            Found::Part(url, offset, len) => self.part(&url, offset, len),
            Found::Wrong(wanted, found) => Err(wrong(wanted, &found)),
        }
    }

    fn set_templates(&mut self, templates: Option<Value>) -> Result<(), Error> {
        let templates = match templates {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(fields)) => fields,
            Some(other) => return Err(wrong("an object as `templates`", &other)),
        };
        for (name, text) in templates {
            let Value::String(text) = text else { return Err(wrong("a template that is a text", &text)) };
            self.templates.insert(name.into(), Named::Text(text.into()));
        }
        Ok(())
    }

    fn set_generators(&mut self, generators: Option<Value>) -> Result<(), Error> {
        self.generators = match generators {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(generators)) => generators,
            Some(other) => return Err(wrong("a list of generators as `gen`", &other)),
        };
        Ok(())
    }
}

fn named(key: &str, error: Error) -> Error {
    error.with_message_prefix(&format!("the reference `{}`: ", crate::metadata::json::cut(key)))
}

pub(super) fn wrong(wanted: &str, found: &Value) -> Error {
    Error::invalid(format!("wanted {wanted}, found {}", brief(found)))
}

/// The fields of a document.
struct DocumentVisitor<'r>(&'r mut Reading);

impl<'de> Visitor<'de> for DocumentVisitor<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let reading = self.0;
        while let Some(Text(field)) = map.next_key()? {
            let taken = match field.as_ref() {
                "version" => {
                    reading.version = Some(map.next_value()?);
                    Ok(())
                }
                "templates" => reading.set_templates(map.next_value()?),
                "gen" => reading.set_generators(map.next_value()?),
                "refs" => {
                    reading.has_references = true;
                    map.next_value_seed(ReferencesSeed(reading))
                }?,
                key => {
                    let found = map.next_value()?;
                    reading.take_beside(key, found);
                    Ok(())
                }
            };
            if let Err(error) = taken {
                reading.wrong = Some(error);
                return Err(M::Error::custom("no references"));
            }
        }
        Ok(())
    }
}

/// The keys of version 1.
struct ReferencesSeed<'r>(&'r mut Reading);

impl<'de> DeserializeSeed<'de> for ReferencesSeed<'_> {
    type Value = Result<(), Error>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ReferencesSeed<'_> {
    type Value = Result<(), Error>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object as `refs`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        while let Some(Text(key)) = map.next_key()? {
            if let Err(error) = self.0.take(&key, map.next_value()?) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}

/// A text, borrowed from the document where nothing in it is escaped.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

/// What stands for the value of a key.
enum Found {
    Inline(Result<Vec<u8>, Error>),
    Whole(String),
    Part(String, u64, u64),
    /// What was wanted, and what was found.
    Wrong(&'static str, Value),
}

impl<'de> Deserialize<'de> for Found {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FoundVisitor)
    }
}

struct FoundVisitor;

const WANTED: &str = "a text, [url] or [url, offset, length]";

impl<'de> Visitor<'de> for FoundVisitor {
    type Value = Found;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(WANTED)
    }

    fn visit_str<E>(self, text: &str) -> Result<Found, E> {
        Ok(Found::Inline(match text.strip_prefix("base64:") {
            None => Ok(text.as_bytes().to_vec()),
            Some(encoded) => base64::decode(encoded)
                .ok_or_else(|| Error::invalid("wanted base64 after `base64:`, found something else")),
        }))
    }

    /// A document that was not made a text.
    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Found, M::Error> {
        let document = Value::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Found::Inline(Ok(document.to_string().into_bytes())))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut parts: S) -> Result<Found, S::Error> {
        let mut found = Vec::new();
        while found.len() <= PARTS_MAX {
            match parts.next_element::<Value>()? {
                Some(part) => found.push(part),
                None => return Ok(reference(found)),
            }
        }
        while parts.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Found::Wrong(WANTED, Value::Array(found)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Found, E> {
        Ok(Found::Wrong(WANTED, value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Found, E> {
        Ok(Found::Wrong(WANTED, value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Found, E> {
        Ok(Found::Wrong(WANTED, value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Found, E> {
        Ok(Found::Wrong(WANTED, value.into()))
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::Wrong(WANTED, Value::Null))
    }
}

/// URL, offset and length.
const PARTS_MAX: usize = 3;

/// A URL and a range of it, or all of it. No URL stands for the one that the caller names.
fn reference(mut parts: Vec<Value>) -> Found {
    let url = match parts.first_mut().map(Value::take) {
        Some(Value::String(url)) => url,
        Some(Value::Null) => String::new(),
        Some(other) => return Found::Wrong("a URL first", other),
        None => return Found::Wrong(WANTED, Value::Array(parts)),
    };
    match parts.as_slice() {
        [_] => Found::Whole(url),
        [_, offset, len] => match (offset.as_u64(), len.as_u64()) {
            (Some(offset), Some(len)) => Found::Part(url, offset, len),
            _ => Found::Wrong("an offset and a length in bytes", Value::Array(parts)),
        },
        _ => Found::Wrong(WANTED, Value::Array(parts)),
    }
}
