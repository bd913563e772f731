//! A hierarchy for people: a tree with a line an array, or a block an array.

use crate::info::{format_number, ratio};
use crate::quantity::{abbreviated, bytes, count, plural, shape, significant};
use crate::tree::{Content, Entry, reason};
use serde_json::{Map, Value};
use std::io::{Result, Write};
use swath::{Array, Error, Group};

/// Attributes are shown for orientation; `--json` has all of all.
const ATTRIBUTES_MAX: usize = 12;
const ATTRIBUTE_CHARACTERS_MAX: usize = 72;

/// Prints a tree, one line a node; an array at the root gets its whole block.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn tree(root: &Entry, out: &mut impl Write) -> Result<()> {
    let Content::Group(group, below) = &root.content else {
        return blocks(root, out);
    };
    writeln!(out, "{}  {}", root.name, group_words(root, group))?;
    let mut lines = Vec::new();
    gather_lines(below, "", &mut lines);
    write_aligned(&lines, out)?;
    if !group.attributes().is_empty() {
        writeln!(out)?;
        attributes(group.attributes(), out)?;
    }
    Ok(())
}

/// Prints a block a node, a blank line between.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn blocks(root: &Entry, out: &mut impl Write) -> Result<()> {
    block(root, &root.name, out)
}

fn block(entry: &Entry, path: &str, out: &mut impl Write) -> Result<()> {
    match &entry.content {
        Content::Failed(message) => writeln!(out, "{path}  cannot be opened: {message}"),
        Content::Array(array, stored) => array_block(path, array, stored.as_ref(), out),
        Content::Group(group, below) => {
            writeln!(out, "{path}  {}", group_words(entry, group))?;
            attributes(group.attributes(), out)?;
            for child in below {
                writeln!(out)?;
                block(child, &format!("{}/{}", path.trim_end_matches('/'), child.name), out)?;
            }
            Ok(())
        }
    }
}

fn array_block(
    path: &str,
    array: &Array,
    stored: Option<&std::result::Result<(u64, u64), Error>>,
    out: &mut impl Write,
) -> Result<()> {
    writeln!(out, "{path}  array, Zarr v{}", format_number(array.zarr_format()))?;
    row("shape", &shape(array.shape()), out)?;
    if let Some(names) = array.metadata().dimension_names() {
        let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("_")).collect();
        row("dimensions", &format!("({})", names.join(", ")), out)?;
    }
    row("dtype", &array.data_type().to_string(), out)?;
    row("chunks", &chunks(array), out)?;
    row(
        "shards",
        &array.shard_shape().map_or_else(|| "none".to_owned(), |shard| longest(array, shard)),
        out,
    )?;
    row("codecs", &array.codecs().join(" → "), out)?;
    row("fill value", &array.fill_value().to_string(), out)?;
    let logical = array.nbytes().map_or_else(|| "more than 2^64 bytes".to_owned(), bytes);
    row("logical", &logical, out)?;
    match stored {
        None => {}
        Some(Err(error)) => row("stored", &format!("unknown: {}", reason(error)), out)?,
        Some(Ok((stored, objects))) => {
            let grid = array.stored_grid().iter().try_fold(1_u64, |all, extent| all.checked_mul(*extent));
            let noun = if array.shard_shape().is_some() { "shard" } else { "chunk" };
            let of = grid.map_or_else(|| format!("{noun}s"), |grid| plural(grid, noun));
            row("stored", &format!("{} in {} of {of}", bytes(*stored), count(*objects)), out)?;
            let ratio = ratio(array.nbytes(), *stored);
            row("ratio", &ratio.map_or_else(|| "none".to_owned(), significant), out)?;
        }
    }
    attributes(array.metadata().attributes(), out)
}

fn row(name: &str, value: &str, out: &mut impl Write) -> Result<()> {
    writeln!(out, "  {name:<12}{value}")
}

fn attributes(attributes: &Map<String, Value>, out: &mut impl Write) -> Result<()> {
    for (position, (key, value)) in attributes.iter().take(ATTRIBUTES_MAX).enumerate() {
        let title = if position == 0 { "attributes" } else { "" };
        let key: String = key.chars().flat_map(plain).collect();
        let value = abbreviated(&value.to_string(), ATTRIBUTE_CHARACTERS_MAX);
        row(title, &format!("{} = {value}", abbreviated(&key, ATTRIBUTE_CHARACTERS_MAX)), out)?;
    }
    match attributes.len().checked_sub(ATTRIBUTES_MAX) {
        None | Some(0) => Ok(()),
        Some(more) => row("", &format!("… {more} more"), out),
    }
}

/// A character that a terminal shows instead of obeying. JSON values are escaped already, names are not.
fn plain(character: char) -> Box<dyn Iterator<Item = char>> {
    if character.is_control() {
        Box::new(character.escape_default())
    } else {
        Box::new(std::iter::once(character))
    }
}

fn group_words(entry: &Entry, group: &Group) -> String {
    let (arrays, failed) = entry.census();
    let mut words =
        format!("group, Zarr v{}, {}", format_number(group.zarr_format()), plural(arrays, "array"));
    if failed != 0 {
        words.push_str(&format!(", {} that cannot be opened", plural(failed, "node")));
    }
    words
}

/// A line of the tree: the branch and name, then either aligned columns or free text.
struct Line {
    name: String,
    columns: Vec<String>,
    text: String,
}

fn gather_lines(entries: &[Entry], indent: &str, lines: &mut Vec<Line>) {
    for (position, entry) in entries.iter().enumerate() {
        let is_last = position + 1 == entries.len();
        let (branch, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        let name: String = entry.name.chars().flat_map(plain).collect();
        let name = format!("{indent}{branch}{name}");
        match &entry.content {
            Content::Failed(message) => {
                lines.push(Line { name, columns: Vec::new(), text: format!("✗ {message}") });
            }
            Content::Array(array, stored) => {
                let columns = columns(array, stored.as_ref());
                lines.push(Line { name, columns, text: codec_words(array) });
            }
            Content::Group(_, children) => {
                lines.push(Line { name: format!("{name}/"), columns: Vec::new(), text: String::new() });
                gather_lines(children, &format!("{indent}{below}"), lines);
            }
        }
    }
}

/// The codecs of an array without its little-endian `bytes`, which nearly every array has.
fn codec_words(array: &Array) -> String {
    let mut codecs = array.codecs();
    if 1 < codecs.len() {
        codecs.retain(|codec| codec != "bytes" && codec != "bytes(little)");
    }
    codecs.join(" → ")
}

/// The shape of chunks, or of the longest where they differ.
fn chunks(array: &Array) -> String {
    match array.common_chunk_shape() {
        Some(common) => shape(&common),
        None => longest(array, array.chunk_shape()),
    }
}

/// The shape of stored objects, or of the longest where they differ.
fn longest(array: &Array, extents: &[u64]) -> String {
    let longest = if array.metadata().has_regular_grid() { "" } else { "of at most " };
    format!("{longest}{}", shape(extents))
}

fn columns(array: &Array, stored: Option<&std::result::Result<(u64, u64), Error>>) -> Vec<String> {
    let mut chunks = format!("chunks {}", chunks(array));
    if let Some(shard) = array.shard_shape() {
        chunks.push_str(&format!(" in shards {}", longest(array, shard)));
    }
    let logical = array.nbytes().map_or_else(|| "> 2^64 B".to_owned(), bytes);
    let size = match stored {
        None => logical,
        Some(Err(_)) => format!("{logical}, stored ?"),
        Some(Ok((0, _))) => format!("{logical}, none stored"),
        Some(Ok((stored, _))) => {
            let ratio = ratio(array.nbytes(), *stored).map(|ratio| format!(" ({}×)", significant(ratio)));
            format!("{logical} from {}{}", bytes(*stored), ratio.unwrap_or_default())
        }
    };
    vec![array.data_type().to_string(), shape(array.shape()), chunks, size]
}

fn write_aligned(lines: &[Line], out: &mut impl Write) -> Result<()> {
    let width =
        |cells: &mut dyn Iterator<Item = &String>| cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
    let names = width(&mut lines.iter().map(|line| &line.name));
    let widths: Vec<usize> =
        (0..4).map(|column| width(&mut lines.iter().filter_map(|line| line.columns.get(column)))).collect();
    for line in lines {
        let mut text = format!("{:<names$}", line.name);
        for (cell, width) in line.columns.iter().zip(&widths) {
            text.push_str(&format!("  {cell:<width$}"));
        }
        text.push_str("  ");
        text.push_str(&line.text);
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}
