//! The configuration of a repository as format 2 has it: a FlexBuffer in the file `repo`. Only the containers of virtual chunks are
//! taken.
//!
//! All of them are, or none: were one left out, a shorter one could count in its place.
//!
//! Source: FlexBuffers, "Binary format".

use super::containers::Container;

/// Bytes of a text in a configuration at most.
const TEXT_BYTES_MAX: u64 = 1 << 16;

/// Containers of one repository at most.
const CONTAINERS_MAX: u64 = 1 << 14;

/// The containers in a configuration of format 2; `None` where what it says is not understood.
pub(super) fn containers_in_flexbuffer(bytes: &[u8]) -> Option<Vec<Container>> {
    let containers = match FlexMap::root(bytes)?.get("virtual_chunk_containers")? {
        None => return Some(Vec::new()),
        Some(value) if value.kind == KIND_NULL => return Some(Vec::new()),
        Some(value) => value.map()?,
    };
    if CONTAINERS_MAX < containers.len {
        return None;
    }
    (0..containers.len).map(|number| container(&containers.value(number)?.map()?)).collect()
}

fn container(fields: &FlexMap<'_>) -> Option<Container> {
    let prefix = fields.get("url_prefix")??.text()?;
    let name = match fields.get("name")? {
        Some(name) if name.kind != KIND_NULL => Some(name.text()?),
        _ => None,
    };
    Some(Container::new(&prefix, name))
}

/// A value of a FlexBuffer: where it is, or where what says that is.
#[derive(Clone, Copy)]
struct FlexValue<'a> {
    bytes: &'a [u8],
    at: u64,
    /// Bytes of what stands there.
    width: u64,
    kind: u8,
    /// Bytes of numbers in what it points to.
    below: u64,
}

/// A map of a FlexBuffer.
struct FlexMap<'a> {
    bytes: &'a [u8],
    /// Where its values begin.
    at: u64,
    width: u64,
    len: u64,
    keys: u64,
    keys_width: u64,
}

/// Keys of a map that is searched, at most: many values may share a map, and each would be searched through.
const KEYS_MAX: u64 = 256;

const KIND_NULL: u8 = 0;
const KIND_TEXT: u8 = 5;
const KIND_MAP: u8 = 9;

impl<'a> FlexMap<'a> {
    fn root(bytes: &'a [u8]) -> Option<FlexMap<'a>> {
        let end = swath_ioengine::storage_len(bytes.len());
        let width = u64::from(*bytes.last()?);
        let packed = number(bytes, end.checked_sub(2)?, 1)?;
        let at = end.checked_sub(2)?.checked_sub(width)?;
        FlexValue::new(bytes, at, width, packed)?.map()
    }

    /// The value of a key, which may have none; `None` where the map is not understood.
    fn get(&self, key: &str) -> Option<Option<FlexValue<'a>>> {
        if KEYS_MAX < self.len {
            return None;
        }
        for number in 0..self.len {
            if self.key_is(number, key.as_bytes())? {
                return Some(Some(self.value(number)?));
            }
        }
        Some(None)
    }

    fn key_is(&self, number_of_key: u64, wanted: &[u8]) -> Option<bool> {
        let at = self.keys.checked_add(number_of_key.checked_mul(self.keys_width)?)?;
        let at = at.checked_sub(number(self.bytes, at, self.keys_width)?)?;
        let found = self.bytes.get(usize::try_from(at).ok()?..)?;
        Some(found.strip_prefix(wanted).is_some_and(|rest| rest.first() == Some(&0)))
    }

    /// The value of that number.
    fn value(&self, value: u64) -> Option<FlexValue<'a>> {
        let at = self.at.checked_add(value.checked_mul(self.width)?)?;
        let types = self.at.checked_add(self.len.checked_mul(self.width)?)?;
        FlexValue::new(self.bytes, at, self.width, number(self.bytes, types.checked_add(value)?, 1)?)
    }
}

impl<'a> FlexValue<'a> {
    /// A value whose kind is packed with the width of what it points to.
    fn new(bytes: &'a [u8], at: u64, width: u64, packed: u64) -> Option<FlexValue<'a>> {
        let kind = u8::try_from(packed >> 2).ok()?;
        Some(FlexValue { bytes, at, width, kind, below: 1 << (packed & 3) })
    }

    /// Where what it points to begins.
    fn target(&self) -> Option<u64> {
        self.at.checked_sub(number(self.bytes, self.at, self.width)?)
    }

    /// It as a map.
    fn map(&self) -> Option<FlexMap<'a>> {
        if self.kind != KIND_MAP {
            return None;
        }
        let (bytes, at, width) = (self.bytes, self.target()?, self.below);
        let before = |count: u64| at.checked_sub(width.checked_mul(count)?);
        let len = number(bytes, before(1)?, width)?;
        let keys_width = number(bytes, before(2)?, width)?;
        let keys = before(3)?.checked_sub(number(bytes, before(3)?, width)?)?;
        // Each has a byte at least.
        let is_sound = len <= swath_ioengine::storage_len(bytes.len());
        is_sound.then_some(FlexMap { bytes, at, width, len, keys, keys_width })
    }

    /// It as a text.
    fn text(&self) -> Option<String> {
        if self.kind != KIND_TEXT {
            return None;
        }
        let at = self.target()?;
        let len = number(self.bytes, at.checked_sub(self.below)?, self.below)?;
        if TEXT_BYTES_MAX < len {
            return None;
        }
        let end = usize::try_from(at.checked_add(len)?).ok()?;
        let text = self.bytes.get(usize::try_from(at).ok()?..end)?;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }
}

/// A whole number of so many bytes, least significant first.
fn number(bytes: &[u8], at: u64, width: u64) -> Option<u64> {
    if ![1, 2, 4, 8].contains(&width) {
        return None;
    }
    let (at, width) = (usize::try_from(at).ok()?, usize::try_from(width).ok()?);
    let found = bytes.get(at..at.checked_add(width)?)?;
    Some(found.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
#[cfg(feature = "icechunk")]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Bytes by another writer of the format, cut and changed at every place.
    #[test]
    fn damaged_flexbuffers_are_no_containers_and_no_panic() {
        let container = |prefix: &str, name: Option<&str>| {
            let name = name.map_or(serde_json::Value::Null, serde_json::Value::from);
            serde_json::json!({"url_prefix": prefix, "name": name, "store": {"s3": {"region": "x"}}})
        };
        let containers: BTreeMap<&str, serde_json::Value> =
            [("a", container("file:///data", None)), ("b", container("s3://b/c/", Some("n")))].into();
        let configuration = serde_json::json!({
            "caching": null, "virtual_chunk_containers": containers, "z": [1, 2.5, "x".repeat(300)],
        });
        let bytes = icechunk_flexbuffer(&configuration);
        let wanted =
            [Container::new("file:///data/", None), Container::new("s3://b/c/", Some("n".to_owned()))];
        // Without any, and where one is odd.
        for (value, is_understood) in [
            (serde_json::json!({"caching": null}), true),
            (serde_json::json!({"virtual_chunk_containers": null}), true),
            (serde_json::json!({"virtual_chunk_containers": {}}), true),
            (serde_json::json!({"virtual_chunk_containers": [1]}), false),
            (serde_json::json!({"virtual_chunk_containers": {"a": containers["a"], "b": null}}), false),
            (serde_json::json!({"virtual_chunk_containers": {"a": {"url_prefix": 1}}}), false),
            (serde_json::json!({"virtual_chunk_containers": {"a": {"url_prefix": "b", "name": 1}}}), false),
        ] {
            let found = containers_in_flexbuffer(&icechunk_flexbuffer(&value));
            assert_eq!(found, is_understood.then(Vec::new), "{value}");
        }
        assert_eq!(containers_in_flexbuffer(&bytes).unwrap(), wanted);
        for at in 0..bytes.len() {
            containers_in_flexbuffer(&bytes[..at]);
            for value in [0, 1, 3, 0x24, 0x27, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                containers_in_flexbuffer(&changed);
            }
        }
    }

    fn icechunk_flexbuffer(value: &serde_json::Value) -> Vec<u8> {
        use icechunk_format::repo_info::RepoInfo;
        use icechunk_format::{SnapshotId, format_constants::SpecVersionBin, snapshot::Snapshot};
        let first = Snapshot::initial(SpecVersionBin::V2).unwrap();
        let first = icechunk_format::snapshot::SnapshotInfo::from_snapshot_file(&first).unwrap();
        let _: &SnapshotId = &first.id;
        RepoInfo::initial(SpecVersionBin::V2, first, 100, Some(value), None)
            .config_bytes_raw()
            .unwrap()
            .unwrap()
    }
}
