//! Work that is done on a thread each.

use crate::{Error, ErrorKind};

/// Runs each piece of work, the first one on this thread and each other on one of its own of this name: what all came to, in their
/// order.
///
/// # Errors
///
/// The first piece's that failed; `Io` where the system has no thread for one.
pub(crate) fn on_a_thread_each<W: Send, T: Send>(
    name: &str,
    mut works: impl Iterator<Item = W>,
    run: impl Fn(W) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let Some(first) = works.next() else { return Ok(Vec::new()) };
    let run = &run;
    std::thread::scope(|scope| {
        let started: Vec<_> = works
            .map(|work| {
                let builder = std::thread::Builder::new().name(name.to_owned());
                builder.spawn_scoped(scope, move || run(work))
            })
            .collect();
        let mut done = vec![run(first)];
        for thread in started {
            done.push(match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(result)) => result,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(error) => Err(Error::new(ErrorKind::Io, format!("no thread for chunks: {error}"))),
            });
        }
        done.into_iter().collect()
    })
}
