//! `swath copy`: arrays and groups from one store to another, in other chunks, codecs or formats.

use crate::allocator::give_large_blocks_back;
use crate::interrupt::Interrupt;
use crate::locate;
use crate::place::{Place, UrlArguments};
use crate::process::peak_memory_bytes;
use crate::progress::{Progress, Unit};
use crate::quantity::{bytes, count, duration, plural, shape, significant};
use crate::verdict::Verdict;
use anyhow::bail;
use serde_json::{Value, json};
use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use swath::ioengine::{cache_bytes, storage_len};
use swath::{
    Array, CopyCodecs, CopyExisting, CopyOptions, CopyPlan, CopyProgress, CopyReport, CopyShards, Group,
    Node, Selection, Store, Verify, ZarrFormat,
};

/// The arguments of `swath copy`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The array or group to copy: a directory, a zip archive, or a URL.
    source: PathBuf,
    /// Where the copy is to be: a directory, or a URL.
    target: PathBuf,
    /// Elements of a chunk along each axis, such as 1,all,128,128; of a group, for the arrays with so many axes.
    #[arg(long, value_name = "EXTENTS", value_parser = parse_extents)]
    chunks: Option<Extents>,
    /// Elements of a shard along each axis, whole chunks, or none. The source's where they are whole chunks, if not given.
    #[arg(long, value_name = "EXTENTS|none", value_parser = parse_shards)]
    shards: Option<CopyShards>,
    /// The compressor: NAME or NAME:LEVEL, such as zstd:3, gzip, blosc (zstd with shuffle), lz4, none; or the compressors as
    /// JSON, as the target's metadata has them. The source's codecs, filters included, if not given.
    #[arg(long, value_name = "CODEC", value_parser = parse_codec)]
    codec: Option<CopyCodecs>,
    /// 2 or 3; the source's if not given.
    #[arg(long, value_name = "2|3", value_parser = parse_format)]
    zarr_format: Option<ZarrFormat>,
    /// Copy only this part of an array, in NumPy's notation: '0:100, :, ::2'.
    #[arg(long, value_name = "SLICES", allow_hyphen_values = true)]
    region: Option<Selection>,
    /// Memory that the copy may take, such as 512MB or 2GiB.
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = parse_size)]
    memory: u64,
    /// Remove what is at the target first.
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
    /// Go on with a copy that was interrupted: what is complete is not written again.
    #[arg(long)]
    resume: bool,
    /// Read everything back as it is written, and compare it bit by bit.
    #[arg(long)]
    verify: bool,
    /// Print how the copy would be made, and make none.
    #[arg(long)]
    plan: bool,
    /// The folder for an intermediate array, where the plan has one.
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    /// An option of the target's storage, as --option is one of the source's; those of the source count for both where
    /// none is given. May be given again.
    #[arg(long = "target-option", value_name = "NAME=VALUE")]
    target_options: Vec<String>,
    #[command(flatten)]
    url: UrlArguments,
}

/// Extents along all axes; 0 for a whole axis.
#[derive(Clone, Debug)]
struct Extents(Vec<u64>);

fn parse_extents(text: &str) -> Result<Extents, String> {
    let extent = |part: &str| match part.trim() {
        "all" | "-1" => Ok(0),
        part => match part.parse::<u64>() {
            Ok(extent) if extent != 0 => Ok(extent),
            _ => Err(format!("wanted extents of at least 1, or `all`, found {part:?}")),
        },
    };
    text.split(',').map(extent).collect::<Result<_, _>>().map(Extents)
}

fn parse_shards(text: &str) -> Result<CopyShards, String> {
    if text == "none" {
        return Ok(CopyShards::None);
    }
    parse_extents(text).map(|Extents(extents)| CopyShards::Of(extents))
}

fn parse_codec(text: &str) -> Result<CopyCodecs, String> {
    if text.starts_with(['[', '{']) {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        return Ok(CopyCodecs::Listed(match value {
            Value::Array(listed) => listed,
            one => vec![one],
        }));
    }
    let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
    let level = level.map(|level| level.parse().map_err(|_| format!("wanted a level, found {level:?}")));
    Ok(CopyCodecs::Named(name.to_owned(), level.transpose()?))
}

fn parse_format(text: &str) -> Result<ZarrFormat, String> {
    match text {
        "2" => Ok(ZarrFormat::V2),
        "3" => Ok(ZarrFormat::V3),
        _ => Err("wanted 2 or 3".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    cache_bytes(text).map_err(|error| error.message().to_owned())
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let node = locate::node(&Place::either(&arguments.source, &arguments.url)?)?;
    if arguments.plan {
        return plan(&node, &arguments.options(), arguments.json, out);
    }
    let store = arguments.target_store()?;
    give_large_blocks_back();
    let interrupt = Interrupt::install()?;
    let progress = Progress::new(None, Unit::Bytes);
    let poll = || {
        progress.tick();
        interrupt.is_raised()
    };
    let (last, intermediate) = (Cell::new(0), Cell::new(0));
    let say = |done: &CopyProgress| {
        let before = last.replace(done.bytes);
        intermediate.set(done.intermediate_bytes.max(intermediate.get()));
        progress.advance(done.bytes.checked_sub(before).unwrap_or(done.bytes));
        let share = 100.0 * done.bytes as f64 / done.bytes_total.max(1) as f64;
        progress.say(format!("{} % of {}", significant(share), done.array));
    };
    let options = CopyOptions { progress: Some(&say), interrupt: Some(&poll), ..arguments.options() };
    let started = Instant::now();
    let report = match &node {
        Node::Group(group) => group.copy_to(&store, "", &options)?,
        Node::Array(array) => {
            let copy = array.copy_to(&store, "", &options)?;
            CopyReport { arrays: 1, bytes: copy.nbytes().unwrap_or(u64::MAX), ..CopyReport::default() }
        }
    };
    drop(progress);
    let made = Made { report, seconds: started.elapsed(), intermediate_bytes: intermediate.get() };
    made.print(arguments, (&node, &store), out)
}

/// What a copy came to.
struct Made {
    report: CopyReport,
    seconds: Duration,
    /// Bytes of the largest intermediate array that lay on the local disk; 0 without one.
    intermediate_bytes: u64,
}

impl Made {
    fn print(
        &self,
        arguments: &Arguments,
        (node, store): (&Node, &Store),
        out: &mut impl Write,
    ) -> anyhow::Result<Verdict> {
        let report = &self.report;
        if arguments.json {
            let failures =
                report.failed.iter().map(|(path, error)| json!({"path": path, "error": error.to_string()}));
            let value = json!({
                "source": node_name(node),
                "target": store.name(),
                "groups": report.groups,
                "arrays": report.arrays,
                "bytes": report.bytes,
                "seconds": self.seconds.as_secs_f64(),
                "intermediate_bytes": self.intermediate_bytes,
                "peak_memory_bytes": peak_memory_bytes(),
                "verified": arguments.verify,
                "failed": failures.collect::<Vec<_>>(),
            });
            writeln!(out, "{value}")?;
        } else {
            for (path, error) in &report.failed {
                writeln!(out, "not copied: {path}: {error}")?;
            }
            writeln!(out, "{}", self.line(arguments))?;
        }
        Ok(Verdict::of(storage_len(report.failed.len())))
    }

    fn line(&self, arguments: &Arguments) -> String {
        let (arrays, size) = (plural(self.report.arrays, "array"), bytes(self.report.bytes));
        let mut line = format!("copied {arrays}, {size} of elements, in {}", duration(self.seconds));
        if self.intermediate_bytes != 0 {
            line += &format!(", by an intermediate array of {}", bytes(self.intermediate_bytes));
        }
        if let Some(memory) = peak_memory_bytes() {
            line += &format!(", with {} of memory at most", bytes(memory));
        }
        if arguments.verify {
            line += ", read back and compared";
        }
        line
    }
}

impl Arguments {
    fn options(&self) -> CopyOptions<'static> {
        let existing = match (self.overwrite, self.resume) {
            (true, _) => CopyExisting::Replace,
            (_, true) => CopyExisting::Resume,
            _ => CopyExisting::Refuse,
        };
        CopyOptions {
            chunk_shape: self.chunks.clone().map(|Extents(extents)| extents),
            shards: self.shards.clone().unwrap_or_default(),
            codecs: self.codec.clone().unwrap_or_default(),
            zarr_format: self.zarr_format,
            region: self.region.clone(),
            memory_bytes: self.memory,
            existing,
            verify: if self.verify { Verify::Yes } else { Verify::No },
            scratch: self.scratch.clone(),
            ..CopyOptions::default()
        }
    }

    fn target_store(&self) -> anyhow::Result<Store> {
        let own = (!self.target_options.is_empty()).then(|| self.url.with_options(&self.target_options));
        match Place::either(&self.target, own.as_ref().unwrap_or(&self.url))? {
            Place::Directory(path) => Ok(Store::create_directory(path)?),
            Place::Url(url, ..) if url.starts_with("file://") => {
                bail!("{url}: wanted the target as a path, or as the URL of a remote store")
            }
            // What is written must not be taken from a cache when it is read back.
            Place::Url(url, options, _) => Ok(Store::open(&url, &options)?),
        }
    }
}

fn node_name(node: &Node) -> String {
    match node {
        Node::Array(array) => array.name(),
        Node::Group(group) => group.name(),
    }
}

/// Prints the plan of each array.
fn plan(
    node: &Node,
    options: &CopyOptions<'_>,
    is_json: bool,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let mut failed = 0;
    let mut plans = Vec::new();
    for (name, array) in arrays(node)? {
        let plan = array.and_then(|array| array.copy_plan(options));
        match (&plan, is_json) {
            (Err(error), false) => writeln!(out, "{name}: cannot be copied: {error}")?,
            (Ok(plan), false) => plan_text(&name, plan, out)?,
            (Err(error), true) => plans.push(json!({"array": name, "error": error.to_string()})),
            (Ok(plan), true) => plans.push(plan_json(&name, plan)),
        }
        failed += u64::from(plan.is_err());
    }
    if is_json {
        writeln!(out, "{}", json!(plans))?;
    }
    Ok(Verdict::of(failed))
}

/// An array by its path, or why it cannot be opened.
type NamedArray = (String, Result<Array, swath::Error>);

fn arrays(node: &Node) -> Result<Vec<NamedArray>, swath::Error> {
    let below = |group: &Group| {
        let nodes = group.walk()?.into_iter().filter_map(|(path, node)| match node {
            Ok(Node::Array(array)) => Some((path, Ok(array))),
            Ok(Node::Group(_)) => None,
            Err(error) => Some((path, Err(error))),
        });
        Ok(nodes.collect())
    };
    match node {
        Node::Array(array) => Ok(vec![(array.name(), Ok(array.clone()))]),
        Node::Group(group) => below(group),
    }
}

fn plan_text(name: &str, plan: &CopyPlan, out: &mut impl Write) -> std::io::Result<()> {
    let boxes = if plan.boxes_in_memory == 1 {
        "1 box".to_owned()
    } else {
        format!("{} boxes", plan.boxes_in_memory)
    };
    writeln!(
        out,
        "{name}: {} elements, {}, {boxes} in memory",
        shape(&plan.shape),
        bytes(plan.total_bytes())
    )?;
    if plan.intermediate_bytes != 0 {
        writeln!(out, "  by an intermediate array of {} on the local disk", bytes(plan.intermediate_bytes))?;
    }
    for stage in &plan.stages {
        writeln!(
            out,
            "  {} boxes {} of {}: chunks {} read {} times each, objects {} written once",
            count(stage.region_count),
            shape(&stage.region),
            bytes(stage.region_bytes),
            shape(&stage.source_chunk),
            significant(stage.read_amplification),
            shape(&stage.target_object),
        )?;
    }
    Ok(())
}

fn plan_json(name: &str, plan: &CopyPlan) -> Value {
    let stages = plan.stages.iter().map(|stage| {
        json!({
            "source_chunk": stage.source_chunk,
            "target_object": stage.target_object,
            "box": stage.region,
            "boxes": stage.region_count,
            "box_bytes": stage.region_bytes,
            "read_amplification": stage.read_amplification,
        })
    });
    json!({
        "array": name,
        "shape": plan.shape,
        "bytes": plan.total_bytes(),
        "intermediate_bytes": plan.intermediate_bytes,
        "boxes_in_memory": plan.boxes_in_memory,
        "stages": stages.collect::<Vec<_>>(),
    })
}
