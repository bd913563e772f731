//! `swath diff`: how two arrays or hierarchies differ, whatever they are stored in.

use crate::diff_metadata::{array_differences, attribute_differences};
use crate::diff_values::{Tolerance, ValueDifferences, value_differences};
use crate::interrupt::Interrupt;
use crate::locate;
use crate::place::{Place, UrlArguments};
use crate::progress::{Progress, Unit};
use crate::quantity::{count, plural, shape, significant};
use crate::verdict::Verdict;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use swath::{Array, Error, Node};

/// The arguments of `swath diff`.
///
/// Exit code 0 where nothing differs, 1 where something does, 2 where that could not be found out.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A group or an array: a directory, a zip archive, or a URL.
    a: PathBuf,
    /// What it is compared with.
    b: PathBuf,
    /// Numbers are equal where they are apart by at most atol + rtol * |b|.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    rtol: f64,
    /// See --rtol.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    atol: f64,
    /// Differences in how elements are stored count too: format, chunks, shards, codecs.
    #[arg(long)]
    layout: bool,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    url: UrlArguments,
}

/// What was found of one node.
struct Differs {
    path: String,
    /// What differs but for values, in words.
    metadata: Vec<String>,
    values: Option<ValueDifferences>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let open = |path| -> anyhow::Result<Node> { locate::node(&Place::either(path, &arguments.url)?) };
    let (a, b) = (open(&arguments.a)?, open(&arguments.b)?);
    let compare = Compare {
        arguments,
        tolerance: Tolerance { relative: arguments.rtol, absolute: arguments.atol },
        interrupt: Interrupt::install()?,
        progress: Progress::new(None, Unit::Bytes),
    };
    let found = compare.nodes(&a, &b)?;
    drop(compare);
    if arguments.json {
        let nodes: Vec<Value> = found.iter().map(differs_json).collect();
        writeln!(out, "{}", json!({"equal": found.is_empty(), "differences": nodes}))?;
    } else {
        for differs in &found {
            differs_text(differs, out)?;
        }
    }
    Ok(Verdict::of(swath::ioengine::storage_len(found.len())))
}

struct Compare<'a> {
    arguments: &'a Arguments,
    tolerance: Tolerance,
    interrupt: Interrupt,
    progress: Progress,
}

impl Compare<'_> {
    fn nodes(&self, a: &Node, b: &Node) -> anyhow::Result<Vec<Differs>> {
        let (a, b) = (tree(a)?, tree(b)?);
        let mut found = Vec::new();
        let paths: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for path in paths {
            self.interrupt.check()?;
            let differs = match (a.get(path), b.get(path)) {
                (Some(a), Some(b)) => self.node(path, a, b)?,
                (Some(_), None) => Some(only(path, "only in a")),
                _ => Some(only(path, "only in b")),
            };
            found.extend(differs);
        }
        Ok(found)
    }

    fn node(
        &self,
        path: &str,
        a: &Result<Node, Error>,
        b: &Result<Node, Error>,
    ) -> anyhow::Result<Option<Differs>> {
        let (metadata, values) = match (a.clone()?, b.clone()?) {
            (Node::Array(a), Node::Array(b)) => self.arrays(&a, &b)?,
            (Node::Group(a), Node::Group(b)) => {
                let mut found = attribute_differences(a.attributes(), b.attributes());
                if self.arguments.layout && a.zarr_format() != b.zarr_format() {
                    found.push("format".to_owned());
                }
                (found, None)
            }
            (Node::Array(_), Node::Group(_)) => (vec!["an array in a, a group in b".to_owned()], None),
            (Node::Group(_), Node::Array(_)) => (vec!["a group in a, an array in b".to_owned()], None),
        };
        let is_equal = metadata.is_empty() && values.is_none();
        Ok((!is_equal).then(|| Differs { path: path.to_owned(), metadata, values }))
    }

    fn arrays(&self, a: &Array, b: &Array) -> anyhow::Result<(Vec<String>, Option<ValueDifferences>)> {
        let metadata = array_differences(a, b, self.arguments.layout);
        if a.shape() != b.shape() {
            return Ok((metadata, None));
        }
        let poll = || {
            self.progress.tick();
            self.interrupt.is_raised()
        };
        let advance = |bytes| self.progress.advance(bytes);
        let values = value_differences(a, b, self.tolerance, &poll, &advance)?;
        Ok((metadata, values))
    }
}

/// The node and all that is below it, by path; the node itself at the empty one.
fn tree(node: &Node) -> Result<BTreeMap<String, Result<Node, Error>>, Error> {
    let mut found = BTreeMap::from([(String::new(), Ok(node.clone()))]);
    if let Node::Group(group) = node {
        found.extend(group.walk()?);
    }
    Ok(found)
}

fn only(path: &str, where_it_is: &str) -> Differs {
    Differs { path: path.to_owned(), metadata: vec![where_it_is.to_owned()], values: None }
}

fn differs_text(differs: &Differs, out: &mut impl Write) -> std::io::Result<()> {
    let name = if differs.path.is_empty() { "." } else { &differs.path };
    for difference in &differs.metadata {
        writeln!(out, "{name}: {difference}")?;
    }
    let Some(values) = &differs.values else { return Ok(()) };
    let share = significant(100.0 * values.count as f64 / values.elements.max(1) as f64);
    let differ = if values.count == 1 { "differs" } else { "differ" };
    let elements = plural(values.count, "element");
    write!(out, "{name}: {elements} of {} {differ} ({share} %)", count(values.elements))?;
    match values.greatest {
        Some(greatest) => writeln!(out, ", by {greatest} at most")?,
        None => writeln!(out)?,
    }
    for first in &values.first {
        writeln!(out, "  {}: {} in a, {} in b", shape(&first.position), first.a, first.b)?;
    }
    Ok(())
}

fn differs_json(differs: &Differs) -> Value {
    let values = differs.values.as_ref().map(|values| {
        let first = values.first.iter();
        let first = first.map(|first| json!({"position": first.position, "a": first.a, "b": first.b}));
        json!({
            "elements": values.elements,
            "count": values.count,
            "max_abs_difference": values.greatest.map(crate::read_report::number),
            "first": first.collect::<Vec<_>>(),
        })
    });
    json!({"path": differs.path, "metadata": differs.metadata, "values": values})
}
