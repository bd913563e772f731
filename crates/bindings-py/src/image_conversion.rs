//! What a conversion of SEVIRI's images writes, and carrying it out.

use crate::conversion_plan::{ConversionPlan, Report, SourceOptions, document, job, piece_of};
use crate::conversion_run::{Done, Job, Left, SoFar, aside, listed};
use crate::errors::{Class, error, raised, raised_by_conversion};
use crate::interpreter::{Waited, check_running, waited};
use crate::logs::pass_on;
use crate::raw_ranges::objects_of;
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use swath::convert::nat::{
    Channel, CoefficientSet, Conversion, ConversionOptions, ConversionPlan as Images, Header, Journal,
    LineFailure, PixelLayout, Quantity, WriteOptions, are_nat_names, refuse_references,
};
use swath::convert::{DamageKind, Extents, OnFailure, Piece, PlannedFile, journal_document};
use swath::ioengine::{Engine, ObjectRef, storage_len};
use swath::{Error, ErrorKind, Objects};

/// What a conversion of SEVIRI's images writes: see `swath.convert.Plan`.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct ImagePlan {
    plan: Images,
}

#[pymethods]
impl ImagePlan {
    /// Put the images of files together; what of them cannot be read is named.
    #[staticmethod]
    #[pyo3(signature = (files, sources, calibrate, coefficients, channels, chunks, shards, codec))]
    #[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
    fn of<'py>(
        py: Python<'py>,
        files: Vec<String>,
        sources: SourceOptions,
        calibrate: &str,
        coefficients: &str,
        channels: Vec<String>,
        chunks: Option<Extents>,
        shards: Option<Extents>,
        codec: &str,
    ) -> PyResult<(ImagePlan, Bound<'py, PyList>)> {
        let quantity = quantity_of(py, calibrate)?;
        let coefficients = set_of(py, coefficients)?;
        let channels = channels.iter().map(|name| channel_of(py, name)).collect::<PyResult<_>>()?;
        let layout = PixelLayout { chunks, shards, ..PixelLayout::default() };
        let layout = encoded(py, layout, codec, quantity)?;
        let options = ConversionOptions { quantity, coefficients, channels, layout };
        let objects = objects_of(py, sources.0, sources.1)?;
        let waited = waited(py, |signalled| {
            aside(signalled, None, |so_far| {
                let Sound { files, headers, left, .. } = sound(&objects, &files, so_far)?;
                let conversion = Conversion::new(headers, &options)?;
                Ok::<_, Error>((Images::of(&conversion, &files)?, left))
            })
        });
        let Waited { done, signalled, section: _section } = waited?;
        let logged = pass_on(py);
        signalled.map_or(Ok(()), Err).and(logged)?;
        let (plan, left) = done.or_else(|failed| {
            check_running(py)?;
            Err(raised(py, &failed))
        })?;
        Ok((ImagePlan { plan }, listed(py, left)?))
    }

    /// Give the plan as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let value = self.plan.to_json().map_err(|failed| raised_by_conversion(py, &failed))?;
        Ok(value.to_string())
    }

    /// Say the plan in lines to read.
    fn text(&self) -> String {
        self.plan.to_string()
    }

    /// The paths and URLs of its files.
    #[getter]
    fn files(&self) -> Vec<&str> {
        self.plan.files.iter().map(|image| image.file.name.as_str()).collect()
    }

    /// The names of its variables.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.plan.variables().into_iter().map(|variable| variable.name).collect()
    }

    /// How many images it writes.
    #[getter]
    fn fields(&self) -> usize {
        self.plan.images(Piece::WHOLE)
    }

    /// How many images a piece writes, by its number of so many.
    #[pyo3(signature = (number, count))]
    fn fields_of(&self, py: Python<'_>, number: usize, count: usize) -> PyResult<usize> {
        Ok(self.plan.images(piece_of(py, number, count)?))
    }

    /// Write all of it to a new store, or one piece.
    #[pyo3(signature = (target, storage_options, sources, piece, journal, journal_beside, strict, progress))]
    #[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
    fn write<'py>(
        &self,
        py: Python<'py>,
        target: &Bound<'_, PyAny>,
        storage_options: Option<&Bound<'_, PyAny>>,
        sources: SourceOptions,
        piece: Option<(usize, usize)>,
        journal: Option<PathBuf>,
        journal_beside: bool,
        strict: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report<'py>> {
        let piece = piece.map(|(number, count)| piece_of(py, number, count)).transpose()?;
        let job = job(py, target, storage_options, sources, (journal, journal_beside), strict)?;
        job.run_by(py, progress, UNIT, |so_far| match piece {
            None => write_new(&job, &self.plan, so_far),
            Some(piece) => write_piece(&job, &self.plan, piece, so_far),
        })
    }
}

/// What progress counts.
const UNIT: &str = "bands";

/// Say whether files are images of SEVIRI, by their names: all of them, or none.
#[pyfunction]
#[pyo3(name = "_are_images", signature = (files))]
pub(crate) fn are_images(py: Python<'_>, files: Vec<String>) -> PyResult<bool> {
    are_nat_names(&files).map_err(|failed| raised_by_conversion(py, &failed))
}

/// Refuse to list images of SEVIRI as references, by their names.
#[pyfunction]
#[pyo3(name = "_refuse_images", signature = (files))]
pub(crate) fn refuse_images(py: Python<'_>, files: Vec<String>) -> PyResult<()> {
    refuse_references(&files).map_err(|failed| raised_by_conversion(py, &failed))
}

/// Make the plan that JSON says, of fields or of images.
#[pyfunction]
#[pyo3(name = "_plan_of_json", signature = (text))]
pub(crate) fn plan_of_json(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    let document = document(py, text)?;
    if !Images::is_one(&document) {
        return Ok(Py::new(py, ConversionPlan::of_document(py, document)?)?.into_any());
    }
    let plan = Images::from_json(document).map_err(|failed| raised_by_conversion(py, &failed))?;
    Ok(Py::new(py, ImagePlan { plan })?.into_any())
}

/// Add images to a store, behind those that it has.
#[pyfunction]
#[pyo3(name = "_append_images", signature = (files, target, storage_options, sources, journal, strict, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn append_images<'py>(
    py: Python<'py>,
    files: Vec<String>,
    target: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
    sources: SourceOptions,
    journal: Option<PathBuf>,
    strict: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report<'py>> {
    let job = job(py, target, storage_options, sources, (journal, true), strict)?;
    job.run_by(py, progress, UNIT, |so_far| append(&job, &files, so_far))
}

/// Whether the conversion that a job would go on with is one of images; false where it has no journal.
pub(crate) fn is_journal_of_images(job: &Job) -> bool {
    let folder = job.journal.as_deref();
    folder.and_then(|folder| journal_document(folder).ok()).is_some_and(|document| Images::is_one(&document))
}

/// Goes on with a conversion of images.
pub(crate) fn resume<'py>(
    py: Python<'py>,
    job: &Job,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report<'py>> {
    job.run_by(py, progress, UNIT, |so_far| {
        let (journal, plan) = Journal::open(job.known_journal()?)?;
        let run = planned(job, &plan, so_far)?;
        run.write(job, None, Some(&journal), so_far)
    })
}

fn write_new(job: &Job, plan: &Images, so_far: &SoFar) -> Result<Done, Error> {
    job.check_new()?;
    let run = planned(job, plan, so_far)?;
    let journal = job.journal.as_ref().map(|folder| Journal::create(folder, plan)).transpose()?;
    run.write(job, None, journal.as_ref(), so_far)
}

fn write_piece(job: &Job, plan: &Images, piece: Piece, so_far: &SoFar) -> Result<Done, Error> {
    let run = planned(job, plan, so_far)?;
    let journal = job.journal.as_ref().map(|folder| Journal::shared(folder, plan)).transpose()?;
    run.write(job, Some(piece), journal.as_ref(), so_far)
}

fn append(job: &Job, names: &[String], so_far: &SoFar) -> Result<Done, Error> {
    let (journal, before) = Journal::open(job.known_journal()?)?;
    if !before.is_finished(&journal.finished()?) {
        let message = "the conversion before is not finished: resume it first";
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let Sound { files, objects, headers, left } = sound(&job.objects, names, so_far)?;
    if let (Some(first), true) = (left.first(), job.is_strict) {
        let message = format!("{} at {}: {}: nothing is written", first.file, first.span.0, first.message);
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    let (plan, conversion) = before.extended(headers, &files)?;
    let journal = journal.extend(&plan)?;
    let names = files.into_iter().map(|file| file.name).collect();
    let mut done = Run { conversion, objects, names }.write(job, None, Some(&journal), so_far)?;
    done.left.splice(0..0, left);
    Ok(done)
}

/// A conversion that is to be written: its files, in the order of their headers.
struct Run {
    conversion: Conversion,
    objects: Vec<ObjectRef>,
    names: Vec<String>,
}

/// The conversion of a plan's new files, which are as they were.
fn planned(job: &Job, plan: &Images, so_far: &SoFar) -> Result<Run, Error> {
    let new = plan.files.get(plan.first_new_file..).unwrap_or_default();
    let files: Vec<PlannedFile> = new.iter().map(|image| image.file.clone()).collect();
    let objects =
        PlannedFile::unchanged(&files, |name| job.objects.open(name).map_err(swath::convert::Error::from))?;
    let headers = headers(&objects, so_far)?.into_iter().collect::<Result<_, _>>()?;
    let conversion = Conversion::of_plan(plan, headers)?;
    Ok(Run { conversion, objects, names: files.into_iter().map(|file| file.name).collect() })
}

impl Run {
    fn write(
        &self,
        job: &Job,
        piece: Option<Piece>,
        journal: Option<&Journal>,
        so_far: &SoFar,
    ) -> Result<Done, Error> {
        let part = piece.unwrap_or(Piece::WHOLE);
        let steps = self.conversion.steps(part);
        so_far.total.store(storage_len(steps), Ordering::Relaxed);
        let store = job.location.new_store()?;
        let progress = |count: usize| {
            so_far.done.fetch_max(storage_len(count), Ordering::Relaxed);
        };
        let interrupt = || so_far.is_over.load(Ordering::Relaxed);
        let options = WriteOptions {
            progress: Some(&progress),
            interrupt: Some(&interrupt),
            piece,
            journal,
            on_failure: if job.is_strict { OnFailure::Stop } else { OnFailure::GoOn },
        };
        let failures = self.conversion.write(&Engine::global(), &self.objects, &store, &options)?;
        let left = failures.into_iter().map(|failure| self.left(failure)).collect();
        let variables = self.conversion.variables.len();
        Ok(Done { fields: self.conversion.images(part), variables, left, steps })
    }

    /// A line that could not be written.
    fn left(&self, LineFailure { file, channel, row, damage }: LineFailure) -> Left {
        let message = format!("row {row} of {}: {}: {}", channel.name(), damage.kind.word(), damage.message);
        let file = self.names.get(file).cloned().unwrap_or_default();
        Left { file, span: (damage.span.offset, damage.span.len), kind: "unwritten", message }
    }
}

/// Files whose headers can be read, and what is wrong with others.
struct Sound {
    files: Vec<PlannedFile>,
    objects: Vec<ObjectRef>,
    headers: Vec<Header>,
    left: Vec<Left>,
}

/// Reads the headers of files.
///
/// # Errors
///
/// That of a file that is not there; `Unsupported` where there is none whose header can be read.
fn sound(objects: &Objects, names: &[String], so_far: &SoFar) -> Result<Sound, Error> {
    let names: Vec<String> = names.iter().map(|name| PlannedFile::name_of(name)).collect();
    let opened = names.iter().map(|name| objects.open(name)).collect::<Result<Vec<_>, _>>()?;
    // Of before the headers are read: what changes meanwhile is found to have changed.
    let planned = names.iter().zip(&opened).map(|(name, object)| PlannedFile::of(name, object));
    let planned = planned.collect::<Result<Vec<_>, _>>()?;
    let found = headers(&opened, so_far)?;
    let mut sound = Sound { files: Vec::new(), objects: Vec::new(), headers: Vec::new(), left: Vec::new() };
    for ((file, object), found) in planned.into_iter().zip(opened).zip(found) {
        match found {
            Ok(header) => {
                sound.left.extend(trailer(&header, &file));
                sound.files.push(file);
                sound.objects.push(object);
                sound.headers.push(header);
            }
            Err(failed) => sound.left.push(unread(file.name, &failed)),
        }
    }
    match sound.left.first() {
        Some(first) if sound.headers.is_empty() => {
            let message = format!("none of {} files can be read: {}", names.len(), first.message);
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        _ => Ok(sound),
    }
}

fn headers(
    objects: &[ObjectRef],
    so_far: &SoFar,
) -> Result<Vec<Result<Header, swath::convert::Error>>, swath::convert::Error> {
    Header::read_all(&Engine::global(), objects, &|| so_far.is_over.load(Ordering::Relaxed))
}

/// A file whose header cannot be read.
fn unread(file: String, failed: &swath::convert::Error) -> Left {
    let kind = match failed.kind() {
        swath::convert::ErrorKind::Corrupt => DamageKind::Corrupt,
        swath::convert::ErrorKind::Unsupported => DamageKind::Unsupported,
        _ => DamageKind::Unread,
    };
    Left { file, span: (0, 0), kind: kind.word(), message: failed.message().to_owned() }
}

/// A trailer that is not there, or makes no sense.
fn trailer(header: &Header, file: &PlannedFile) -> Option<Left> {
    let (reason, span) = (header.trailer_error.as_ref()?, header.trailer_span());
    let kind = if file.size < span.end() { DamageKind::Truncated } else { DamageKind::Corrupt };
    let message = format!("no trailer: {reason}");
    Some(Left { file: file.name.clone(), span: (span.offset, span.len), kind: kind.word(), message })
}

/// A layout with compressors by their words, or as metadata lists them.
fn encoded(py: Python<'_>, layout: PixelLayout, codec: &str, quantity: Quantity) -> PyResult<PixelLayout> {
    match serde_json::from_str(codec) {
        Ok(Value::Array(compressors)) => Ok(PixelLayout { codecs: Some(compressors), ..layout }),
        _ => layout.with_codec(codec, quantity).map_err(|failed| raised_by_conversion(py, &failed)),
    }
}

fn quantity_of(py: Python<'_>, name: &str) -> PyResult<Quantity> {
    match name {
        "counts" => Ok(Quantity::Counts),
        "radiance" => Ok(Quantity::Radiance),
        "reflectance-or-temperature" => Ok(Quantity::ReflectanceOrTemperature),
        _ => {
            let message = format!(
                "wanted calibrate \"counts\", \"radiance\" or \"reflectance-or-temperature\", found {name:?}"
            );
            Err(error(py, Class::Invalid, &message, ""))
        }
    }
}

fn set_of(py: Python<'_>, name: &str) -> PyResult<CoefficientSet> {
    match name {
        "nominal" => Ok(CoefficientSet::Nominal),
        "gsics" => Ok(CoefficientSet::Gsics),
        _ => {
            let message = format!("wanted coefficients \"nominal\" or \"gsics\", found {name:?}");
            Err(error(py, Class::Invalid, &message, ""))
        }
    }
}

fn channel_of(py: Python<'_>, name: &str) -> PyResult<Channel> {
    Channel::of_name(name).ok_or_else(|| {
        let names = Channel::ALL.map(Channel::name).join(", ");
        error(py, Class::Invalid, &format!("wanted channels of {names}, found {name:?}"), "")
    })
}
