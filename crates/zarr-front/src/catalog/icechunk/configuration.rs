//! The configuration of a repository, of which only the containers of virtual chunks are taken: from the FlexBuffer that
//! format 2 has in its file `repo`, and from `config.yaml`, which format 1 has.
//!
//! What is not understood is no container, and without one no virtual chunk is read.
//!
//! Source: FlexBuffers, "Binary format"; YAML 1.2 in the block style that Icechunk writes.

use super::containers::Container;

/// Bytes of a text in a configuration at most.
const TEXT_BYTES_MAX: u64 = 1 << 16;

/// Containers of one repository at most.
const CONTAINERS_MAX: u64 = 1 << 14;

/// The containers in a configuration of format 2.
pub(super) fn containers_in_flexbuffer(bytes: &[u8]) -> Vec<Container> {
    let Some(containers) = FlexMap::root(bytes).and_then(|root| root.get("virtual_chunk_containers")?.map())
    else {
        return Vec::new();
    };
    let container = |number| {
        let container = containers.value(number)?.map()?;
        let prefix = container.get("url_prefix")?.text()?;
        let name = container.get("name").and_then(|name| name.text());
        Some(Container::new(&prefix, name))
    };
    (0..containers.len.min(CONTAINERS_MAX)).filter_map(container).collect()
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

    /// The value of a key.
    fn get(&self, key: &str) -> Option<FlexValue<'a>> {
        if KEYS_MAX < self.len {
            return None;
        }
        let is_it = |number: &u64| self.key_is(*number, key.as_bytes()) == Some(true);
        self.value((0..self.len).find(is_it)?)
    }

    fn key_is(&self, number_of_key: u64, wanted: &[u8]) -> Option<bool> {
        let at = self.keys.checked_add(number_of_key.checked_mul(self.keys_width)?)?;
        let at = at.checked_sub(number(self.bytes, at, self.keys_width)?)?;
        let found = self.bytes.get(usize::try_from(at).ok()?..)?;
        Some(found.strip_prefix(wanted)?.first() == Some(&0))
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

/// The containers in a configuration of format 1: what stands below `virtual_chunk_containers`, by key, each with a
/// `url_prefix` and perhaps a `name`.
pub(super) fn containers_in_yaml(text: &str) -> Vec<Container> {
    let lines = text.lines().skip_while(|line| *line != "virtual_chunk_containers:").skip(1);
    let lines = lines.take_while(|line| line.starts_with(' '));
    let mut found: Vec<(Option<String>, Option<String>)> = Vec::new();
    let mut depth = None;
    for line in lines {
        let indent = line.len() - line.trim_start().len();
        let depth = *depth.get_or_insert(indent);
        let field = line.trim();
        match found.last_mut() {
            _ if indent == depth => found.push((None, None)),
            Some((prefix, name)) if indent == depth + 2 => {
                let set = |into: &mut Option<String>, value: &str| *into = scalar(value);
                if let Some(value) = field.strip_prefix("url_prefix: ") {
                    set(prefix, value);
                } else if let Some(value) = field.strip_prefix("name: ") {
                    set(name, value);
                }
            }
            _ => {}
        }
    }
    let container = |(prefix, name): (Option<String>, Option<String>)| Some(Container::new(&prefix?, name));
    found.into_iter().filter_map(container).collect()
}

/// A text that is plain, or between single quotes; `None` for nothing, and for what is written in another way.
fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    if let Some(quoted) = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Some(quoted.replace("''", "'"));
    }
    let is_plain =
        !value.starts_with(['"', '|', '>', '&', '*', '!', '{', '[', '\'']) && !value.contains(" #");
    (is_plain && !["", "null", "~"].contains(&value)).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn containers_are_found_in_yaml() {
        let text = "\
caching: null
virtual_chunk_containers:
  a:
    name: null
    url_prefix: file:///data/
    store: !local_file_system /data
  s3://b/:
    name: 'it''s'
    url_prefix: s3://b/c
    store: !s3
      region: x
      url_prefix: s3://evil/
  odd:
    url_prefix: \"s3://quoted/\"
manifest:
  url_prefix: s3://other/
";
        let found = containers_in_yaml(text);
        let wanted =
            [Container::new("file:///data/", None), Container::new("s3://b/c/", Some("it's".to_owned()))];
        assert_eq!(found, wanted);
        for none in ["", "virtual_chunk_containers: {}\n", "virtual_chunk_containers: null\n  a:\n"] {
            assert!(containers_in_yaml(none).is_empty(), "{none}");
        }
    }

    /// Bytes by another writer of the format, cut and changed at every place.
    #[test]
    #[cfg(feature = "icechunk")]
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
        assert_eq!(containers_in_flexbuffer(&bytes), wanted);
        for at in 0..bytes.len() {
            containers_in_flexbuffer(&bytes[..at]);
            for value in [0, 1, 3, 0x24, 0x27, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                containers_in_flexbuffer(&changed);
            }
        }
    }

    #[cfg(feature = "icechunk")]
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
