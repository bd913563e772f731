//! `swath convert FILES... TARGET`: the fields of GRIB files as Zarr groups.

use crate::convert::scanned;
use crate::convert_nat::{self, NatArguments};
use crate::convert_options::{LayoutArguments, PLANNED, journal_folder, parse_piece};
use crate::interrupt::Interrupt;
use crate::place::{Place, UrlArguments};
use crate::progress::{Progress, Unit};
use crate::verdict::Verdict;
use anyhow::{Context, bail};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use swath::Store;
use swath::convert::nat::{ConversionPlan, are_nat_names};
use swath::convert::{
    Damage, Failure, Joining, Journal, OnFailure, Piece, Plan, PlanOptions, PlannedFile, Source, Unplanned,
    WritePlanOptions, is_hdf5_name, journal_document,
};
use swath::ioengine::{Engine, ObjectRef, storage_len};

/// The arguments of a conversion.
#[derive(clap::Args)]
pub(crate) struct WriteArguments {
    /// GRIB files of edition 1 or 2, or .nat files of SEVIRI, paths or URLs, and last the Zarr group to be made: a new directory,
    /// or a URL. With --resume the target alone, with --piece a plan and the target.
    #[arg(required = true, num_args = 1.., value_names = ["FILES", "TARGET"])]
    paths: Vec<PathBuf>,
    /// Say what would be written, and write nothing; or write the plan to a file, for --piece.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) plan: Option<Option<PathBuf>>,
    /// Write one part of a plan, such as 3/8: parts may be written at the same time, on any machine.
    #[arg(long, value_name = "I/N", value_parser = parse_piece, conflicts_with_all = ["plan", "resume"], conflicts_with_all = PLANNED)]
    piece: Option<Piece>,
    /// Go on with a conversion that was interrupted: what its journal says is done is not done again.
    #[arg(long, conflicts_with = "plan", conflicts_with_all = PLANNED)]
    resume: bool,
    /// Add the fields of the files to a store that is there, behind what it has along one dimension.
    #[arg(long, conflicts_with_all = ["plan", "resume", "piece"], conflicts_with_all = PLANNED)]
    append: bool,
    /// The folder of the journal: beside a target that is a directory, if not given. A target behind a URL has none then.
    #[arg(long, value_name = "DIR")]
    pub(crate) journal: Option<PathBuf>,
    /// Stop where a message is damaged, rather than leave its values out.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) layout: LayoutArguments,
    #[command(flatten)]
    pub(crate) nat: NatArguments,
    #[command(flatten)]
    pub(crate) url: UrlArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &WriteArguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let (target, files) = arguments.paths.split_last().context("wanted files and a target")?;
    let interrupt = Interrupt::install()?;
    match (&arguments.piece, arguments.resume, files) {
        (Some(piece), _, [plan]) => write_piece(arguments, *piece, plan, target, &interrupt, out),
        (Some(_), ..) => bail!("--piece: wanted a plan and a target"),
        (None, true, []) => resume(arguments, target, &interrupt, out),
        (None, true, _) => bail!("--resume: wanted the target alone: its journal knows the files"),
        (None, false, []) => bail!("wanted files and a target"),
        (None, false, _) if arguments.append => append(arguments, files, target, &interrupt, out),
        (None, false, _) => convert(arguments, files, target, &interrupt, out),
    }
}

fn convert(
    arguments: &WriteArguments,
    files: &[PathBuf],
    target: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    if files.iter().any(|file| is_hdf5_name(file)) {
        bail!(
            "HDF5 and NetCDF files are copied, one by one: swath copy FILE TARGET --zarr-format 3 [--chunks --shards --codec]"
        );
    }
    if are_nat_names(files)? {
        let files = Files::open(&arguments.url, files)?;
        return convert_nat::convert(arguments, files, target, interrupt, out);
    }
    arguments.nat.refuse()?;
    let (plan, opened, damages) = planned(arguments, files, &arguments.layout.options()?, interrupt, out)?;
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
    let job = Job { arguments, plan: &plan, files: &opened, piece: None, journal: journal.as_ref() };
    job.run(&store, interrupt, damages, out)
}

/// What is to be written of some files, the files, and the count of damages, which are printed.
fn planned(
    arguments: &WriteArguments,
    files: &[PathBuf],
    options: &PlanOptions,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<(Plan, Vec<ObjectRef>, u64)> {
    let Files { planned: planned_files, objects: opened } = Files::open(&arguments.url, files)?;
    let (sources, found) = Source::of(scanned(opened.iter().cloned().map(Ok), interrupt)?);
    let mut damages = storage_len(found.len());
    print_damages(&found, files, out)?;
    let planned = Plan::of(planned_files, &sources, options)?;
    print_unplanned(&planned.unplanned, &sources, files, out)?;
    damages += storage_len(planned.unplanned.len());
    if arguments.strict && damages != 0 {
        bail!("{damages} damages: nothing is written");
    }
    Ok((planned.plan, opened, damages))
}

/// Tells what is wrong in files.
pub(crate) fn print_damages(
    found: &[(usize, Damage)],
    files: &[PathBuf],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    for (file, damage) in found {
        let name = files.get(*file).map(|file| file.display().to_string()).unwrap_or_default();
        writeln!(out, "{name}: {damage}")?;
    }
    Ok(())
}

/// Tells which fields have no place in a plan.
pub(crate) fn print_unplanned(
    unplanned: &[Unplanned],
    sources: &[Source],
    files: &[PathBuf],
    out: &mut impl Write,
) -> anyhow::Result<()> {
    for left in unplanned {
        let Some(source) = sources.get(left.source) else { continue };
        let name = files.get(source.file).map(|file| file.display().to_string()).unwrap_or_default();
        writeln!(out, "{name} at {}: {}", source.field.message.offset, left.error)?;
    }
    Ok(())
}

/// New files join a store that is there.
fn append(
    arguments: &WriteArguments,
    files: &[PathBuf],
    target: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    if are_nat_names(files)? {
        let files = Files::open(&arguments.url, files)?;
        return convert_nat::append(arguments, files, target, interrupt, out);
    }
    let (place, folder) = target_and_journal(arguments, target)?;
    let Some(joining) = Joining::open(folder.context("--append to a URL: wanted its --journal")?)? else {
        bail!("{}: not finished: --resume it first", target.display());
    };
    let options = joining.options(arguments.layout.options()?);
    let (newer, opened, damages) = planned(arguments, files, &options, interrupt, out)?;
    let (plan, journal) = joining.with(&newer)?;
    let store = store(&place)?;
    let all = plan.with_new_files(&opened);
    let job = Job { arguments, plan: &plan, files: &all, piece: None, journal: Some(&journal) };
    job.run(&store, interrupt, damages, out)
}

/// Where a store is to be made, which is not there yet, and the folder of its journal, if it may have one.
pub(crate) fn new_target(
    arguments: &WriteArguments,
    target: &Path,
) -> anyhow::Result<(Place, Option<PathBuf>)> {
    let (place, folder) = target_and_journal(arguments, target)?;
    match &place {
        Place::Directory(path) if path.exists() => bail!("{}: there is something already", path.display()),
        _ => Ok((place, folder)),
    }
}

/// Keeps a plan as a file, for `--piece`.
pub(crate) fn write_plan(file: &Path, plan: &Value) -> anyhow::Result<()> {
    std::fs::write(file, plan.to_string())
        .with_context(|| format!("{}: the plan cannot be written", file.display()))
}

/// Where a store is, and the folder of its journal, if it may have one.
pub(crate) fn target_and_journal(
    arguments: &WriteArguments,
    target: &Path,
) -> anyhow::Result<(Place, Option<PathBuf>)> {
    let place = Place::either(target, &arguments.url)?;
    let directory = if let Place::Directory(path) = &place { Some(path) } else { None };
    let folder = journal_folder(arguments.journal.as_ref(), directory);
    Ok((place, folder))
}

fn resume(
    arguments: &WriteArguments,
    target: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let (place, folder) = target_and_journal(arguments, target)?;
    let folder = folder.context("--resume of a target behind a URL: wanted its --journal")?;
    if ConversionPlan::is_one(&journal_document(&folder)?) {
        return convert_nat::resume(arguments, &place, &folder, interrupt, out);
    }
    let (journal, plan) = Journal::open(folder)?;
    let files = plan_files(arguments, &plan)?;
    let store = store(&place)?;
    let job = Job { arguments, plan: &plan, files: &files, piece: None, journal: Some(&journal) };
    job.run(&store, interrupt, 0, out)
}

fn write_piece(
    arguments: &WriteArguments,
    piece: Piece,
    plan: &Path,
    target: &Path,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let text = std::fs::read(plan).with_context(|| format!("{}: the plan cannot be read", plan.display()))?;
    let value: Value =
        serde_json::from_slice(&text).with_context(|| format!("{}: no JSON", plan.display()))?;
    if ConversionPlan::is_one(&value) {
        return convert_nat::write_piece(arguments, piece, value, target, interrupt, out);
    }
    let plan = Plan::from_json(value)?;
    let files = plan_files(arguments, &plan)?;
    let store = store(&Place::either(target, &arguments.url)?)?;
    let journal = match &arguments.journal {
        Some(folder) => Some(Journal::shared(folder, &plan)?),
        None => None,
    };
    let job = Job { arguments, plan: &plan, files: &files, piece: Some(piece), journal: journal.as_ref() };
    job.run(&store, interrupt, 0, out)
}

/// The files of a plan, as they were when it was made.
fn plan_files(arguments: &WriteArguments, plan: &Plan) -> anyhow::Result<Vec<ObjectRef>> {
    let objects = arguments.url.objects()?;
    Ok(plan.open_files(|name| objects.open(name).map_err(swath::convert::Error::from))?)
}

/// Opens files of a plan, which are to be as they were when it was made.
pub(crate) fn unchanged(arguments: &WriteArguments, planned: Vec<PlannedFile>) -> anyhow::Result<Files> {
    let objects = arguments.url.objects()?;
    let open = |name: &str| objects.open(name).map_err(swath::convert::Error::from);
    let objects = PlannedFile::unchanged(&planned, open)?;
    Ok(Files { planned, objects })
}

/// Files that are read: as plans name them, and opened.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) planned: Vec<PlannedFile>,
    pub(crate) objects: Vec<ObjectRef>,
}

impl Files {
    pub(crate) fn open(url: &UrlArguments, files: &[PathBuf]) -> anyhow::Result<Files> {
        let names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
        let objects = url.objects()?;
        let objects = names.iter().map(|name| objects.open(name)).collect::<Result<Vec<_>, _>>()?;
        let planned = names.iter().zip(&objects).map(|(name, object)| PlannedFile::of(name, object));
        Ok(Files { planned: planned.collect::<Result<_, _>>()?, objects })
    }
}

/// A file's name that holds in other folders too.
pub(crate) fn name_of(file: &Path) -> String {
    PlannedFile::name_of(&file.display().to_string())
}

/// The store of a target, a directory that is made where it is not there.
pub(crate) fn store(target: &Place) -> anyhow::Result<Store> {
    match target {
        Place::Directory(path) => Ok(Store::create_directory(path)?),
        Place::Url(url, options, _) => Ok(Store::open(url, options)?),
    }
}

/// A plan that is written.
struct Job<'a> {
    arguments: &'a WriteArguments,
    plan: &'a Plan,
    files: &'a [ObjectRef],
    piece: Option<Piece>,
    journal: Option<&'a Journal>,
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
        let fields = self.plan.fields_of(self.piece.unwrap_or(Piece::WHOLE));
        let failures = self.write(store, interrupt, fields)?;
        for Failure { place, message } in &failures {
            let name = self.plan.files.get(place.file).map_or("", |file| file.name.as_str());
            writeln!(out, "not written: {name} at {}: {message}", place.offset)?;
        }
        let failed = storage_len(failures.len());
        let written = storage_len(fields) - failed;
        let variables: usize = self.plan.groups.iter().map(|group| group.variables.len()).sum();
        writeln!(out, "{written} fields in {variables} variables, {} damages", damages + failed)?;
        Ok(Verdict::of(damages + failed))
    }

    fn write(&self, store: &Store, interrupt: &Interrupt, fields: usize) -> anyhow::Result<Vec<Failure>> {
        let progress = Mutex::new(Progress::new(Some(storage_len(fields)), Unit::Items("fields")));
        let say = |count: usize| {
            let progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.advance(storage_len(count));
        };
        let poll = || interrupt.is_raised();
        let options = WritePlanOptions {
            progress: Some(&say),
            interrupt: Some(&poll),
            piece: self.piece,
            journal: self.journal,
            on_failure: if self.arguments.strict { OnFailure::Stop } else { OnFailure::GoOn },
        };
        let written = self.plan.write(&Engine::global(), self.files, store, &options);
        interrupt.check()?;
        Ok(written?)
    }
}
