//! Files by their names: those that are not there are noted beside those that are.

use super::{ScanOptions, scan_all};
use crate::{Damage, DamageKind, Error, Found, Span};
use swath_ioengine::{Engine, ObjectRef, RunOptions};
use swath_zarr_front::ErrorKind;

/// A file that was to be opened: the file, or why it is not there.
pub type Opened = Result<ObjectRef, swath_zarr_front::Error>;

/// Opens each of several files by its name. One that is not there, or that its storage does not open, is noted; others are not
/// concerned.
///
/// # Errors
///
/// What is wrong with the arguments, such as a scheme that is not known.
pub fn open_each<S: AsRef<str>>(
    names: &[S],
    open: impl Fn(&str) -> Opened,
) -> Result<Vec<Opened>, swath_zarr_front::Error> {
    let there = |name: &S| match open(name.as_ref()) {
        Err(failed) if matches!(failed.kind(), ErrorKind::NotFound | ErrorKind::Io) => Ok(Err(failed)),
        opened => opened.map(Ok),
    };
    names.iter().map(there).collect()
}

/// What is found in each file: of one that is not there, that it is [`Unread`](DamageKind::Unread).
///
/// # Errors
///
/// As [`scan`](super::scan).
pub fn scan_each(
    engine: &Engine,
    files: &[Opened],
    options: &ScanOptions,
    run: &RunOptions<'_>,
) -> Result<Vec<Vec<Found>>, Error> {
    let readable: Vec<ObjectRef> = files.iter().flatten().cloned().collect();
    let mut found = scan_all(engine, &readable, options, run)?.into_iter();
    let of_file = |file: &Opened| match file {
        Ok(_) => found.next().unwrap_or_default(),
        Err(failed) => {
            let (span, message) = (Span { offset: 0, len: 0 }, failed.message().to_owned());
            vec![Found::Damage(Damage { span, kind: DamageKind::Unread, message })]
        }
    };
    Ok(files.iter().map(of_file).collect())
}
