//! A bucket, container or web server that this process is connected to.

use super::CloudSettings;
use super::concurrency::Bounds;
use super::credentials::Renewal;
use super::endpoint::Endpoint;
use super::failure::{Failure, TroubleKind};
use super::gather::Gather;
use super::provider::Abilities;
use super::transport::Transport;
use object_store::ObjectStore;
use std::sync::Arc;
use tokio::time::Instant;

/// Requests are made through this: a store, and what is known of it. Of the process that made it.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) store: Arc<dyn ObjectStore>,
    /// The same for bytes of objects and what is known of them, where requests for those take a way of their own.
    pub(super) reads: Option<Arc<dyn ObjectStore>>,
    pub(super) endpoint: Arc<Endpoint>,
    /// See [`RemoteSource::lasting_name`](crate::RemoteSource::lasting_name).
    pub(super) lasting_name: Option<Arc<str>>,
    pub(super) abilities: Abilities,
    pub(super) settings: CloudSettings,
    /// Where the service sends several ranges of an object at once.
    pub(super) gather: Option<Gather>,
    /// The connections, where they are ours.
    pub(super) transport: Option<Transport>,
    /// Where to ask for fresh credentials.
    pub(super) renewal: Renewal,
}

impl Service {
    /// What brings bytes of objects, and what is known of them.
    pub(super) fn reads(&self) -> &Arc<dyn ObjectStore> {
        self.reads.as_ref().unwrap_or(&self.store)
    }

    /// Learns from the failure of a request of `sent`: servers that ask for fewer requests get fewer, and credentials that ran
    /// out are renewed.
    pub(super) fn note_failure(&self, failure: &Failure, sent: Instant) {
        self.endpoint.note_failure(failure, sent);
        if matches!(failure, Failure::Again(trouble) if trouble.kind == TroubleKind::Expired) {
            self.renewal.ask(sent);
        }
    }
}

/// The bounds that settings ask for.
pub(super) fn bounds_of(settings: &CloudSettings) -> Bounds {
    Bounds {
        min: settings.concurrency_min,
        initial: settings.concurrency_initial,
        max: settings.concurrency_max,
    }
}
