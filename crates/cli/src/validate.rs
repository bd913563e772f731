//! `swath validate`: everything that is stored at a path is read and decoded.

use crate::interrupt::Interrupt;
use crate::leftovers::leftovers;
use crate::place::{Place, UrlArguments};
use crate::progress::{Progress, Unit};
use crate::read_report::Format;
use crate::validate_report::Report;
use crate::verdict::Verdict;
use crate::{locate, quantity};
use anyhow::anyhow;
use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;
use swath::{Array, Error, ErrorKind, Group, NamedNode, Node, ReadOptions, ValidateOptions};

/// The arguments of `swath validate`.
///
/// Damage is what cannot be read, or contradicts what else is stored; a note is about what nobody reads. Exit code 1 where
/// there is damage.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A group or an array: a directory, a zip archive, or a URL.
    path: PathBuf,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    /// Repair what can be repaired without losing anything: files that killed writers left unnamed, written to more than a
    /// day ago, are removed; consolidated metadata that is out of date is written anew from the documents of the nodes,
    /// where every node in it has its own. Nothing else is changed.
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    url: UrlArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let place = Place::new(&arguments.path, &arguments.url)?;
    let node = locate::node(&place)?;
    let format = if arguments.json { Format::Json } else { Format::Text };
    let mut report = Report::new(out, format);
    let check =
        Check { interrupt: Interrupt::install()?, progress: Progress::new(None, Unit::Items("chunks")) };
    let folder = match &node {
        Node::Array(array) => {
            check.array(array, &mut report)?;
            locate::directory(array)
        }
        Node::Group(group) => {
            check.group(group, arguments.repair, &mut report)?;
            locate::folder(group.store().name(), group.path())
        }
    };
    for leftover in leftovers(&folder) {
        let path = leftover.path.display();
        let removed = arguments.repair
            && leftover.is_abandoned()
            && leftover.remove().map_err(|error| anyhow!("{path}: cannot be removed: {error}"))?;
        report.leftover(&leftover, removed)?;
    }
    drop(check);
    report.finish()
}

/// What the checks of all arrays share.
struct Check {
    interrupt: Interrupt,
    progress: Progress,
}

impl Check {
    fn group(&self, group: &Group, repair: bool, report: &mut Report<'_>) -> anyhow::Result<()> {
        report.group();
        let stored = match group.walk_stored() {
            Ok(stored) => {
                consolidated(group, &stored, repair, report)?;
                stored
            }
            // What cannot be listed has only its consolidated metadata to say what there is.
            Err(error) if error.kind() == ErrorKind::Unsupported => group.walk()?,
            Err(error) => return Err(error.into()),
        };
        for (path, node) in &stored {
            self.interrupt.check()?;
            match node {
                Err(error) => report.unreadable(&format!("{}/{path}", group.name()), error)?,
                Ok(Node::Array(array)) => self.array(array, report)?,
                Ok(Node::Group(inner)) => {
                    report.group();
                    let prefix = format!("{path}/");
                    let below = stored.iter().filter_map(|(path, node)| {
                        Some((path.strip_prefix(&prefix)?.to_owned(), node.clone()))
                    });
                    consolidated(inner, &below.collect::<Vec<_>>(), repair, report)?;
                }
            }
        }
        Ok(())
    }

    fn array(&self, array: &Array, report: &mut Report<'_>) -> anyhow::Result<()> {
        let poll = || {
            self.progress.tick();
            self.interrupt.is_raised()
        };
        let counted = Cell::new(0);
        let progress = |done: &swath::Validated| {
            self.progress.advance(done.chunks - counted.replace(done.chunks));
            self.progress.say(format!("{} of {}", quantity::bytes(done.stored_bytes), array.name()));
        };
        let read = ReadOptions { interrupt: Some(&poll), ..ReadOptions::default() };
        let options = ValidateOptions { read, progress: Some(&progress) };
        // A terminal that is gone ends the command once the check has ended.
        let mut written = Ok(());
        let done = array.validate(&options, &mut |finding| {
            if written.is_ok() {
                written = report.finding(&finding);
            }
        });
        written?;
        match done {
            Ok(done) => report.array(&done),
            Err(error) if is_of_the_whole(&error) => return Err(error.into()),
            Err(error) => report.unreadable(&array.name(), &error)?,
        }
        Ok(())
    }
}

/// Whether the command was ended from outside, which is no finding.
fn is_of_the_whole(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::DeadlineExceeded)
}

/// Checks the consolidated metadata of one group, and writes it anew where that is asked for and loses nothing.
fn consolidated(
    group: &Group,
    stored: &[NamedNode],
    repair: bool,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    let check = group.check_consolidated(stored);
    let repaired = repair && check.is_rewritable && !check.findings.is_empty();
    if repaired {
        group.consolidate()?;
        report.repaired(&format!("{}: consolidated metadata written anew", group.name()))?;
    }
    for finding in &check.findings {
        if !repaired {
            report.finding(finding)?;
        }
    }
    Ok(())
}
