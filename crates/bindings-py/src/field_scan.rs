//! What fields GRIB files have.

use crate::conversion_plan::damage;
use crate::errors::{raised, raised_about, raised_by_conversion};
use crate::interpreter::{Waited, check_running, interrupted, waited};
use crate::json;
use crate::logs::pass_on;
use crate::raw_ranges::objects_of;
use crate::remote::TextOptions;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use swath::convert::{
    Damage, FieldTable, Found, Opened, PlannedFile, ScanOptions, SideCars, Source, Unplanned, open_each,
    record, scan_each,
};
use swath::ioengine::{Engine, RunOptions};
use swath::{Error, Objects};

/// What a scan found in GRIB files: see `swath.convert.scan`.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct FieldScan {
    files: Vec<Scanned>,
}

/// One file, and what is in it.
struct Scanned {
    /// As the caller calls it.
    given: String,
    found: Vec<Found>,
    /// The version that was scanned; why there is none.
    version: Result<PlannedFile, Error>,
}

#[pymethods]
impl FieldScan {
    #[new]
    #[pyo3(signature = (files, options, provider = None, side_cars = true))]
    fn new(
        py: Python<'_>,
        files: Vec<String>,
        options: TextOptions,
        provider: Option<Py<PyAny>>,
        side_cars: bool,
    ) -> PyResult<FieldScan> {
        let objects = objects_of(py, options, provider)?;
        let side_cars = if side_cars { SideCars::Remote } else { SideCars::Ignored };
        let options = ScanOptions { side_cars, ..ScanOptions::default() };
        let waited = waited(py, |signalled| {
            let interrupt = || interrupted(signalled);
            let run = RunOptions { interrupt: Some(&interrupt), ..RunOptions::default() };
            scanned(&objects, files, &options, &run)
        });
        let Waited { done, signalled, section: _section } = waited?;
        let logged = pass_on(py);
        signalled.map_or(Ok(()), Err).and(logged)?;
        let files = done.or_else(|failed| {
            check_running(py)?;
            Err(raised(py, &failed))
        })?;
        Ok(FieldScan { files })
    }

    /// List a dict for each field and each damage, file by file.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let records = PyList::empty(py);
        for file in &self.files {
            for found in &file.found {
                records.append(json::to_python(py, &record(&file.given, found))?)?;
            }
        }
        Ok(records)
    }

    /// Give the same as a flat table: the bytes of a Parquet file.
    fn parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| -> Result<Vec<u8>, swath::convert::Error> {
            let mut table = FieldTable::new(Vec::new())?;
            for file in &self.files {
                file.found.iter().try_for_each(|found| table.push(&file.given, found))?;
            }
            table.finish()
        });
        Ok(PyBytes::new(py, &bytes.map_err(|failed| raised_by_conversion(py, &failed))?))
    }
}

/// What is planned of files: them, their fields, and what in them is no sound message.
pub(crate) type Fields = (Vec<PlannedFile>, Vec<Source>, Vec<(usize, Damage)>);

impl FieldScan {
    /// # Errors
    ///
    /// That of a file that is not there.
    pub(crate) fn fields(&self, py: Python<'_>) -> PyResult<Fields> {
        let version = |file: &Scanned| match &file.version {
            Ok(version) => Ok(version.clone()),
            Err(failed) => Err(raised_about(py, failed, &file.given)),
        };
        let files = self.files.iter().map(version).collect::<PyResult<Vec<_>>>()?;
        let (sources, damages) = Source::of(self.files.iter().map(|file| file.found.clone()).collect());
        Ok((files, sources, damages))
    }

    /// What the caller calls a file.
    fn name(&self, file: usize) -> &str {
        self.files.get(file).map_or("", |file| &file.given)
    }

    /// What the caller calls the files.
    pub(crate) fn names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.given.clone()).collect()
    }

    /// Lists a dict for each damage, and for each field that has no place in a plan.
    pub(crate) fn damages<'py>(
        &self,
        py: Python<'py>,
        damages: Vec<(usize, Damage)>,
        unplanned: &[Unplanned],
        sources: &[Source],
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (file, damage) in damages {
            list.append(json::to_python(py, &record(self.name(file), &Found::Damage(damage)))?)?;
        }
        for Unplanned { source, error } in unplanned {
            if let Some(source) = sources.get(*source) {
                let (file, span) = (self.name(source.file), source.field.message);
                list.append(damage(py, file, (span.offset, span.len), "unplanned", &error.to_string())?)?;
            }
        }
        Ok(list)
    }
}

fn scanned(
    objects: &Objects,
    names: Vec<String>,
    options: &ScanOptions,
    run: &RunOptions<'_>,
) -> Result<Vec<Scanned>, Error> {
    let opened = open_each(&names, |name| objects.open(&PlannedFile::name_of(name)))?;
    let version = |(name, object): (&String, &Opened)| match object {
        Ok(object) => Ok(PlannedFile::of(&PlannedFile::name_of(name), object)?),
        Err(failed) => Err(failed.clone()),
    };
    // Of before the scan: what changes meanwhile is found to have changed.
    let versions: Vec<Result<PlannedFile, Error>> = names.iter().zip(&opened).map(version).collect();
    let found = scan_each(&Engine::global(), &opened, options, run)?;
    let files = names.into_iter().zip(found).zip(versions);
    Ok(files.map(|((given, found), version)| Scanned { given, found, version }).collect())
}
