//! `swath read`: a selection's statistics, or its values in a `.npy` file.

use crate::interrupt::Interrupt;
use crate::npy_file::NpyFile;
use crate::pieces::{Cutting, PIECE_BYTES_MAX, for_each_piece};
use crate::place::{Place, UrlArguments};
use crate::progress::{Progress, Unit};
use crate::read_report::{Format, Report};
use crate::statistics::Statistics;
use crate::{locate, npy, pieces, quantity};
use anyhow::{Context, anyhow};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;
use swath::ioengine::{Control, memory_len, storage_len};
use swath::{Array, ReadOptions, ResolvedSelection, Selection};

/// The arguments of `swath read`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The array: a directory, a URL, or a path below a group.
    path: PathBuf,
    /// What to read, in NumPy's notation: '0:4, :, -128:, ::2'. Everything where it is left out.
    #[arg(
        default_value = "...",
        hide_default_value = true,
        allow_hyphen_values = true,
        value_parser = parse_selection
    )]
    selection: Selection,
    /// Write the values to this .npy file ('-' is standard output) instead of showing statistics.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    url: UrlArguments,
}

/// A word that begins as a flag does, but is none that `read` knows, is a slip and not a selection.
fn parse_selection(text: &str) -> Result<Selection, String> {
    let is_flag = |rest: &str| rest.starts_with(|c: char| c == '-' || c.is_alphabetic());
    if text.strip_prefix('-').is_some_and(is_flag) {
        return Err(format!("`swath read` has no flag {text}"));
    }
    text.parse::<Selection>().map_err(|error| error.message().to_owned())
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let array = locate::array(&Place::new(&arguments.path, &arguments.url)?)?;
    let resolved =
        array.resolve(&arguments.selection).map_err(|error| anyhow!("{}: {error}", array.name()))?;
    let shape = resolved.output_shape();
    let header = npy::header(array.data_type(), &shape);
    let format = if arguments.json { Format::Json } else { Format::Text };
    let report = Report { array: &array, selection: &arguments.selection, shape: &shape, format };
    let read = Read { array: &array, resolved: &resolved, interrupt: Interrupt::install()? };
    let started = Instant::now();
    match &arguments.output {
        None => {
            let mut statistics = Statistics::new(array.data_type(), array.fill_value().bytes());
            read.run(|bytes| {
                statistics.add(bytes);
                Ok(())
            })?;
            Ok(report.statistics(&statistics, out)?)
        }
        Some(target) if target.as_os_str() == "-" => {
            out.write_all(&header)?;
            read.run(|bytes| Ok(out.write_all(bytes)?))
        }
        Some(target) => {
            let mut file = NpyFile::create(target)?;
            file.write(&header)?;
            read.run(|bytes| file.write(bytes))?;
            file.finish()?;
            Ok(report.written(target, read.total_bytes(), started.elapsed(), out)?)
        }
    }
}

/// A selection of an array that is read piece by piece.
struct Read<'a> {
    array: &'a Array,
    resolved: &'a ResolvedSelection,
    interrupt: Interrupt,
}

impl Read<'_> {
    /// Bytes of the result; where 64 bits do not hold them, as many as they do.
    fn total_bytes(&self) -> u64 {
        self.resolved.element_count().unwrap_or(u64::MAX).saturating_mul(self.element_bytes())
    }

    fn element_bytes(&self) -> u64 {
        storage_len(self.array.data_type().size_bytes())
    }

    /// Hands the result to `visit`, in C order, in pieces of at most [`PIECE_BYTES_MAX`] bytes over one buffer.
    fn run(&self, mut visit: impl FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let progress = Progress::new(Some(self.total_bytes()), Unit::Bytes);
        let control = Control::new();
        let poll = || {
            let stored = quantity::bytes(control.progress().delivered_bytes);
            progress.say(format!("({stored} of chunks)"));
            progress.tick();
            self.interrupt.is_raised()
        };
        let options =
            ReadOptions { control: control.clone(), interrupt: Some(&poll), ..ReadOptions::default() };
        let cutting = Cutting {
            chunk_shape: self.array.chunk_shape(),
            element_bytes: self.element_bytes(),
            piece_bytes_max: PIECE_BYTES_MAX,
        };
        let mut buffer: Vec<u8> = Vec::new();
        for_each_piece(self.resolved, &cutting, &mut |piece, piece_bytes| {
            self.interrupt.check()?;
            let selection = pieces::selection(piece).context("the array has an axis longer than 2^63")?;
            let len = memory_len(piece_bytes)?;
            if buffer.len() < len {
                buffer.resize(len, 0);
            }
            self.array.read_many_into(&[selection], &mut buffer[..len], &options)?;
            visit(&buffer[..len])?;
            progress.advance(piece_bytes);
            Ok(())
        })
    }
}
