//! Small fetches of one object that wait for a turn go together in one request, where the server sends several ranges at
//! once (RFC 9110 section 14.2): web servers, no object store.
//!
//! Nothing is held back for it: a fetch that gets a turn goes at once, and takes along what waits for the same object. What
//! goes wrong in a shared request is no error: those fetches go alone, with tries of their own.

mod byteranges;
#[cfg(test)]
mod tests;

use super::endpoint::Endpoint;
use super::failure::{Failure, TroubleKind};
use super::fetch::path_of;
use super::limiter::Turn;
use super::settings::CloudSettings;
use super::version::{if_match, tag_of};
use crate::engine::lock;
use crate::remote::Fetched;
use crate::{ByteRange, Identity, memory_len, storage_len};
use byteranges::{ByteRanges, content_range};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use http::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, RANGE};
use http::{Request, StatusCode};
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody, HttpResponse};
use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use url::Url;

/// Fetches that wait, by object.
#[derive(Debug)]
pub(super) struct Gather {
    client: HttpClient,
    root: Url,
    waiting: Mutex<HashMap<String, VecDeque<Want>>>,
    numbers: AtomicU64,
    /// The server was seen not to send several ranges.
    refused: AtomicBool,
}

/// Ranges of one request: with the longest numbers their header is below the 4 KiB that servers take at the least.
const RANGES_MAX: usize = 64;

/// Bytes of one request: more of them would rather travel side by side.
const BYTES_MAX: u64 = 1 << 20;

/// Longer ranges go alone.
const RANGE_BYTES_MAX: u64 = 128 << 10;

/// Bytes around a part: delimiter and headers.
const PART_OVERHEAD_BYTES: u64 = 4096;

/// How long the end of a body is waited for when all bytes are there.
const END_WAIT: Duration = Duration::from_millis(100);

/// A fetch that waits.
#[derive(Debug)]
struct Want {
    number: u64,
    offset: u64,
    len: u64,
    version: Option<Identity>,
    sender: oneshot::Sender<Fetched>,
}

/// A fetch in a request under way, and its bytes so far.
#[derive(Debug)]
struct Taken {
    want: Want,
    bytes: Vec<u8>,
}

/// What waiting for a turn came to.
#[derive(Debug)]
pub(super) enum Gathered {
    /// The bytes came in a shared request.
    Fetched(Fetched),
    /// Goes alone, with this turn if it has one.
    Alone(Option<Turn>),
}

/// Takes a fetch out of its queue when nobody waits for it any more.
struct InQueue<'a> {
    gather: &'a Gather,
    key: &'a str,
    number: u64,
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        drop(self.gather.take(self.key, self.number, 1));
    }
}

impl Gather {
    pub(super) fn new(client: HttpClient, root: Url) -> Gather {
        let (waiting, refused) = (Mutex::default(), AtomicBool::new(false));
        Gather { client, root, waiting, numbers: AtomicU64::new(0), refused }
    }

    /// The range, if it may go with others.
    pub(super) fn takes(&self, range: ByteRange) -> Option<(u64, u64)> {
        match range {
            ByteRange::Bounded { offset, len } if (1..=RANGE_BYTES_MAX).contains(&len) => {
                // A range whose end no number can name is an error that a request of its own finds.
                offset.checked_add(len)?;
                (!self.refused.load(Ordering::Relaxed)).then_some((offset, len))
            }
            _ => None,
        }
    }

    /// Waits for a turn, or for another's request to bring the bytes; with a turn, takes along what waits.
    pub(super) async fn fetch(
        &self,
        (endpoint, settings): (&Endpoint, &CloudSettings),
        key: &str,
        (offset, len): (u64, u64),
        version: Option<Identity>,
    ) -> Gathered {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (sender, mut receiver) = oneshot::channel();
        let want = Want { number, offset, len, version, sender };
        lock(&self.waiting).entry(key.to_owned()).or_default().push_back(want);
        let queued = InQueue { gather: self, key, number };
        let turn = match select(pin!(endpoint.turn()), &mut receiver).await {
            Either::Left((turn, _)) => turn,
            Either::Right((fetched, _)) => return of_shared(fetched),
        };
        let mut taken = self.take(key, number, RANGES_MAX);
        drop(queued);
        match taken.len() {
            // Another's request took this fetch along just now.
            0 => drop(turn),
            1 => return Gathered::Alone(Some(turn)),
            _ => {
                // In a place of its own: most fetches wait, and never come here.
                Box::pin(self.request(endpoint, settings, key, &mut taken)).await;
                // What was not brought is told so by its dropped sender.
                drop((turn, taken));
            }
        }
        of_shared(receiver.await)
    }

    /// Takes the fetch of this number out of its queue, and those along that want the same version; none where it is not
    /// there any more. Sorted by their offsets.
    fn take(&self, key: &str, number: u64, most: usize) -> Vec<Taken> {
        let mut waiting = lock(&self.waiting);
        let Some(queue) = waiting.get_mut(key) else { return Vec::new() };
        let Some(at) = queue.iter().position(|want| want.number == number) else { return Vec::new() };
        let Some(first) = queue.remove(at) else { return Vec::new() };
        let (mut bytes, mut taken, mut others) = (first.len, vec![first], VecDeque::new());
        while let Some(want) = queue.pop_front() {
            let fits =
                taken.len() < most && bytes + want.len <= BYTES_MAX && want.version == taken[0].version;
            if fits {
                bytes += want.len;
                taken.push(want);
            } else {
                others.push_back(want);
            }
            if most <= taken.len() {
                break;
            }
        }
        others.append(queue);
        if others.is_empty() {
            waiting.remove(key);
        } else {
            *queue = others;
        }
        drop(waiting);
        taken.sort_unstable_by_key(|want| want.offset);
        taken.into_iter().map(|want| Taken { want, bytes: Vec::new() }).collect()
    }

    /// Sends one request for all, and gives each its bytes as soon as they are there. What did not come stays in `taken`.
    async fn request(
        &self,
        endpoint: &Endpoint,
        settings: &CloudSettings,
        key: &str,
        taken: &mut Vec<Taken>,
    ) {
        let Some(request) = self.ranges_of(key, taken) else { return };
        let started = Instant::now();
        endpoint.count_request();
        let answer = timeout(settings.stall_timeout, self.client.execute(request)).await;
        let Ok(Ok(answer)) = answer else { return };
        let load = endpoint.answered(started);
        let Some((mut reader, identity)) = self.judge(endpoint, started, &answer, taken) else { return };
        let first_byte = Instant::now();
        let wanted: u64 = taken.iter().map(|taken| taken.want.len).sum();
        let most =
            memory_len(2 * wanted + PART_OVERHEAD_BYTES * storage_len(taken.len())).unwrap_or(usize::MAX);
        let mut came = 0;
        let mut body = answer.into_body().bytes_stream();
        loop {
            let is_over = taken.is_empty() || reader.is_done();
            let patience = if is_over { END_WAIT } else { settings.stall_timeout };
            let Ok(Some(Ok(bytes))) = timeout(patience, body.next()).await else { break };
            came += bytes.len();
            endpoint.count_bytes(bytes.len());
            let sound = reader.read(&bytes, |offset, bytes| {
                for taken in taken.iter_mut() {
                    taken.fill(offset, bytes);
                }
            });
            deliver(taken, identity.as_ref());
            if sound.is_err() || most < came {
                self.refused.store(true, Ordering::Relaxed);
                return;
            }
        }
        endpoint.completed(load, first_byte, came);
    }

    /// A reader of the answer's body and the version that it is of; none where it is of no use here.
    fn judge(
        &self,
        endpoint: &Endpoint,
        started: Instant,
        answer: &HttpResponse,
        taken: &[Taken],
    ) -> Option<(ByteRanges, Option<Identity>)> {
        match answer.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let failure = Failure::again(TroubleKind::Throttled, "the service asked for fewer requests");
                endpoint.note_failure(&failure, started);
                return None;
            }
            // The whole object, or an opinion on several ranges: asked one by one, the server may do better.
            StatusCode::OK | StatusCode::RANGE_NOT_SATISFIABLE | StatusCode::BAD_REQUEST => {
                self.refused.store(true, Ordering::Relaxed);
                return None;
            }
            _ => return None,
        }
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let encoded = header(CONTENT_ENCODING).is_some_and(|encoding| !matches!(encoding, "" | "identity"));
        let reader = header(CONTENT_TYPE).and_then(ByteRanges::of);
        // Servers may answer ranges that lie close by one that holds them all.
        let reader = reader.or_else(|| header(CONTENT_RANGE).and_then(content_range).map(ByteRanges::of_one));
        let version = header(ETAG).map(tag_of);
        let (Some(reader), Some(version), false) = (reader, version, encoded) else {
            self.refused.store(true, Ordering::Relaxed);
            return None;
        };
        // Another version than the one that is wanted: requests of their own find that out, each for itself.
        let fits = taken
            .first()
            .is_none_or(|first| first.want.version.as_ref().is_none_or(|wanted| *wanted == version));
        fits.then_some((reader, Some(version)))
    }

    fn ranges_of(&self, key: &str, taken: &[Taken]) -> Option<HttpRequest> {
        let path = path_of(key).ok()?;
        let mut url = self.root.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(path.parts());
        let mut ranges = String::from("bytes=");
        for taken in taken {
            let Want { offset, len, .. } = taken.want;
            if ranges.ends_with(|sign: char| sign.is_ascii_digit()) {
                ranges.push(',');
            }
            ranges.push_str(&format!("{offset}-{}", offset + len - 1));
        }
        let mut request = Request::get(url.as_str()).header(RANGE, ranges);
        if let Some(tag) = taken.first().and_then(|first| first.want.version.as_ref()).and_then(if_match) {
            request = request.header(IF_MATCH, tag);
        }
        request.body(HttpRequestBody::empty()).ok()
    }
}

impl Taken {
    /// Takes what it wants next of the object's bytes at `offset`.
    fn fill(&mut self, offset: u64, bytes: &[u8]) {
        let Want { offset: start, len, .. } = self.want;
        let next = start + storage_len(self.bytes.len());
        let Some(skip) = next.checked_sub(offset).and_then(|skip| memory_len(skip).ok()) else { return };
        let missing = memory_len(start + len - next).unwrap_or(0);
        if skip < bytes.len() && 0 < missing {
            if self.bytes.capacity() == 0 {
                self.bytes.reserve_exact(missing);
            }
            self.bytes.extend_from_slice(&bytes[skip..bytes.len().min(skip.saturating_add(missing))]);
        }
    }

    fn is_complete(&self) -> bool {
        storage_len(self.bytes.len()) == self.want.len
    }
}

/// Gives those that are complete their bytes.
fn deliver(taken: &mut Vec<Taken>, identity: Option<&Identity>) {
    for Taken { want, bytes } in taken.extract_if(.., |taken| taken.is_complete()) {
        // Nobody takes them where the fetch was cancelled.
        drop(want.sender.send(Fetched { bytes: bytes.into(), identity: identity.cloned() }));
    }
}

fn of_shared(fetched: Result<Fetched, oneshot::error::RecvError>) -> Gathered {
    fetched.map_or(Gathered::Alone(None), Gathered::Fetched)
}
