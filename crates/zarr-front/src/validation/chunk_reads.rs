//! Reading many chunks at once for nothing but the errors.

use crate::read::{ReadOptions, ReadPlan};
use crate::read_batch::{ReadBatch, Results};
use crate::variable::Contents;
use crate::{Error, ErrorKind};
use std::collections::BTreeMap;

/// Reads what a plan selects, and gives the error of each selection that cannot be read, by number.
///
/// # Errors
///
/// What ended the read as a whole.
pub(super) fn failed_selections(
    plan: &ReadPlan<'_>,
    options: &ReadOptions<'_>,
) -> Result<BTreeMap<usize, Error>, Error> {
    let array = plan.array();
    let engine = array.engine();
    let output = plan.owned_output()?;
    let results = match &array.inner.compiled.variable {
        Some(_) => {
            let contents = Contents::new(array.inner.metadata.fill_value().bytes());
            Results::with_contents(output, contents)
        }
        None => Results::new(output),
    };
    let batch = ReadBatch::new(array, &results, &engine)?;
    let run = engine.run(&batch, &options.run());
    drop(batch);
    run.map_err(|error| array.store().named(error.into()))?;
    let finished = results.finish();
    let (errors, output) =
        finished.ok_or_else(|| Error::new(ErrorKind::Internal, "a finished batch is in use"))?;
    if errors.is_empty() && output.unclaimed() != 0 {
        let message = format!("{} tiles of the results were never filled", output.unclaimed());
        return Err(Error::new(ErrorKind::Internal, message).with_object(&array.name()));
    }
    Ok(errors.into_iter().map(|(number, error)| (number, array.store().named(error))).collect())
}
