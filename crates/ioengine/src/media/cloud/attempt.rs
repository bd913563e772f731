//! One request for bytes, and its answer.

use super::failure::{Failure, TroubleKind};
use super::heard::Heard;
use super::received::{Place, Received};
use super::service::Service;
use super::version::{if_match, version_of};
use crate::ErrorKind;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{Attribute, GetOptions, GetResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long the end of a body is waited for when all of its bytes are there.
pub(super) const END_WAIT: Duration = Duration::from_millis(100);

impl Service {
    /// Sends one request for what is missing, and takes what comes. `seen` is raised when an answer begins.
    pub(super) async fn attempt(
        &self,
        path: &Path,
        received: &mut Received,
        seen: &AtomicBool,
    ) -> Result<(), Failure> {
        received.start_over_unless_resumable();
        let heard = Heard::default();
        let mut options = GetOptions {
            range: received.wanted(),
            if_match: received.version.as_ref().and_then(if_match),
            ..GetOptions::default()
        };
        options.extensions.insert(heard.clone());
        let started = Instant::now();
        self.endpoint.count_request();
        let result = self.answer(path, options, &heard).await;
        seen.store(true, Ordering::Relaxed);
        let result = match result {
            Ok(result) => result,
            Err(failure) => {
                self.note_failure(&failure, started);
                if matches!(&failure, Failure::Again(trouble) if trouble.kind == TroubleKind::RangeIgnored) {
                    received.ask_whole();
                }
                return Err(failure);
            }
        };
        let load = self.endpoint.answered(started);
        self.refuse_encoded(&result)?;
        let place = received.begin(version_of(&result.meta), &result.range, result.meta.size)?;
        let first_byte = Instant::now();
        let bytes = self.body(result.into_stream(), place, received).await?;
        self.endpoint.completed(load, first_byte, bytes);
        Ok(())
    }

    /// The head of an answer, unless nothing comes.
    async fn answer(&self, path: &Path, options: GetOptions, heard: &Heard) -> Result<GetResult, Failure> {
        match timeout(self.settings.stall_timeout, self.reads().get_opts(path, options)).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(Failure::of(&error, heard)),
            Err(_) => Err(self.stalled("no answer came")),
        }
    }

    /// Takes a body. Returns how many bytes of it came.
    async fn body(
        &self,
        mut body: BoxStream<'static, object_store::Result<bytes::Bytes>>,
        mut place: Place,
        received: &mut Received,
    ) -> Result<usize, Failure> {
        let mut came = 0;
        // Waits for the end too, although all bytes may be there: a connection whose body was not read to its end cannot be
        // used again. What goes wrong behind the last byte does not matter any more.
        loop {
            let complete = received.is_complete();
            let patience = if complete { END_WAIT } else { self.settings.stall_timeout };
            let next = match timeout(patience, body.next()).await {
                Ok(next) => next,
                Err(_) if complete => return Ok(came),
                Err(_) => return Err(self.stalled("no byte of the answer came")),
            };
            match next {
                Some(Ok(bytes)) => {
                    came += bytes.len();
                    self.endpoint.count_bytes(bytes.len());
                    received.take(&mut place, &bytes)?;
                    // The rest of an object that was sent whole is not worth the time.
                    if received.is_complete() && place.is_far_from_end() {
                        return Ok(came);
                    }
                }
                None if complete => return Ok(came),
                None => return Err(Failure::again(TroubleKind::Transient, "the body ended early")),
                Some(Err(_)) if complete => return Ok(came),
                Some(Err(error)) => {
                    return Err(match Failure::of(&error, &Heard::default()) {
                        // A body can break in any way: what is there stays, and the rest is asked for.
                        Failure::Again(mut trouble) => {
                            trouble.kind = TroubleKind::Transient;
                            Failure::Again(trouble)
                        }
                        failure @ Failure::Final(_) => failure,
                    });
                }
            }
        }
    }

    fn stalled(&self, what: &str) -> Failure {
        Failure::again(TroubleKind::Transient, format!("{what} within {:?}", self.settings.stall_timeout))
    }

    /// Web servers that compress on the way send other bytes than the object has. Object stores give back the bytes that
    /// were put, whatever the header says.
    fn refuse_encoded(&self, result: &GetResult) -> Result<(), Failure> {
        if self.abilities.lists {
            return Ok(());
        }
        match result.attributes.get(&Attribute::ContentEncoding).map(AsRef::as_ref) {
            None | Some("" | "identity") => Ok(()),
            Some(encoding) => {
                let encoding: String = encoding.chars().take(40).collect();
                let message = format!("wanted the object as it is, found it encoded as {encoding:?}");
                Err(Failure::last(ErrorKind::Unsupported, message))
            }
        }
    }
}
