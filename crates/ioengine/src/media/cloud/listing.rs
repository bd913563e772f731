//! Names below a prefix.

use super::fetch::path_of;
use super::retrying::{Repeat, retried};
use super::service::Service;
use crate::medium::Entry;
use crate::{Error, ErrorKind};
use futures_util::FutureExt;
use object_store::ListResult;
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use std::time::Duration;
use tokio::time::timeout;

impl Service {
    /// What lies directly under `prefix`, sorted by name. Nothing where there is nothing: services know no directories.
    ///
    /// `object_store` brings the pages of a listing together by itself, so that the bound on names is checked only
    /// when all of them are there.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) where the service has no listings,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for more names than [`listed_max`](super::CloudSettings::listed_max).
    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        if !self.abilities.lists {
            let message =
                format!("wanted a listing, found a web server, which has none: {}", self.endpoint.name());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let path = path_of(prefix)?;
        let below = if path.is_root() { None } else { Some(&path) };
        // A page that stalls cannot be told from a listing of many pages: each try has twice the time of the one before.
        let mut time = self.settings.stall_timeout;
        let deadline = self.settings.deadline;
        let listed = retried(self, &self.settings, Repeat::Idempotent, deadline, || {
            let patience = time;
            time = time.saturating_mul(2);
            timeout(patience, self.store.list_with_delimiter(below))
                .map(move |listed| listed.unwrap_or_else(|_| Err(late(patience))))
        });
        let listed = listed.await?;
        let names = listed.objects.len() + listed.common_prefixes.len();
        if self.settings.listed_max < names {
            let message =
                format!("wanted a listing of at most {} names, found {names}", self.settings.listed_max);
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        }
        Ok(entries(&listed, &path))
    }
}

/// No listing came for so long. Another try may help.
fn late(patience: Duration) -> object_store::Error {
    let cause = std::io::Error::other(format!("no whole listing within {patience:?}"));
    let error = HttpError::new(HttpErrorKind::Timeout, cause);
    object_store::Error::Generic { store: "listing", source: Box::new(error) }
}

fn entries(listed: &ListResult, prefix: &Path) -> Vec<Entry> {
    let objects = listed.objects.iter().filter_map(|meta| {
        Some(Entry::Object { name: name_below(&meta.location, prefix)?, size: meta.size })
    });
    let prefixes = listed
        .common_prefixes
        .iter()
        .filter_map(|path| Some(Entry::Prefix { name: name_below(path, prefix)? }));
    let mut entries: Vec<Entry> = objects.chain(prefixes).collect();
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    entries
}

/// The name directly below the prefix; `None` for what lies elsewhere, such as an object that marks the prefix itself.
fn name_below(path: &Path, prefix: &Path) -> Option<String> {
    let rest = path.as_ref().strip_prefix(prefix.as_ref())?;
    let name = if prefix.is_root() { rest } else { rest.strip_prefix('/')? };
    (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
}
