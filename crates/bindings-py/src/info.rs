//! What arrays and groups are, in words.

use crate::location::Location;
use pyo3::prelude::*;
use std::fmt::{Display, Write};
use swath::{Array, Error, Group, Node, ZarrFormat};

/// What an array or a group is, in lines to read: `print(array.info)`.
#[pyclass(frozen, module = "swath")]
pub(crate) struct Info(String);

#[pymethods]
impl Info {
    fn __repr__(&self) -> &str {
        &self.0
    }
}

impl From<String> for Info {
    fn from(text: String) -> Info {
        Info(text)
    }
}

impl Info {
    pub(crate) fn of_array(location: &Location, array: &Array) -> Info {
        let mut lines = Lines::default();
        let format = format_number(array.zarr_format());
        lines.line("Type", &"Array");
        lines.line("Path", &location.name());
        lines.line("Zarr format", &format);
        lines.line("Data type", &array.data_type());
        lines.line("Fill value", array.fill_value());
        lines.line("Shape", &tuple(array.shape()));
        let longest = if array.metadata().has_regular_grid() { "" } else { "at most " };
        if let Some(shards) = array.shard_shape() {
            lines.line("Shard shape", &format!("{longest}{}", tuple(shards)));
        }
        match array.common_chunk_shape() {
            Some(extents) => lines.line("Chunk shape", &tuple(&extents)),
            None => lines.line("Chunk shape", &format!("{longest}{}", tuple(array.chunk_shape()))),
        }
        if let Some(names) = array.metadata().dimension_names() {
            let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
            lines.line("Dimensions", &names.join(", "));
        }
        lines.line("Codecs", &array.codecs().join(", "));
        if let Some(bytes) = array.nbytes() {
            lines.line("No. bytes", &bytes);
        }
        Info(lines.0)
    }

    pub(crate) fn of_group(location: &Location, group: &Group) -> Info {
        let mut lines = Lines::default();
        lines.line("Type", &"Group");
        lines.line("Path", &location.name());
        lines.line("Zarr format", &format_number(group.zarr_format()));
        let consolidated = if group.metadata().consolidated().is_some() { "yes" } else { "no" };
        lines.line("Consolidated", &consolidated);
        lines.line("No. attributes", &group.attributes().len());
        Info(lines.0)
    }
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, title: &str, value: &dyn Display) {
        let end = if self.0.is_empty() { "" } else { "\n" };
        // Writing to a string does not fail.
        let _ = write!(self.0, "{end}{title:<15}: {value}");
    }
}

/// What lies below a group, as a tree.
pub(crate) fn tree(root: &str, nodes: &[(String, Result<Node, Error>)]) -> String {
    let mut text = root.to_owned();
    for (number, (path, node)) in nodes.iter().enumerate() {
        let depth = path.matches('/').count();
        let name = path.rsplit('/').next().unwrap_or_default();
        text.push('\n');
        for level in 0..=depth {
            let goes_on = follows_at(&nodes[number + 1..], path, level);
            text.push_str(match (level == depth, goes_on) {
                (true, true) => "├── ",
                (true, false) => "└── ",
                (false, true) => "│   ",
                (false, false) => "    ",
            });
        }
        let _ = match node {
            Ok(Node::Group(_)) => write!(text, "{name}"),
            Ok(Node::Array(array)) => write!(text, "{name} {} {}", tuple(array.shape()), array.data_type()),
            Err(error) => write!(text, "{name} (cannot be opened: {})", error.message()),
        };
    }
    text
}

/// Whether a node follows that has the same parent as the ancestor of `path` at `level`.
fn follows_at(after: &[(String, Result<Node, Error>)], path: &str, level: usize) -> bool {
    let parent: Vec<&str> = path.split('/').take(level).collect();
    after
        .iter()
        .map(|(other, _)| other.split('/').collect::<Vec<_>>())
        .take_while(|other| other.len() > level && other[..level] == parent[..])
        .any(|other| other.len() == level + 1)
}

/// 2 or 3.
pub(crate) fn format_number(format: ZarrFormat) -> u8 {
    match format {
        ZarrFormat::V2 => 2,
        ZarrFormat::V3 => 3,
    }
}

/// A shape as Python writes it.
pub(crate) fn tuple(shape: &[u64]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}
