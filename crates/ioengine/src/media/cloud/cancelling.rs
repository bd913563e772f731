//! Stopping fetches that nobody waits for any more.

use crate::engine::lock;
use crate::remote::CancelFlag;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// Looks at the flags of all fetches under way, in one task: a flag cannot wake anybody by itself. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cancelling(Arc<Mutex<Watched>>);

#[derive(Debug, Default)]
struct Watched {
    /// As many as there are fetches under way, and those that ended since the last look.
    fetches: Vec<(CancelFlag, Weak<Notify>)>,
    is_looking: bool,
}

/// Time between two looks. A look at 10,000 flags takes some ten microseconds.
const LOOKED_EVERY: Duration = Duration::from_millis(5);

impl Cancelling {
    /// Works until it is done, or the flag is raised: then the work is dropped where it stands.
    pub(super) async fn unless_raised<T>(
        &self,
        flag: &CancelFlag,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        if flag.is_raised() {
            return None;
        }
        let raised = Arc::new(Notify::new());
        self.watch(flag, &raised);
        tokio::select! {
            biased;
            done = work => Some(done),
            () = raised.notified() => None,
        }
    }

    fn watch(&self, flag: &CancelFlag, raised: &Arc<Notify>) {
        let mut watched = lock(&self.0);
        watched.fetches.push((flag.clone(), Arc::downgrade(raised)));
        if !std::mem::replace(&mut watched.is_looking, true) {
            tokio::spawn(look(Arc::clone(&self.0)));
        }
    }
}

async fn look(watched: Arc<Mutex<Watched>>) {
    loop {
        sleep(LOOKED_EVERY).await;
        let mut watched = lock(&watched);
        watched.fetches.retain(|(flag, raised)| match raised.upgrade() {
            Some(raised) if flag.is_raised() => {
                raised.notify_one();
                false
            }
            Some(_) => true,
            None => false,
        });
        if watched.fetches.is_empty() {
            watched.is_looking = false;
            watched.fetches.shrink_to(1024);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn raised_flags_end_what_waits_and_nothing_else() {
        let cancelling = Cancelling::default();
        let (flag, other) = (CancelFlag::default(), CancelFlag::default());
        let start = Instant::now();
        let waits = cancelling.unless_raised(&flag, sleep(Duration::from_secs(3600)));
        let ends = cancelling.unless_raised(&other, async {
            sleep(Duration::from_secs(1)).await;
            flag.raise();
            sleep(Duration::from_secs(1)).await;
        });
        let (waits, ends) = tokio::join!(waits, ends);
        assert_eq!((waits, ends), (None, Some(())));
        assert!(start.elapsed() < Duration::from_secs(3));
        assert_eq!(cancelling.unless_raised(&flag, async {}).await, None);
        sleep(LOOKED_EVERY * 2).await;
        assert!(lock(&cancelling.0).fetches.is_empty() && !lock(&cancelling.0).is_looking);
    }
}
