//! A chain of liblzma's filters, as Python's `lzma` module lists them.

use liblzma::stream::{Filters, LzmaOptions, MatchFinder, Mode};
use serde_json::Value;

use super::{NAME, UNSTATED_PRESET, unusable};
use crate::error::Error;

/// Python's filter ids, which are liblzma's.
const LZMA1: u64 = 0x4000_0000_0000_0001;
const LZMA2: u64 = 0x21;
const DELTA: u64 = 3;
/// liblzma's `LZMA_FILTERS_MAX`.
const FILTERS_MAX: usize = 4;
/// Fields of a filter that are numbers, and the most that each may be.
const FIELDS: [(&str, u64); 10] = [
    ("id", u64::MAX),
    ("preset", u32::MAX as u64),
    ("dict_size", 1536 << 20),
    ("lc", 4),
    ("lp", 4),
    ("pb", 4),
    ("mode", 2),
    ("nice_len", 273),
    ("mf", 0x14),
    ("depth", u32::MAX as u64),
];

/// Filters in the order in which they encode, their fields checked; kept as metadata have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilterChain(Vec<Value>);

impl FilterChain {
    pub(super) fn from_json(value: &Value) -> Result<Self, Error> {
        let wanted = "1 to 4 filters, objects with an `id`";
        let entries = value.as_array().filter(|entries| (1..=FILTERS_MAX).contains(&entries.len()));
        let entries = entries.ok_or_else(|| Error::invalid_field(NAME, "filters", wanted, value))?;
        let chain = Self(entries.clone());
        for entry in entries {
            check_entry(entry)?;
        }
        chain.build()?;
        Ok(chain)
    }

    pub(super) fn to_json(&self) -> Value {
        Value::Array(self.0.clone())
    }

    pub(super) fn build(&self) -> Result<Filters, Error> {
        let mut filters = Filters::new();
        for entry in &self.0 {
            match number(entry, "id") {
                Some(LZMA1) => filters.lzma1(&options(entry)?),
                Some(LZMA2) => filters.lzma2(&options(entry)?),
                Some(DELTA) => {
                    // Properties of delta: the distance less one, in one byte.
                    let distance = number(entry, "dist").unwrap_or(1).clamp(1, 256) - 1;
                    let properties = [u8::try_from(distance).unwrap_or(u8::MAX)];
                    filters.delta_properties(&properties).map_err(|error| unusable(&error))?
                }
                Some(4) => filters.x86(),
                Some(5) => filters.powerpc(),
                Some(6) => filters.ia64(),
                Some(7) => filters.arm(),
                Some(8) => filters.arm_thumb(),
                Some(9) => filters.sparc(),
                _ => return Err(Error::invalid_field(NAME, "id", "the id of a filter", entry)),
            };
        }
        Ok(filters)
    }

    /// The options of the one filter of an `.lzma` file.
    pub(super) fn options(&self) -> Result<LzmaOptions, Error> {
        match &self.0[..] {
            [entry] if number(entry, "id") == Some(LZMA1) => options(entry),
            _ => Err(Error::invalid(NAME, "wanted one filter, LZMA1, for an .lzma file, found others")),
        }
    }

    /// Whether the dictionaries fit so many bytes.
    pub(super) fn check_memory(&self, bytes_max: u64) -> Result<(), ()> {
        let dictionaries = self.0.iter().filter_map(|entry| number(entry, "dict_size"));
        if dictionaries.sum::<u64>() <= bytes_max { Ok(()) } else { Err(()) }
    }
}

fn number(entry: &Value, field: &str) -> Option<u64> {
    entry.get(field)?.as_u64()
}

fn check_entry(entry: &Value) -> Result<(), Error> {
    let wanted = "an object with an `id`";
    let fields = entry.as_object().filter(|fields| fields.contains_key("id"));
    let fields = fields.ok_or_else(|| Error::invalid_field(NAME, "filters", wanted, entry))?;
    for (field, value) in fields {
        let is_distance = field == "dist" && number(entry, "id") == Some(DELTA);
        let most = FIELDS.iter().find(|(name, _)| name == field).map(|(_, most)| *most);
        let most = if is_distance { Some(256) } else { most };
        let Some(most) = most else {
            return Err(Error::invalid(NAME, format!("filters: wanted fields of a filter, found `{field}`")));
        };
        if value.as_u64().is_none_or(|value| most < value) {
            return Err(Error::invalid_field(NAME, field, &format!("a whole number up to {most}"), value));
        }
    }
    Ok(())
}

fn options(entry: &Value) -> Result<LzmaOptions, Error> {
    // Every field was checked to fit 32 bits.
    let field = |name: &str| number(entry, name).and_then(|value| u32::try_from(value).ok());
    let preset = field("preset").unwrap_or(UNSTATED_PRESET);
    let mut options = LzmaOptions::new_preset(preset).map_err(|error| unusable(&error))?;
    if let Some(size) = field("dict_size") {
        options.dict_size(size);
    }
    if let Some(bits) = field("lc") {
        options.literal_context_bits(bits);
    }
    if let Some(bits) = field("lp") {
        options.literal_position_bits(bits);
    }
    if let Some(bits) = field("pb") {
        options.position_bits(bits);
    }
    if let Some(mode) = field("mode") {
        options.mode(if mode == 1 { Mode::Fast } else { Mode::Normal });
    }
    if let Some(len) = field("nice_len") {
        options.nice_len(len);
    }
    if let Some(finder) = field("mf") {
        options.match_finder(match finder {
            0x03 => MatchFinder::HashChain3,
            0x04 => MatchFinder::HashChain4,
            0x12 => MatchFinder::BinaryTree2,
            0x13 => MatchFinder::BinaryTree3,
            _ => MatchFinder::BinaryTree4,
        });
    }
    if let Some(depth) = field("depth") {
        options.depth(depth);
    }
    Ok(options)
}
