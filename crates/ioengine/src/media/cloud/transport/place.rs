//! A connection's place among those that its server allows.

use crate::engine::lock;
use std::sync::Mutex;
use tokio::sync::OwnedSemaphorePermit;

/// Where a connection that is being closed keeps its place until it is closed. What opens connections and the
/// connection's stream share it; the place is free when both are gone.
#[derive(Debug, Default)]
pub(super) struct Place(Mutex<Option<OwnedSemaphorePermit>>);

impl Place {
    /// Keeps the place until the connection is closed.
    pub(super) fn keep(&self, permit: OwnedSemaphorePermit) {
        *lock(&self.0) = Some(permit);
    }
}
