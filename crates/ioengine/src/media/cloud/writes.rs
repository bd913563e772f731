//! Writing and removing objects.

use super::CloudSettings;
use super::backoff::Backoff;
use super::fetch::path_of;
use super::option_names::DURATION_MAX;
use super::retrying::{Repeat, retried};
use super::service::Service;
use super::version::{update_of, version_written};
use crate::{Error, ErrorKind, Identity, PutCondition};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{FuturesUnordered, once};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::retry::{RetryContext, RetryFailure, RetryPolicy};
use object_store::{MultipartUpload, PutMode, PutMultipartOptions, PutOptions, PutResult};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Objects of more bytes are written in parts, unless on a condition, which services check for whole objects only.
const WHOLE_BYTES_MAX: usize = 32 << 20;

/// Bytes of a part, unless that makes more than [`PARTS_MAX`]. S3 wants 5 MiB at least.
const PART_BYTES: usize = 8 << 20;

/// Parts that S3 takes of one object.
const PARTS_MAX: usize = 10_000;

/// Parts of one object under way at once.
const PARTS_AT_ONCE: usize = 8;

/// How long taking back the parts of a write that failed may take.
const ABORT_WAIT: Duration = Duration::from_secs(15);

/// Slowest link that a write is not given up on, in bytes a second.
const SLOWEST: u64 = 100_000;

impl Service {
    /// Writes an object. On a condition, a write whose answer got lost is not repeated: it may have been done.
    pub(super) async fn put(
        &self,
        key: &str,
        bytes: Bytes,
        condition: &PutCondition,
    ) -> Result<Option<Identity>, Error> {
        let path = path_of(key)?;
        let (mode, repeat) = match condition {
            PutCondition::Always => (PutMode::Overwrite, Repeat::Idempotent),
            _ if !self.abilities.conditional_puts => {
                let message = "wanted to write on a condition, which this service does not take";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            PutCondition::Absent => (PutMode::Create, Repeat::OnlyUndone),
            PutCondition::Matches(version) => (PutMode::Update(update_of(version)?), Repeat::OnlyUndone),
        };
        let time = self.patience(bytes.len());
        let in_parts = mode == PutMode::Overwrite && WHOLE_BYTES_MAX < bytes.len();
        let mut settings =
            CloudSettings { deadline: self.settings.deadline.max(time), ..self.settings.clone() };
        let written = if in_parts {
            // The deadline of the parts; what is left behind them is for taking them back.
            let until = OnceLock::new();
            let deadline = settings.deadline.min(DURATION_MAX);
            settings.deadline = deadline + ABORT_WAIT;
            retried(self, &settings, repeat, time + ABORT_WAIT, || {
                let until = *until.get_or_init(|| Instant::now() + deadline);
                self.put_parts(&path, &bytes, until.min(Instant::now() + time))
            })
            .await?
        } else {
            retried(self, &settings, repeat, time, || {
                let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
                self.store.put_opts(&path, bytes.clone().into(), options)
            })
            .await?
        };
        Ok(version_written(&written))
    }

    /// Removes an object; nothing happens where there is none.
    pub(super) async fn delete(&self, key: &str) -> Result<(), Error> {
        let path = path_of(key)?;
        let time = self.settings.stall_timeout;
        let removed = retried(self, &self.settings, Repeat::Idempotent, time, || async {
            let path = path.clone();
            let mut removed = self.store.delete_stream(once(async move { Ok(path) }).boxed());
            match removed.next().await {
                Some(Err(error)) => Err(error),
                Some(Ok(_)) | None => Ok(()),
            }
        });
        match removed.await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// How long writing so many bytes may take: no answer comes before the last of them.
    fn patience(&self, bytes: usize) -> Duration {
        self.settings.stall_timeout + Duration::from_secs(crate::storage_len(bytes) / SLOWEST)
    }

    /// Writes an object in parts, and takes them back where not all of it is done in time.
    async fn put_parts(&self, path: &Path, bytes: &Bytes, until: Instant) -> object_store::Result<PutResult> {
        let policy = Arc::new(PartRetries { settings: self.settings.clone(), seed: self.endpoint.seed() });
        let options = PutMultipartOptions::default().with_retry_policy(policy);
        let begun = timeout_at(until, self.store.put_multipart_opts(path, options)).await;
        let mut upload = begun.unwrap_or_else(|_| Err(late()))?;
        let written = timeout_at(until, self.send_parts(&mut *upload, bytes)).await;
        let written = written.unwrap_or_else(|_| Err(late()));
        if written.is_err() {
            // What was sent is not to be kept and paid for; where even that fails, the service's own rules clean up.
            drop(timeout(ABORT_WAIT, upload.abort()).await);
        }
        written
    }

    /// Sends parts, some at once, and makes an object of them. Parts that fail are sent again by themselves.
    async fn send_parts(
        &self,
        upload: &mut dyn MultipartUpload,
        bytes: &Bytes,
    ) -> object_store::Result<PutResult> {
        let part_bytes = PART_BYTES.max(bytes.len().div_ceil(PARTS_MAX));
        let mut under_way = FuturesUnordered::new();
        for start in (0..bytes.len()).step_by(part_bytes) {
            if PARTS_AT_ONCE <= under_way.len()
                && let Some(sent) = under_way.next().await
            {
                sent?;
            }
            let end = bytes.len().min(start.saturating_add(part_bytes));
            self.endpoint.count_request();
            under_way.push(upload.put_part(bytes.slice(start..end).into()));
        }
        while let Some(sent) = under_way.next().await {
            sent?;
        }
        upload.complete().await
    }
}

/// The time for a write in parts passed. Another try may help.
fn late() -> object_store::Error {
    let error = HttpError::new(HttpErrorKind::Timeout, std::io::Error::from(std::io::ErrorKind::TimedOut));
    object_store::Error::Generic { store: "parts", source: Box::new(error) }
}

/// Tries of single parts, with the pauses of all other requests.
#[derive(Debug)]
struct PartRetries {
    settings: CloudSettings,
    seed: u64,
}

#[async_trait]
impl RetryPolicy for PartRetries {
    async fn retry(&self, context: RetryContext) -> bool {
        let attempt = u32::try_from(context.attempt).unwrap_or(u32::MAX);
        let helps = match context.failure {
            RetryFailure::Status(status) => {
                status.is_server_error() || matches!(status.as_u16(), 200..300 | 408 | 429)
            }
            RetryFailure::Transport(_) => true,
            _ => false,
        };
        if !helps || self.settings.retries_max < attempt || self.settings.deadline <= context.elapsed {
            return false;
        }
        let CloudSettings { backoff_base, backoff_max, .. } = self.settings;
        let base = backoff_base.saturating_mul(1 << (attempt - 1).min(16));
        let mut backoff = Backoff::new(base, backoff_max, self.seed.wrapping_add(u64::from(attempt) << 32));
        tokio::time::sleep(backoff.next(None)).await;
        true
    }
}
