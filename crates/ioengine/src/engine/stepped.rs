//! An engine whose lanes have no threads.

use super::{Engine, EngineConfig};
use crate::Error;
use crate::lane::SteppedLane;

impl Engine {
    /// An engine that starts no thread, and the lanes that it would have started. Batches are shown to the lanes by
    /// [`spawn`](Engine::spawn); nothing wakes a lane, so whoever steps them looks at [`SteppedLane::has_news`].
    pub(crate) fn stepped(config: EngineConfig) -> Result<(Engine, Vec<SteppedLane>), Error> {
        let engine = Engine::new(config);
        let shared = &engine.0.shared;
        shared.lanes.get_or_init(Vec::new);
        let lanes = (0..shared.config.limits.lanes).map(|_| SteppedLane::new(shared.clone()));
        let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
        Ok((engine, lanes))
    }

    /// What the lanes share.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> std::sync::Arc<super::Shared> {
        std::sync::Arc::clone(&self.0.shared)
    }

    /// Moves whenever a lane may have news.
    pub(crate) fn news_epoch(&self) -> u64 {
        let shared = &self.0.shared;
        shared.epoch.load(std::sync::atomic::Ordering::SeqCst) + shared.oversize.handed_on()
    }
}
