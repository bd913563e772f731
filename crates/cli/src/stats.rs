//! `swath stats`: what the elements of an array are like, in one pass over it.

use crate::gather::{gather, gather_all};
use crate::grouping::{Grouping, Period};
use crate::interrupt::Interrupt;
use crate::locate;
use crate::mask_file::MaskFile;
use crate::missing::{FillIs, Missing};
use crate::place::{Place, UrlArguments};
use crate::progress::{Progress, Unit};
use crate::read_report::Format;
use crate::stats_report::Report;
use crate::summary::Summary;
use anyhow::bail;
use std::io::Write;
use std::path::PathBuf;
use swath::ioengine::storage_len;
use swath::{Array, ReadOptions, Region, RegionGrid};

/// The arguments of `swath stats`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The array: a directory, a URL, or a path below a group.
    path: PathBuf,
    /// Statistics for each place along this axis, by its name or number, instead of all together; may be given again.
    #[arg(long, value_name = "AXIS", allow_negative_numbers = true)]
    by: Vec<String>,
    /// Statistics for each period of the time coordinate that lies beside the array.
    #[arg(long, value_enum)]
    period: Option<Period>,
    /// Elements equal to the fill value are data, and not missing.
    #[arg(long)]
    fill_is_data: bool,
    /// At most so many bins in a histogram; their width is a power of two.
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(4..=4096))]
    bins: u16,
    /// Write a picture of the histogram, or of the means of the groups, to this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Make a Zarr array of booleans in this new directory: true where an element is missing.
    #[arg(long, value_name = "DIR")]
    mask_out: Option<PathBuf>,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    url: UrlArguments,
}

/// Bytes of elements that are read at once, unless a chunk has more; two such pieces are in memory.
const PIECE_BYTES: u64 = 64 << 20;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let place = Place::new(&arguments.path, &arguments.url)?;
    let array = locate::array(&place)?;
    if array.data_type().is_variable_length() {
        bail!("{}: statistics of {} are none that swath knows", array.name(), array.data_type());
    }
    let grouping = Grouping::new(&array, &place, &arguments.by, arguments.period)?;
    let fill_is = if arguments.fill_is_data { FillIs::Data } else { FillIs::Missing };
    let missing = Missing::of(&array, fill_is)?;
    let mask = arguments.mask_out.as_deref().map(|path| MaskFile::create(path, &array)).transpose()?;
    let format = if arguments.json { Format::Json } else { Format::Text };
    let pass = Pass { array: &array, missing: &missing, grouping: &grouping, mask };
    let summaries = pass.run(usize::from(arguments.bins))?;
    let report = Report { array: &array, missing: &missing, grouping: &grouping, summaries: &summaries };
    if let Some(path) = &arguments.svg {
        report.picture(path)?;
    }
    Ok(report.print(format, out)?)
}

/// One pass over an array.
struct Pass<'a> {
    array: &'a Array,
    missing: &'a Missing,
    grouping: &'a Grouping,
    mask: Option<MaskFile>,
}

impl Pass<'_> {
    /// A summary for each group.
    fn run(&self, bins_max: usize) -> anyhow::Result<Vec<Summary>> {
        let element = storage_len(self.array.data_type().size_bytes());
        let shape = self.array.shape();
        // A mask is written by whole objects, so that none of it is read again.
        let unit = match &self.mask {
            Some(_) => self.array.metadata().chunk_shape(),
            None => self.array.chunk_shape(),
        };
        let grid = RegionGrid::fitting(shape, unit, element, PIECE_BYTES)?;
        let empty = Summary::new(self.array.data_type(), bins_max);
        let mut summaries = vec![empty.clone(); self.grouping.len()];
        let interrupt = Interrupt::install()?;
        let progress = Progress::new(Some(self.array.nbytes().unwrap_or(u64::MAX)), Unit::Bytes);
        let poll = || {
            progress.tick();
            interrupt.is_raised()
        };
        let options = ReadOptions { interrupt: Some(&poll), ..ReadOptions::default() };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(16);
        let mut flags = Vec::new();
        let regions = (0..grid.len()).map(|number| grid.region(number));
        self.array.visit_regions(regions, &options, &mut |region: &Region, bytes: &[u8]| {
            match (summaries.as_mut_slice(), &self.mask) {
                ([only], None) => gather_all(only, &empty, self.missing, bytes, threads),
                (summaries, mask) => {
                    self.missing.flags(bytes, &mut flags);
                    gather(summaries, self.grouping, region, (bytes, &flags));
                    if let Some(mask) = mask {
                        mask.write(region, &flags)?;
                    }
                }
            }
            progress.advance(storage_len(bytes.len()));
            Ok::<(), anyhow::Error>(())
        })?;
        Ok(summaries)
    }
}
