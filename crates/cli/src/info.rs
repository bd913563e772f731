//! `swath info`: the groups and arrays at a path.

use crate::place::{Place, UrlArguments};
use crate::tree::{Content, Entry, Sizes, gather, reason};
use crate::{info_text, locate};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use swath::{Array, Error, ZarrFormat};

/// The arguments of `swath info`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A group or an array: a directory, a URL, or a path below a group.
    path: PathBuf,
    /// Show every array of a group in full.
    #[arg(short, long)]
    long: bool,
    /// Do not list chunks, which takes long where there are millions: stored sizes are left out.
    #[arg(short, long)]
    quick: bool,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    url: UrlArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let place = Place::new(&arguments.path, &arguments.url)?;
    let node = locate::node(&place)?;
    let sizes = if arguments.quick { Sizes::Unknown } else { Sizes::Listed };
    let root = gather(&place.name_of(&node), node, sizes)?;
    if arguments.json {
        writeln!(out, "{}", entry_json(&root))?;
    } else if arguments.long {
        info_text::blocks(&root, out)?;
    } else {
        info_text::tree(&root, out)?;
    }
    Ok(())
}

/// `2` or `3`.
pub(crate) fn format_number(format: ZarrFormat) -> u64 {
    match format {
        ZarrFormat::V2 => 2,
        ZarrFormat::V3 => 3,
    }
}

/// Bytes read for each byte stored; `None` where either is unknown, or nothing is stored.
pub(crate) fn ratio(logical: Option<u64>, stored: u64) -> Option<f64> {
    logical.filter(|_| stored != 0).map(|logical| logical as f64 / stored as f64)
}

fn entry_json(entry: &Entry) -> Value {
    match &entry.content {
        Content::Failed(message) => json!({"name": entry.name, "node_type": "error", "error": message}),
        Content::Array(array, stored) => array_json(&entry.name, array, stored.as_ref()),
        Content::Group(group, below) => json!({
            "name": entry.name,
            "node_type": "group",
            "zarr_format": format_number(group.zarr_format()),
            "consolidated": group.metadata().consolidated().is_some(),
            "attributes": group.attributes(),
            "members": below.iter().map(entry_json).collect::<Vec<_>>(),
        }),
    }
}

fn array_json(name: &str, array: &Array, stored: Option<&Result<(u64, u64), Error>>) -> Value {
    let (bytes, objects) = stored.and_then(|stored| stored.as_ref().ok()).copied().unzip();
    let mut value = json!({
        "name": name,
        "node_type": "array",
        "zarr_format": format_number(array.zarr_format()),
        "shape": array.shape(),
        "data_type": array.data_type().name(),
        "chunks": array.common_chunk_shape().unwrap_or_else(|| array.chunk_shape().to_vec()),
        "shards": array.shard_shape(),
        "codecs": array.codecs(),
        "fill_value": array.fill_value().to_json(),
        "dimension_names": array.metadata().dimension_names(),
        "attributes": array.metadata().attributes(),
        "logical_bytes": array.nbytes(),
        "stored_bytes": bytes,
        "stored_objects": objects,
        "stored_objects_max": array.stored_grid().iter().try_fold(1_u64, |count, extent| count.checked_mul(*extent)),
        "ratio": bytes.and_then(|bytes| ratio(array.nbytes(), bytes)),
    });
    if let Some(Err(error)) = stored {
        value["stored_error"] = json!(reason(error));
    }
    value
}
