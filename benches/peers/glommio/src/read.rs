//! What an executor does in a pass.

use futures_lite::StreamExt as _;
use futures_util::stream::{self, StreamExt as _};
use glommio::GlommioError;
use glommio::io::{BufferedFile, DmaFile, MergedBufferLimit, ReadAmplificationLimit, ReadResult};
use protocol::{Failure, ItemSums, item_sum};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reads that an executor keeps in flight: the depth of its ring.
pub(crate) const DEPTH: usize = 128;

/// Ranges that an executor claims at once.
const RANGES_CLAIMED: usize = 1024;

/// How files are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Buffered,
    Dma,
}

/// What is read.
pub(crate) enum Wanted {
    Files(Vec<PathBuf>),
    Ranges { path: PathBuf, starts: Vec<u64>, len: usize },
}

/// What executors share of a pass.
pub(crate) struct Work {
    pub(crate) access: Access,
    pub(crate) wanted: Wanted,
    pub(crate) next: AtomicUsize,
    pub(crate) sums: ItemSums,
}

impl Work {
    /// Begins a pass.
    pub(crate) fn start(&self) {
        self.next.store(0, Ordering::Relaxed);
    }

    /// One executor's part of a pass.
    pub(crate) async fn run(work: &Arc<Work>, lane: usize) -> Result<(), Failure> {
        match &work.wanted {
            Wanted::Files(paths) => work.files(paths, lane as u64).await,
            Wanted::Ranges { path, starts, len } if work.access == Access::Buffered => {
                work.buffered(path, starts, *len, lane as u64).await
            }
            Wanted::Ranges { path, starts, len } => work.dma(path, starts, *len, lane as u64).await,
        }
    }

    fn claim(&self, count: usize, most: usize) -> Option<Range<usize>> {
        let start = self.next.fetch_add(most, Ordering::Relaxed);
        (start < count).then(|| start..count.min(start + most))
    }

    async fn files(&self, paths: &[PathBuf], near: u64) -> Result<(), Failure> {
        let read = async || -> Result<(), Failure> {
            while let Some(claimed) = self.claim(paths.len(), 1) {
                let index = claimed.start;
                let sum = match self.access {
                    Access::Buffered => buffered_file(&paths[index]).await,
                    Access::Dma => dma_file(&paths[index]).await,
                };
                self.sums.add(near, index as u64, sum.map_err(told)?);
            }
            Ok(())
        };
        let readers: Vec<_> = (0..DEPTH.min(paths.len())).map(|_| read()).collect();
        futures_util::future::try_join_all(readers).await.map(drop)
    }

    async fn buffered(&self, path: &Path, starts: &[u64], len: usize, near: u64) -> Result<(), Failure> {
        let file = Rc::new(BufferedFile::open(path).await.map_err(told)?);
        while let Some(claimed) = self.claim(starts.len(), RANGES_CLAIMED) {
            let reads = claimed.map(|index| {
                let file = Rc::clone(&file);
                async move { Ok::<_, Failure>((index, file.read_at(starts[index], len).await.map_err(told)?)) }
            });
            let mut reads = stream::iter(reads).buffer_unordered(DEPTH);
            while let Some(read) = futures_util::StreamExt::next(&mut reads).await {
                let (index, bytes) = read?;
                self.sum(near, index, &bytes, len)?;
            }
        }
        Ok(())
    }

    async fn dma(&self, path: &Path, starts: &[u64], len: usize, near: u64) -> Result<(), Failure> {
        let file = Rc::new(DmaFile::open(path).await.map_err(told)?);
        while let Some(claimed) = self.claim(starts.len(), RANGES_CLAIMED) {
            let wanted: Vec<(u64, usize)> = claimed.clone().map(|index| (starts[index], len)).collect();
            let reads = file.read_many(
                futures_lite::stream::iter(wanted),
                MergedBufferLimit::Custom(256 << 10),
                ReadAmplificationLimit::NoAmplification,
            );
            // Results come in the order of the ranges.
            let mut reads = reads.with_concurrency(DEPTH);
            for index in claimed {
                let (_, bytes) = reads.try_next().await.map_err(told)?.ok_or("fewer results than ranges")?;
                self.sum(near, index, &bytes, len)?;
            }
        }
        Ok(())
    }

    fn sum(&self, near: u64, index: usize, bytes: &ReadResult, len: usize) -> Result<(), Failure> {
        if bytes.len() != len {
            return Err(format!("wanted {len} bytes, found {}", bytes.len()).into());
        }
        self.sums.add(near, index as u64, item_sum(bytes));
        Ok(())
    }
}

async fn buffered_file(path: &Path) -> Result<u64, GlommioError<()>> {
    let file = BufferedFile::open(path).await?;
    let size = file.file_size().await? as usize;
    let sum = if size == 0 { 0 } else { item_sum(&file.read_at(0, size).await?) };
    file.close().await?;
    Ok(sum)
}

async fn dma_file(path: &Path) -> Result<u64, GlommioError<()>> {
    let file = DmaFile::open(path).await?;
    let size = file.file_size().await? as usize;
    let sum = if size == 0 { 0 } else { item_sum(&file.read_at(0, size).await?) };
    file.close().await?;
    Ok(sum)
}

/// glommio's errors cannot be shared between threads.
fn told(error: GlommioError<()>) -> Failure {
    error.to_string().into()
}
