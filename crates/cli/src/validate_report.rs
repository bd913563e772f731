//! What `swath validate` prints.

use crate::leftovers::Leftover;
use crate::quantity::{bytes, plural};
use crate::read_report::Format;
use crate::verdict::Verdict;
use serde_json::{Value, json};
use std::io::Write;
use swath::{Error, Finding, Severity, Validated};

/// Findings that one line of JSON lists; more are only counted.
const LISTED_MAX: usize = 10_000;

/// Findings as they come, and what they come to.
pub(crate) struct Report<'o> {
    out: &'o mut dyn Write,
    format: Format,
    arrays: u64,
    groups: u64,
    done: Validated,
    damages: u64,
    notes: u64,
    repaired: Vec<String>,
    findings: Vec<Value>,
}

impl<'o> Report<'o> {
    /// Of nothing yet.
    pub(crate) fn new(out: &'o mut dyn Write, format: Format) -> Report<'o> {
        Report {
            out,
            format,
            arrays: 0,
            groups: 0,
            done: Validated::default(),
            damages: 0,
            notes: 0,
            repaired: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// A group was looked at.
    pub(crate) fn group(&mut self) {
        self.groups += 1;
    }

    /// An array was checked.
    pub(crate) fn array(&mut self, done: &Validated) {
        self.arrays += 1;
        self.done.objects += done.objects;
        self.done.chunks += done.chunks;
        self.done.stored_bytes += done.stored_bytes;
    }

    /// A node that could not be opened, or not be checked.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub(crate) fn unreadable(&mut self, name: &str, error: &Error) -> std::io::Result<()> {
        let object = error.object().unwrap_or(name).to_owned();
        let message = crate::tree::reason(error);
        self.finding(&Finding { severity: Severity::Damage, object, chunk: None, message })
    }

    /// Something that is wrong, or odd.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub(crate) fn finding(&mut self, finding: &Finding) -> std::io::Result<()> {
        let word = match finding.severity {
            Severity::Damage => {
                self.damages += 1;
                "damage"
            }
            Severity::Note => {
                self.notes += 1;
                "note"
            }
        };
        let Finding { object, chunk, message, .. } = finding;
        if self.format == Format::Text {
            let chunk = chunk.as_ref().map(|chunk| format!(" chunk {}", crate::quantity::shape(chunk)));
            return writeln!(self.out, "{word:<6}  {object}{}: {message}", chunk.unwrap_or_default());
        }
        if self.findings.len() < LISTED_MAX {
            let value = json!({"severity": word, "object": object, "chunk": chunk, "message": message});
            self.findings.push(value);
        }
        Ok(())
    }

    /// A file that a writer left, removed or not.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub(crate) fn leftover(&mut self, leftover: &Leftover, removed: bool) -> std::io::Result<()> {
        let (path, size) = (leftover.path.display().to_string(), bytes(leftover.bytes));
        if removed {
            return self.repaired(&format!("{path}: removed, {size} that a killed writer left"));
        }
        let message = match leftover.is_abandoned() {
            true => format!("{size} that a killed writer left: --repair removes them"),
            false => format!("{size} that somebody is writing, or a killed writer left less than a day ago"),
        };
        self.finding(&Finding { severity: Severity::Note, object: path, chunk: None, message })
    }

    /// Something that was wrong, and was repaired.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub(crate) fn repaired(&mut self, what: &str) -> std::io::Result<()> {
        if self.format == Format::Text {
            writeln!(self.out, "repair  {what}")?;
        }
        self.repaired.push(what.to_owned());
        Ok(())
    }

    /// Prints what all of it came to.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub(crate) fn finish(self) -> anyhow::Result<Verdict> {
        let Validated { objects, chunks, stored_bytes, .. } = self.done;
        if self.format == Format::Json {
            let listed = swath::ioengine::storage_len(self.findings.len());
            let value = json!({
                "groups": self.groups,
                "arrays": self.arrays,
                "objects": objects,
                "chunks": chunks,
                "stored_bytes": stored_bytes,
                "damages": self.damages,
                "notes": self.notes,
                "findings": self.findings,
                "findings_left_out": self.damages + self.notes - listed,
                "repaired": self.repaired,
            });
            writeln!(self.out, "{value}")?;
        } else {
            let found = match (self.damages, self.notes) {
                (0, 0) => "all sound".to_owned(),
                (0, notes) => format!("all sound, {}", plural(notes, "note")),
                (damages, 0) => plural(damages, "damage"),
                (damages, notes) => format!("{}, {}", plural(damages, "damage"), plural(notes, "note")),
            };
            let (arrays, chunks) = (plural(self.arrays, "array"), plural(chunks, "chunk"));
            let (objects, size) = (plural(objects, "object"), bytes(stored_bytes));
            writeln!(self.out, "{arrays}, {chunks} in {objects} of {size}: {found}")?;
        }
        Ok(Verdict::of(self.damages))
    }
}
