//! A call for fresh credentials, by whoever saw a service refuse the old ones.

use crate::engine::lock;
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

/// What those who use credentials tell those who keep them. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renewal(Arc<Mutex<Asked>>);

#[derive(Debug, Default)]
struct Asked {
    /// When the first credentials came. Requests that were sent before waited for them.
    first: Option<Instant>,
    /// Credentials of this time and before are not used again.
    refused: Option<Instant>,
}

impl Renewal {
    /// The service refused a request of `sent` because its credentials had run out, whatever they themselves say: those that
    /// were there then are not used again. Many requests that are refused together ask for one renewal.
    pub(crate) fn ask(&self, sent: Instant) {
        let mut asked = lock(&self.0);
        asked.refused = asked.refused.max(Some(sent)).max(asked.first);
    }

    /// True where credentials of `fetched` are not to be used again.
    pub(super) fn is_asked(&self, fetched: Instant) -> bool {
        lock(&self.0).refused.is_some_and(|refused| fetched <= refused)
    }

    /// Credentials came now.
    pub(super) fn note_fetched(&self) -> Instant {
        let now = Instant::now();
        lock(&self.0).first.get_or_insert(now);
        now
    }
}
