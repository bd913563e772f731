//! Small fetches of one object that wait for a turn go together in one request, where the server sends several ranges at
//! once (RFC 9110 section 14.2): web servers, no object store.
//!
//! Nothing is held back for it: fetches that begin together are all known before the first of them goes, and one that gets a
//! turn takes along its share of what waits for the same object. Until a server is seen to send several ranges, one request at
//! a time asks for them.
//! Where the server asks for fewer requests or is not reached, a shared request is sent again as one, after a pause: as many
//! single ones would be the opposite of what it asks for. Other things that go wrong in a shared request are no error: those
//! fetches go alone, with tries of their own.

mod byteranges;
#[cfg(test)]
mod tests;

use super::attempt::END_WAIT;
use super::endpoint::Endpoint;
use super::failure::{Failure, Trouble, TroubleKind};
use super::fetch::path_of;
use super::heard::retry_after;
use super::limiter::Turn;
use super::retrying::Retrying;
use super::settings::CloudSettings;
use super::version::{if_match, tag_of};
use crate::engine::lock;
use crate::remote::Fetched;
use crate::{ByteRange, CostModel, Error, Identity, memory_len, storage_len};
use byteranges::{ByteRanges, content_range};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use http::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, RANGE};
use http::{Request, StatusCode};
use object_store::client::{HttpClient, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};
use url::Url;

/// Fetches that wait, by object.
#[derive(Debug)]
pub(super) struct Gather {
    client: HttpClient,
    root: Url,
    waiting: Mutex<HashMap<String, VecDeque<Want>>>,
    /// Of all objects.
    count: AtomicUsize,
    numbers: AtomicU64,
    /// The server was seen not to send several ranges.
    refused: AtomicBool,
    /// Answers in a row that were sound and brought less than was asked for.
    poor: AtomicU32,
    /// The server was seen to send several ranges.
    proven: AtomicBool,
    /// A request is under way that finds that out: servers that cannot send several ranges send whole objects.
    on_trial: AtomicBool,
}

/// Ranges of one request: with the longest numbers their header is below the 4 KiB that servers take at the least.
const RANGES_MAX: usize = 64;

/// Bytes of one request: more of them would rather travel side by side.
const BYTES_MAX: u64 = 1 << 20;

/// Longer ranges go alone.
const RANGE_BYTES_MAX: u64 = 128 << 10;

/// So many answers in a row that bring less than was asked for are taken for what the server always does.
const POOR_MAX: u32 = 3;

/// Times that a shared request is sent again because its answer broke off, before its fetches go alone.
const BROKEN_MAX: u32 = 1;

/// Bytes around a part: delimiter and headers.
const PART_OVERHEAD_BYTES: u64 = 4096;

/// Nanoseconds that one more range costs in a request that goes anyway: the bytes of its headers, and the time of a
/// processor. The latter is a guess at a tenth of what a request takes.
pub(super) fn range_cost_ns(costs: &CostModel) -> f64 {
    2_500.0 + 120.0 * costs.byte_cost_ns
}

/// A fetch that waits.
#[derive(Debug)]
struct Want {
    number: u64,
    offset: u64,
    len: u64,
    version: Option<Identity>,
    sender: oneshot::Sender<Gathered>,
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
    /// Goes alone, with this turn if it has one, until this deadline.
    Alone(Option<Turn>, Instant),
    /// The shared request was sent as often as it may be.
    Failed(Error),
}

/// Fetches of one shared request. Those that it did not bring are told to go alone when it is dropped.
struct Group {
    taken: Vec<Taken>,
    deadline: Instant,
}

impl Drop for Group {
    fn drop(&mut self) {
        let deadline = self.deadline;
        // Nobody takes it where the fetch was cancelled.
        self.taken.drain(..).for_each(|taken| drop(taken.want.sender.send(Gathered::Alone(None, deadline))));
    }
}

/// The one shared request that is under way while nothing is known of the server.
struct Trial<'a>(&'a Gather);

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.0.on_trial.store(false, Ordering::Relaxed);
    }
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
        Gather {
            client,
            root,
            waiting: Mutex::default(),
            count: AtomicUsize::new(0),
            numbers: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            poor: AtomicU32::new(0),
            proven: AtomicBool::new(false),
            on_trial: AtomicBool::new(false),
        }
    }

    /// False once the server was seen not to send several ranges.
    pub(super) fn is_in_use(&self) -> bool {
        !self.refused.load(Ordering::Relaxed)
    }

    /// How many fetches may go in one request now, and the trial that it is, if so. What waits is spread over the requests
    /// that can be under way at once: over more of them it would travel no faster.
    fn ranges_max(&self, endpoint: &Endpoint) -> (usize, Option<Trial<'_>>) {
        let alone = (1, None);
        if self.refused.load(Ordering::Relaxed) {
            return alone;
        }
        let share = self.count.load(Ordering::Relaxed).div_ceil(1 + endpoint.room()).clamp(1, RANGES_MAX);
        if self.proven.load(Ordering::Relaxed) {
            (share, None)
        } else if share == 1 || self.on_trial.swap(true, Ordering::Relaxed) {
            alone
        } else {
            (share, Some(Trial(self)))
        }
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
        self.wait(key, Want { number, offset, len, version, sender });
        let queued = InQueue { gather: self, key, number };
        // What begins together waits by then.
        yield_now().await;
        let turn = match select(&mut receiver, pin!(endpoint.turn())).await {
            Either::Left((shared, _)) => return shared.unwrap_or_else(|_| lost(settings)),
            Either::Right((turn, _)) => turn,
        };
        let (ranges_max, trial) = self.ranges_max(endpoint);
        let taken = self.take(key, number, ranges_max);
        drop(queued);
        let deadline = settings.deadline_from_now();
        match taken.len() {
            // Another's request took this fetch along just now.
            0 => drop(turn),
            1 => return Gathered::Alone(Some(turn), deadline),
            _ => {
                // In a place of its own: most fetches wait, and never come here.
                let group = Group { taken, deadline };
                Box::pin(self.shared((endpoint, settings), key, group, turn)).await;
            }
        }
        drop(trial);
        receiver.await.unwrap_or_else(|_| lost(settings))
    }

    fn wait(&self, key: &str, want: Want) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut waiting = lock(&self.waiting);
        match waiting.get_mut(key) {
            Some(queue) => queue.push_back(want),
            None => drop(waiting.insert(key.to_owned(), VecDeque::from([want]))),
        }
    }

    /// Sends one request for all, again where that helps, until all have their bytes or are to go alone.
    async fn shared(
        &self,
        (endpoint, settings): (&Endpoint, &CloudSettings),
        key: &str,
        mut group: Group,
        turn: Turn,
    ) {
        let mut retrying = Retrying::new(endpoint, settings, group.deadline);
        let (mut turn, mut broken) = (Some(turn), 0);
        loop {
            let held = match turn.take() {
                Some(turn) => turn,
                None => match retrying.within(endpoint.turn()).await {
                    Ok(turn) => turn,
                    Err(error) => return group.fail(&error),
                },
            };
            let request = self.request(endpoint, settings, key, &mut group.taken);
            let trouble = match retrying.within(request).await {
                Ok(Ok(())) | Ok(Err(Failure::Final(_))) => return,
                Ok(Err(Failure::Again(trouble))) => trouble,
                Err(late) => return group.fail(&late),
            };
            drop(held);
            if !matches!(trouble.kind, TroubleKind::Throttled | TroubleKind::NotSent) {
                broken += 1;
                if BROKEN_MAX < broken {
                    return;
                }
            }
            if let Err(error) = retrying.after(Failure::Again(trouble)).await {
                return group.fail(&error);
            }
            group.start_over();
            if group.taken.is_empty() {
                return;
            }
        }
    }

    /// Takes the fetch of this number out of its queue, and those along that want the same version; none where it is not
    /// there any more. Sorted by their offsets.
    fn take(&self, key: &str, number: u64, most: usize) -> Vec<Taken> {
        let mut waiting = lock(&self.waiting);
        let Some(queue) = waiting.get_mut(key) else { return Vec::new() };
        let Some(at) = queue.iter().position(|want| want.number == number) else { return Vec::new() };
        let Some(first) = queue.remove(at) else { return Vec::new() };
        let (mut bytes, mut taken, mut others) = (first.len, vec![first], VecDeque::new());
        while taken.len() < most
            && let Some(want) = queue.pop_front()
        {
            if bytes + want.len <= BYTES_MAX && want.version == taken[0].version {
                bytes += want.len;
                taken.push(want);
            } else {
                others.push_back(want);
            }
        }
        if !others.is_empty() {
            others.append(queue);
            *queue = others;
        }
        if queue.is_empty() {
            waiting.remove(key);
        }
        drop(waiting);
        self.count.fetch_sub(taken.len(), Ordering::Relaxed);
        taken.sort_unstable_by_key(|want| want.offset);
        taken.into_iter().map(|want| Taken { want, bytes: Vec::new() }).collect()
    }

    /// Sends one request for all, and gives each its bytes as soon as they are there. What did not come stays in `taken`.
    ///
    /// # Errors
    ///
    /// What broke; it may help to send the request again.
    async fn request(
        &self,
        endpoint: &Endpoint,
        settings: &CloudSettings,
        key: &str,
        taken: &mut Vec<Taken>,
    ) -> Result<(), Failure> {
        let Some(request) = self.ranges_of(key, taken) else { return Ok(()) };
        let started = Instant::now();
        endpoint.count_request();
        let answer = match timeout(settings.stall_timeout, self.client.execute(request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) if error.kind() == HttpErrorKind::Connect => {
                return Err(Failure::again(TroubleKind::NotSent, "no connection"));
            }
            Ok(Err(_)) => return Err(Failure::again(TroubleKind::Transient, "the connection broke")),
            Err(_) => return Err(Failure::again(TroubleKind::Transient, "no answer came in time")),
        };
        let judged =
            self.judge(&answer, taken).inspect_err(|failure| endpoint.note_failure(failure, started));
        let Some((mut reader, identity)) = judged? else { return Ok(()) };
        // Not before: what refusals take says nothing of what answers take.
        let load = endpoint.answered(started);
        let first_byte = Instant::now();
        let (wanted, spans): (u64, usize) =
            (taken.iter().map(|taken| taken.want.len).sum(), spans_of(taken).len());
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
                return Ok(());
            }
        }
        // No server has what lies past the end, and some leave out what reaches over it: that says nothing of this one.
        let lacks = |taken: &Taken| !reader.ends_before(taken.want.offset.saturating_add(taken.want.len));
        if !taken.is_empty() && !reader.is_done() {
            return Err(Failure::again(TroubleKind::Transient, "the body ended early"));
        }
        if taken.iter().any(lacks) {
            self.note_poor();
        } else {
            self.poor.store(0, Ordering::Relaxed);
            // Any server sends what turned out to be one range.
            if taken.is_empty() && 1 < spans {
                self.proven.store(true, Ordering::Relaxed);
            }
        }
        endpoint.completed(load, first_byte, came);
        Ok(())
    }

    /// A sound answer that brought not all: the server may not send several ranges.
    fn note_poor(&self) {
        if POOR_MAX <= self.poor.fetch_add(1, Ordering::Relaxed).saturating_add(1) {
            self.refused.store(true, Ordering::Relaxed);
        }
    }

    /// A reader of the answer's body and the version that it is of; none where it is of no use here.
    ///
    /// # Errors
    ///
    /// Where the server asks for fewer requests.
    fn judge(
        &self,
        answer: &HttpResponse,
        taken: &[Taken],
    ) -> Result<Option<(ByteRanges, Option<Identity>)>, Failure> {
        match answer.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                return Err(Failure::Again(Trouble {
                    kind: TroubleKind::Throttled,
                    cause: format!("the service answered {}", answer.status().as_u16()),
                    asked: retry_after(answer.headers()),
                }));
            }
            // As of one range: in a while, and not as many requests at once instead.
            status if status.is_server_error() => {
                return Err(Failure::Again(Trouble {
                    kind: TroubleKind::Transient,
                    cause: format!("the service answered {}", status.as_u16()),
                    asked: retry_after(answer.headers()),
                }));
            }
            // The whole object: this server does not know several ranges.
            StatusCode::OK => {
                self.refused.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            // An opinion on several ranges: asked one by one, the server may do better.
            StatusCode::BAD_REQUEST => {
                self.note_poor();
                return Ok(None);
            }
            // Ranges behind the object's end, among others.
            _ => return Ok(None),
        }
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let encoded = header(CONTENT_ENCODING).is_some_and(|encoding| !matches!(encoding, "" | "identity"));
        let reader = header(CONTENT_TYPE).and_then(ByteRanges::of);
        // Servers may answer ranges that lie close by one that holds them all.
        let reader = reader.or_else(|| header(CONTENT_RANGE).and_then(content_range).map(ByteRanges::of_one));
        let version = header(ETAG).map(tag_of);
        let (Some(reader), Some(version), false) = (reader, version, encoded) else {
            self.refused.store(true, Ordering::Relaxed);
            return Ok(None);
        };
        // Another version than the one that is wanted: requests of their own find that out, each for itself.
        let fits = taken
            .first()
            .is_none_or(|first| first.want.version.as_ref().is_none_or(|wanted| *wanted == version));
        Ok(fits.then_some((reader, Some(version))))
    }

    fn ranges_of(&self, key: &str, taken: &[Taken]) -> Option<HttpRequest> {
        let path = path_of(key).ok()?;
        let mut url = self.root.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(path.parts());
        let spans = spans_of(taken);
        let ranges: Vec<String> =
            spans.iter().map(|span| format!("{}-{}", span.start, span.end - 1)).collect();
        let mut request = Request::get(url.as_str()).header(RANGE, format!("bytes={}", ranges.join(",")));
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

impl Group {
    /// Tells all what their request failed with.
    fn fail(mut self, error: &Error) {
        self.taken.drain(..).for_each(|taken| drop(taken.want.sender.send(Gathered::Failed(error.clone()))));
    }

    /// Before another request: the bytes of two answers may be of two versions. Fetches that were cancelled are left out.
    fn start_over(&mut self) {
        self.taken.retain(|taken| !taken.want.sender.is_closed());
        self.taken.iter_mut().for_each(|taken| taken.bytes.clear());
    }
}

/// The ranges that hold all of what is wanted, by their offsets, with gaps between them: servers refuse ranges that overlap,
/// or send their bytes twice.
fn spans_of(taken: &[Taken]) -> Vec<Range<u64>> {
    let mut spans: Vec<Range<u64>> = Vec::new();
    for Taken { want: Want { offset, len, .. }, .. } in taken {
        let end = offset + len;
        match spans.last_mut() {
            Some(last) if *offset <= last.end => last.end = last.end.max(end),
            _ => spans.push(*offset..end),
        }
    }
    spans
}

/// Gives those that are complete their bytes.
fn deliver(taken: &mut Vec<Taken>, identity: Option<&Identity>) {
    for Taken { want, bytes } in taken.extract_if(.., |taken| taken.is_complete()) {
        // Nobody takes them where the fetch was cancelled.
        let fetched = Fetched { bytes: bytes.into(), identity: identity.cloned() };
        drop(want.sender.send(Gathered::Fetched(fetched)));
    }
}

/// What a fetch does that nobody tells anything: it goes alone.
fn lost(settings: &CloudSettings) -> Gathered {
    Gathered::Alone(None, settings.deadline_from_now())
}
