//! Executors that live as long as the reader; between passes each waits for the next.

use crate::read::Work;
use glommio::{LocalExecutorBuilder, Placement};
use protocol::{Failure, Refused};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// One executor a thread.
pub(crate) struct Executors {
    wake: Vec<Sender<()>>,
    done: Receiver<Result<(), String>>,
}

impl Executors {
    /// Starts `count` of them; refused where glommio gets no ring.
    pub(crate) fn start(work: &Arc<Work>, count: usize) -> Result<Executors, Failure> {
        let (tell, done) = channel();
        let mut wake = Vec::new();
        for lane in 0..count {
            let (sender, passes) = channel::<()>();
            let (work, tell) = (Arc::clone(work), tell.clone());
            let builder = LocalExecutorBuilder::new(Placement::Unbound).name("reader");
            let started = builder.spawn(move || async move {
                // Blocks the whole executor, which has nothing else to do between passes.
                while passes.recv().is_ok() {
                    let result = Work::run(&work, lane).await;
                    if tell.send(result.map_err(|error| error.to_string())).is_err() {
                        break;
                    }
                }
            });
            started.map_err(|error| Refused(format!("glommio starts no executor here: {error}")))?;
            wake.push(sender);
        }
        Ok(Executors { wake, done })
    }

    /// One pass of every executor.
    pub(crate) fn pass(&self) -> Result<(), Failure> {
        for wake in &self.wake {
            wake.send(())?;
        }
        let results: Vec<Result<(), String>> = self.done.iter().take(self.wake.len()).collect();
        if results.len() < self.wake.len() {
            return Err("an executor ended".into());
        }
        results.into_iter().try_for_each(|result| result.map_err(Failure::from))
    }
}
