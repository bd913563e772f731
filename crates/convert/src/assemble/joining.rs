//! New files that join a store: from its journal to the plan that is carried out next.

use super::{Journal, Plan, PlanOptions};
use crate::Error;
use std::path::Path;

/// A store that new files may join: its journal, and the plan that is carried out.
#[derive(Debug)]
pub struct Joining {
    journal: Journal,
    before: Plan,
}

impl Joining {
    /// The store of a journal; `None` where the conversion before is not finished, which has to be gone on with first.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no journal; `Invalid` where it is no journal of a [`Plan`]; `Io` where it cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Option<Joining>, Error> {
        let (journal, before) = Journal::open(folder)?;
        let is_finished = before.is_finished(&journal.finished()?);
        Ok(is_finished.then_some(Joining { journal, before }))
    }

    /// How the new files are planned: with the dimensions of the store.
    #[must_use]
    pub fn options(&self, options: PlanOptions) -> PlanOptions {
        PlanOptions { kept_dimensions: self.before.dimension_names(), ..options }
    }

    /// The plan of all, and its journal, which from now on says that the new files are to be written.
    ///
    /// # Errors
    ///
    /// As [`Plan::extended`]; `Io` where the journal cannot be written.
    pub fn with(self, newer: &Plan) -> Result<(Plan, Journal), Error> {
        let plan = self.before.extended(newer)?;
        let journal = self.journal.extend(&plan)?;
        Ok((plan, journal))
    }
}
