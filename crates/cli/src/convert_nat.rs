//! `swath convert FILES... TARGET` of .nat files: images of SEVIRI as one Zarr group.

use crate::convert_options::LayoutArguments;
use crate::convert_write::{
    Files, WriteArguments, new_target, store, target_and_journal, unchanged, write_plan,
};
use crate::interrupt::Interrupt;
use crate::place::Place;
use crate::progress::{Progress, Unit};
use crate::verdict::Verdict;
use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use swath::Store;
use swath::convert::nat::{
    Channel, CoefficientSet, Conversion, ConversionOptions, ConversionPlan, Header, Journal, LineFailure,
    Quantity, WriteOptions,
};
use swath::convert::{OnFailure, Piece};
use swath::ioengine::{Engine, storage_len};

/// The arguments that .nat files have of their own.
#[derive(clap::Args)]
pub(crate) struct NatArguments {
    /// Of .nat files: what pixels are written as. Counts if not given.
    #[arg(long, value_enum)]
    calibrate: Option<Calibrate>,
    /// Of .nat files that are calibrated: by which of their headers' coefficients. The nominal ones if not given.
    #[arg(long, value_enum)]
    coefficients: Option<Set>,
    /// Of .nat files: the channels to write, such as IR_108,HRV; all that there are by default.
    #[arg(long, value_delimiter = ',', value_parser = parse_channel)]
    channels: Vec<Channel>,
}

impl NatArguments {
    fn options(&self, layout: &LayoutArguments) -> anyhow::Result<ConversionOptions> {
        let quantity = self.calibrate.map_or(Quantity::Counts, Calibrate::quantity);
        let layout = layout.of_images(quantity)?;
        let coefficients = match (self.coefficients, quantity) {
            (Some(_), Quantity::Counts) => {
                bail!("--coefficients of counts, which are not calibrated: wanted --calibrate with it")
            }
            (Some(Set::Gsics), _) => CoefficientSet::Gsics,
            _ => CoefficientSet::Nominal,
        };
        Ok(ConversionOptions { quantity, coefficients, channels: self.channels.clone(), layout })
    }

    /// # Errors
    ///
    /// Where one of them is given, for files of another kind.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        let given = [
            ("--calibrate", self.calibrate.is_some()),
            ("--coefficients", self.coefficients.is_some()),
            ("--channels", !self.channels.is_empty()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => bail!("{name} is of .nat files, and found others: leave it out"),
            None => Ok(()),
        }
    }
}

/// What pixels are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Calibrate {
    /// Numbers of ten bits, as they are stored; 0 is no data.
    Counts,
    /// Radiances in mW m-2 sr-1 (cm-1)-1.
    Radiance,
    /// Reflectances in percent of the solar channels, brightness temperatures in K of the others.
    ReflectanceOrTemperature,
}

/// Coefficients of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Set {
    /// Those of the on-board calibration.
    Nominal,
    /// Those of GSICS, of channels that have them; nominal ones of others.
    Gsics,
}

impl Calibrate {
    fn quantity(self) -> Quantity {
        match self {
            Calibrate::Counts => Quantity::Counts,
            Calibrate::Radiance => Quantity::Radiance,
            Calibrate::ReflectanceOrTemperature => Quantity::ReflectanceOrTemperature,
        }
    }
}

/// Damaged lines of one file that are listed; others are counted.
const LINES_LISTED: usize = 8;

fn parse_channel(name: &str) -> Result<Channel, String> {
    let names = || Channel::ALL.map(Channel::name).join(", ");
    Channel::of_name(name).ok_or_else(|| format!("wanted one of {}", names()))
}

/// Files as one new group.
pub(crate) fn convert(
    arguments: &WriteArguments,
    files: Files,
    target: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let options = arguments.nat.options(&arguments.layout)?;
    let (files, headers, damages) = sound(arguments, files, interrupt, out)?;
    let conversion = Conversion::new(headers, &options)?;
    let plan = ConversionPlan::of(&conversion, &files.planned)?;
    if let Some(file) = &arguments.plan {
        if let Some(file) = file {
            write_plan(file, &plan.to_json()?)?;
        }
        writeln!(out, "{plan}")?;
        return Ok(Verdict::of(damages));
    }
    let (place, folder) = new_target(arguments, target)?;
    // Before the store: whatever is there of that then has a journal.
    let journal = folder.map(|folder| Journal::create(folder, &plan)).transpose()?;
    let store = store(&place)?;
    Job { arguments, conversion, files, piece: None, journal }.run(&store, interrupt, damages, out)
}

/// New files join a group that is there.
pub(crate) fn append(
    arguments: &WriteArguments,
    files: Files,
    target: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let (place, folder) = target_and_journal(arguments, target)?;
    let (journal, before) = Journal::open(folder.context("--append to a URL: wanted its --journal")?)?;
    if !before.is_finished(&journal.finished()?) {
        bail!("{}: not finished: --resume it first", target.display());
    }
    let (files, headers, damages) = sound(arguments, files, interrupt, out)?;
    let (plan, conversion) = before.extended(headers, &files.planned)?;
    let journal = Some(journal.extend(&plan)?);
    let store = store(&place)?;
    Job { arguments, conversion, files, piece: None, journal }.run(&store, interrupt, damages, out)
}

/// A conversion goes on.
pub(crate) fn resume(
    arguments: &WriteArguments,
    place: &Place,
    folder: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let (journal, plan) = Journal::open(folder)?;
    let (conversion, files, damages) = planned(arguments, &plan, interrupt, out)?;
    let job = Job { arguments, conversion, files, piece: None, journal: Some(journal) };
    job.run(&store(place)?, interrupt, damages, out)
}

/// A part of a plan.
pub(crate) fn write_piece(
    arguments: &WriteArguments,
    piece: Piece,
    plan: Value,
    target: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let plan = ConversionPlan::from_json(plan)?;
    let (conversion, files, damages) = planned(arguments, &plan, interrupt, out)?;
    let store = store(&Place::either(target, &arguments.url)?)?;
    let journal = arguments.journal.as_ref().map(|folder| Journal::shared(folder, &plan)).transpose()?;
    Job { arguments, conversion, files, piece: Some(piece), journal }.run(&store, interrupt, damages, out)
}

/// The files whose headers can be read, these, and the count of damages, which are printed.
fn sound(
    arguments: &WriteArguments,
    files: Files,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<(Files, Vec<Header>, u64)> {
    let (mut sound, mut headers, mut damages) = (Files::default(), Vec::new(), 0);
    let count = files.planned.len();
    let found = headers_of(&files, interrupt)?;
    for ((planned, object), found) in files.planned.into_iter().zip(files.objects).zip(found) {
        match found {
            Ok(header) => {
                damages += trailer(&header, &planned.name, out)?;
                headers.push(header);
                sound.planned.push(planned);
                sound.objects.push(object);
            }
            Err(error) => {
                writeln!(out, "not written: {}: {error}", planned.name)?;
                damages += 1;
            }
        }
    }
    if headers.is_empty() {
        return Err(anyhow!("none of {count} files can be read"));
    }
    if arguments.strict && damages != 0 {
        bail!("{damages} damages: nothing is written");
    }
    Ok((sound, headers, damages))
}

/// The headers of files, or why they cannot be read.
fn headers_of(
    files: &Files,
    interrupt: &Interrupt,
) -> anyhow::Result<Vec<Result<Header, swath::convert::Error>>> {
    let found = Header::read_all(&Engine::global(), &files.objects, &|| interrupt.is_raised());
    interrupt.check()?;
    Ok(found?)
}

/// Tells of a trailer that is not there, and counts it.
fn trailer(header: &Header, name: &str, out: &mut impl Write) -> std::io::Result<u64> {
    let Some(reason) = &header.trailer_error else { return Ok(0) };
    writeln!(out, "{name}: no trailer: {reason}")?;
    Ok(1)
}

/// The conversion of a plan's new files, which are as they were, and the count of damages, which are printed.
fn planned(
    arguments: &WriteArguments,
    plan: &ConversionPlan,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<(Conversion, Files, u64)> {
    let new = plan.files.get(plan.first_new_file..).unwrap_or_default();
    let files = unchanged(arguments, new.iter().map(|image| image.file.clone()).collect())?;
    let (mut headers, mut damages) = (Vec::new(), 0);
    for (planned, header) in files.planned.iter().zip(headers_of(&files, interrupt)?) {
        let header = header?;
        damages += trailer(&header, &planned.name, out)?;
        headers.push(header);
    }
    Ok((Conversion::of_plan(plan, headers)?, files, damages))
}

/// A conversion that is written.
struct Job<'a> {
    arguments: &'a WriteArguments,
    conversion: Conversion,
    files: Files,
    piece: Option<Piece>,
    journal: Option<Journal>,
}

impl Job<'_> {
    /// Writes, and tells what could not be written.
    fn run(
        &self,
        store: &Store,
        interrupt: &Interrupt,
        damages: u64,
        out: &mut impl Write,
    ) -> anyhow::Result<Verdict> {
        let Job { arguments, conversion, files, piece, journal } = self;
        let steps = conversion.steps(piece.unwrap_or(Piece::WHOLE));
        let progress = Mutex::new((Progress::new(Some(storage_len(steps)), Unit::Items("bands")), 0));
        let say = |done: usize| {
            let (progress, told) = &mut *progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.advance(storage_len(done.saturating_sub(*told)));
            *told = done.max(*told);
        };
        let poll = || interrupt.is_raised();
        let options = WriteOptions {
            progress: Some(&say),
            interrupt: Some(&poll),
            piece: *piece,
            journal: journal.as_ref(),
            on_failure: if arguments.strict { OnFailure::Stop } else { OnFailure::GoOn },
        };
        let written = conversion.write(&Engine::global(), &files.objects, store, &options);
        interrupt.check()?;
        let failures = written?;
        let names: Vec<&str> = files.planned.iter().map(|file| file.name.as_str()).collect();
        list(&failures, &names, out)?;
        let (images, lines) = (conversion.images(piece.unwrap_or(Piece::WHOLE)), storage_len(failures.len()));
        let variables = conversion.variables.len();
        writeln!(out, "{images} images in {variables} variables, {} damages", damages + lines)?;
        Ok(Verdict::of(damages + lines))
    }
}

/// Names the first damaged lines of each file, and counts the others.
fn list(failures: &[LineFailure], names: &[&str], out: &mut impl Write) -> std::io::Result<()> {
    for of_file in failures.chunk_by(|one, other| one.file == other.file) {
        let name = of_file.first().and_then(|failure| names.get(failure.file)).copied().unwrap_or("");
        for LineFailure { channel, row, damage, .. } in of_file.iter().take(LINES_LISTED) {
            writeln!(out, "not written: {name}: row {row} of {}: {damage}", channel.name())?;
        }
        if let Some(more) = of_file.len().checked_sub(LINES_LISTED + 1) {
            writeln!(out, "not written: {name}: {} more lines", more + 1)?;
        }
    }
    Ok(())
}
