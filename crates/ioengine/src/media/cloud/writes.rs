//! Writing and removing objects.

use super::CloudSettings;
use super::backoff::Backoff;
use super::fetch::path_of;
use super::retrying::{Repeat, retried};
use super::service::Service;
use super::version::{update_of, version_written};
use crate::{Error, ErrorKind, Identity, PutCondition};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{FuturesUnordered, once};
use object_store::path::Path;
use object_store::retry::{RetryContext, RetryFailure, RetryPolicy};
use object_store::{PutMode, PutMultipartOptions, PutOptions, PutResult};
use std::sync::Arc;
use std::time::Duration;

/// Objects of more bytes are written in parts, unless on a condition, which services check for whole objects only.
const WHOLE_BYTES_MAX: usize = 32 << 20;

/// Bytes of a part, unless that makes more than [`PARTS_MAX`]. S3 wants 5 MiB at least.
const PART_BYTES: usize = 8 << 20;

/// Parts that S3 takes of one object.
const PARTS_MAX: usize = 10_000;

/// Parts of one object under way at once.
const PARTS_AT_ONCE: usize = 8;

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
        let written = if in_parts {
            let settings =
                CloudSettings { deadline: self.settings.deadline.max(time), ..self.settings.clone() };
            retried(self, &settings, repeat, time, || self.put_parts(&path, &bytes)).await?
        } else {
            retried(self, &self.settings, repeat, time, || {
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

    /// Writes an object in parts, some at once. Parts that fail are sent again by themselves.
    async fn put_parts(&self, path: &Path, bytes: &Bytes) -> object_store::Result<PutResult> {
        let policy = Arc::new(PartRetries { settings: self.settings.clone(), seed: self.endpoint.seed() });
        let options = PutMultipartOptions::default().with_retry_policy(policy);
        let mut upload = self.store.put_multipart_opts(path, options).await?;
        let part_bytes = PART_BYTES.max(bytes.len().div_ceil(PARTS_MAX));
        let mut under_way = FuturesUnordered::new();
        let mut failed = None;
        for start in (0..bytes.len()).step_by(part_bytes) {
            if PARTS_AT_ONCE <= under_way.len()
                && let Some(Err(error)) = under_way.next().await
            {
                failed = Some(error);
                break;
            }
            let end = bytes.len().min(start.saturating_add(part_bytes));
            self.endpoint.count_request();
            under_way.push(upload.put_part(bytes.slice(start..end).into()));
        }
        while let (None, Some(result)) = (&failed, under_way.next().await) {
            failed = result.err();
        }
        drop(under_way);
        let error = match failed {
            Some(error) => error,
            None => match upload.complete().await {
                Ok(written) => return Ok(written),
                Err(error) => error,
            },
        };
        // What was sent is not to be kept and paid for; where even that fails, the service's own rules clean up.
        drop(upload.abort().await);
        Err(error)
    }
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
