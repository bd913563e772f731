//! One server: its connections, and which HTTP they speak.

use super::HttpVersion;
use super::body::{AnswerBody, Incoming};
use super::connect::{Dialed, Dialer, Offer};
use super::failure::Failure;
use super::http1::{Connection, Seen, Unanswered};
use super::http2::{StreamLease, Streams, was_refused};
use super::origin_name::OriginName;
use super::pool::{Lease, Pool, Vacancy};
use super::request::{for_http2, may_repeat};
use super::trial::{Landing, Protocol, Trial, Turn};
use crate::engine::lock;
use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use http::Response;
use object_store::client::HttpRequest;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Connections that may close before a request got onto one.
const CONNECT_ATTEMPTS: usize = 3;

/// Times that a request of HTTP/2 is sent again, because no server looked at it or its connection was closed meanwhile.
const REPEATS_MAX: usize = 3;

/// A connection in the making, and the same for several requests to wait for.
type Connecting = BoxFuture<'static, Result<(), Failure>>;

/// One server: its connections, and which HTTP they speak.
pub(super) struct Origin {
    name: Arc<OriginName>,
    dialer: Dialer,
    version: HttpVersion,
    choice: Mutex<Choice>,
    http1: Arc<Pool>,
    http2: Arc<Streams>,
    /// The first connection, while it is being made.
    connecting: Mutex<Option<WeakShared<Connecting>>>,
}

/// Which HTTP requests go by.
enum Choice {
    /// Not known before the server was asked.
    Open,
    Trial(Trial),
    Settled(Protocol),
}

/// A request that is part of a trial, until its body ended or was dropped.
pub(super) struct Flight {
    origin: Arc<Origin>,
    turn: Option<Turn>,
}

/// The head of an answer, and what its body comes in on.
type Answer = Response<Incoming>;

impl Origin {
    pub(super) fn new(
        dialer: Dialer,
        version: HttpVersion,
        connections_max: usize,
        idle_timeout: Duration,
    ) -> Origin {
        let choice = match version {
            HttpVersion::Http1 => Choice::Settled(Protocol::Http1),
            HttpVersion::Auto if !dialer.origin.is_secure() => Choice::Settled(Protocol::Http1),
            HttpVersion::Auto | HttpVersion::Http2 => Choice::Open,
        };
        Origin {
            name: Arc::new(dialer.origin.clone()),
            dialer,
            version,
            choice: Mutex::new(choice),
            http1: Arc::new(Pool::new(connections_max, idle_timeout)),
            http2: Arc::new(Streams::new(connections_max, idle_timeout)),
            connecting: Mutex::default(),
        }
    }

    /// Sends a request and waits for the head of its answer. A request that a kept connection swallowed, because the server
    /// had closed it meanwhile, is sent once more on another.
    ///
    /// # Errors
    ///
    /// What kept the answer away.
    pub(super) async fn send(
        self: &Arc<Self>,
        request: &HttpRequest,
    ) -> Result<Response<AnswerBody>, Failure> {
        let (protocol, flight) = self.protocol().await?;
        let answer = match protocol {
            Protocol::Http1 => self.send_http1(request).await,
            Protocol::Http2 => Box::pin(self.send_http2(request)).await,
        };
        match answer {
            Ok(head) => {
                // A server that says no says it fast, by whatever protocol.
                let flight = flight.filter(|_| head.status().is_success());
                Ok(head.map(|incoming| AnswerBody::new(incoming, flight, &self.name)))
            }
            Err(failure) => {
                if let Some(flight) = flight {
                    flight.land(Landing::Broken);
                }
                Err(failure)
            }
        }
    }

    /// HTTP/1.1 connections that are fewer than these; none where the server may be asked by HTTP/2.
    pub(super) fn lacking(&self, connections: usize) -> usize {
        match &*lock(&self.choice) {
            Choice::Settled(Protocol::Http1) => self.http1.lacking(connections),
            Choice::Settled(Protocol::Http2) | Choice::Open | Choice::Trial(_) => 0,
        }
    }

    /// Opens as many connections as are fewer than these, for requests to come.
    pub(super) fn prepare(self: &Arc<Self>, connections: usize) {
        for _ in 0..self.lacking(connections) {
            let Some(vacancy) = self.http1.vacancy_now() else { return };
            let origin = Arc::clone(self);
            tokio::spawn(async move {
                match origin.open_http1().await {
                    Ok(connection) => vacancy.fill(connection).give_back(),
                    Err(failure) => tracing::debug!(origin = %origin.name, %failure, "no connection ahead"),
                }
            });
        }
    }

    /// True when nothing is lost by forgetting the server.
    pub(super) fn is_unused(&self) -> bool {
        self.http1.is_empty() && self.http2.is_empty()
    }

    async fn protocol(self: &Arc<Self>) -> Result<(Protocol, Option<Flight>), Failure> {
        for _ in 0..CONNECT_ATTEMPTS {
            if let Some(chosen) = self.chosen() {
                return Ok(chosen);
            }
            self.connect_first().await?;
        }
        Ok((Protocol::Http1, None))
    }

    fn chosen(self: &Arc<Self>) -> Option<(Protocol, Option<Flight>)> {
        match &mut *lock(&self.choice) {
            Choice::Open => None,
            Choice::Settled(protocol) => Some((*protocol, None)),
            Choice::Trial(trial) => {
                let (protocol, turn) = trial.begin(Instant::now());
                Some((protocol, Some(Flight { origin: Arc::clone(self), turn: Some(turn) })))
            }
        }
    }

    async fn send_http1(&self, request: &HttpRequest) -> Result<Answer, Failure> {
        let vacancy = match self.http1.vacancy().await?.reuse() {
            Ok(mut lease) => match lease.connection.send(request, &self.name).await {
                Ok(head) => return Ok(head.map(|()| Incoming::Http1(lease))),
                Err(unanswered) => self.vacancy_to_try(request, lease, unanswered)?,
            },
            Err(vacancy) => vacancy,
        };
        // In a place of its own: most requests wait for a connection, and open none.
        let mut lease = vacancy.fill(Box::pin(self.open_http1()).await?);
        match lease.connection.send(request, &self.name).await {
            Ok(head) => Ok(head.map(|()| Incoming::Http1(lease))),
            Err(unanswered) => Err(unanswered.into_failure(&self.name)),
        }
    }

    /// The place for a second try on a fresh connection, where one is right.
    ///
    /// # Errors
    ///
    /// Why there was no answer, where none is.
    fn vacancy_to_try(
        &self,
        request: &HttpRequest,
        lease: Lease,
        unanswered: Unanswered,
    ) -> Result<Vacancy, Failure> {
        let is_right = match unanswered.seen() {
            Some(Seen::Nothing) => true,
            Some(Seen::Unknown) => may_repeat(request),
            Some(Seen::Answered) | None => false,
        };
        if is_right { Ok(lease.vacate()) } else { Err(unanswered.into_failure(&self.name)) }
    }

    async fn open_http1(&self) -> Result<Connection, Failure> {
        Ok(Connection::new(self.dialer.dial(Offer::Http1).await?.stream))
    }

    async fn send_http2(self: &Arc<Self>, request: &HttpRequest) -> Result<Answer, Failure> {
        let mut repeats = 0;
        loop {
            let Some(stream) = self.stream().await? else { return self.send_http1(request).await };
            let sent = stream.sender().try_send_request(for_http2(request, &self.name)?).await;
            let mut unsent = match sent {
                Ok(head) => return Ok(head.map(|body| Incoming::Http2(body, stream))),
                Err(unsent) => unsent,
            };
            let is_unseen = unsent.take_message().is_some() || was_refused(unsent.error());
            let was_stale = stream.is_reused && stream.is_closed() && may_repeat(request);
            if REPEATS_MAX <= repeats || !(is_unseen || was_stale) {
                return Err(Failure::of_request(unsent.error(), &self.name));
            }
            repeats += 1;
        }
    }

    /// A stream of HTTP/2; none when the server turned out to speak HTTP/1.1 only.
    async fn stream(self: &Arc<Self>) -> Result<Option<StreamLease>, Failure> {
        for _ in 0..CONNECT_ATTEMPTS {
            if let Some(stream) = self.http2.take() {
                self.widen();
                return Ok(Some(stream));
            }
            self.connect_first().await?;
            if matches!(*lock(&self.choice), Choice::Settled(Protocol::Http1)) {
                return Ok(None);
            }
        }
        Err(Failure::connect(format!("{} closes each connection at once", self.name)))
    }

    /// Opens another HTTP/2 connection, on the side, when there are many streams on those that are there.
    fn widen(self: &Arc<Self>) {
        if let Some(opening) = self.http2.opening() {
            let origin = Arc::clone(self);
            tokio::spawn(async move { opening.ended(&origin.connect().await) });
        }
    }

    /// Makes the first connection, once for all who wait for it.
    async fn connect_first(self: &Arc<Self>) -> Result<(), Failure> {
        self.connecting().await
    }

    fn connecting(self: &Arc<Self>) -> Shared<Connecting> {
        let mut connecting = lock(&self.connecting);
        let current = connecting.as_ref().and_then(WeakShared::upgrade);
        if let Some(current) = current.filter(|current| current.peek().is_none()) {
            return current;
        }
        let origin = Arc::clone(self);
        let shared = async move { origin.connect().await }.boxed().shared();
        *connecting = shared.downgrade();
        shared
    }

    /// Makes a connection that offers HTTP/2, and puts it where it belongs.
    async fn connect(&self) -> Result<(), Failure> {
        let Dialed { stream, speaks } = self.dialer.dial(Offer::Http2).await?;
        match speaks {
            Offer::Http2 => self.http2.start(stream, &self.name).await?,
            Offer::Http1 => self.http1.add(Connection::new(stream)),
        }
        let mut choice = lock(&self.choice);
        match (speaks, &*choice) {
            (Offer::Http1, _) => *choice = Choice::Settled(Protocol::Http1),
            (Offer::Http2, Choice::Open) => *choice = self.first_choice(),
            (Offer::Http2, _) => {}
        }
        Ok(())
    }

    fn first_choice(&self) -> Choice {
        match self.version {
            HttpVersion::Auto => Choice::Trial(Trial::new(Instant::now())),
            HttpVersion::Http1 | HttpVersion::Http2 => Choice::Settled(Protocol::Http2),
        }
    }
}

impl Flight {
    /// Says how the request ended.
    pub(super) fn land(mut self, landing: Landing) {
        self.report(landing);
    }

    fn report(&mut self, landing: Landing) {
        let Some(turn) = self.turn.take() else { return };
        let mut choice = lock(&self.origin.choice);
        let Choice::Trial(trial) = &mut *choice else { return };
        if let Some(decided) = trial.end(turn, landing, Instant::now()) {
            tracing::debug!(origin = %self.origin.name, ?decided, "one HTTP is faster than the other");
            *choice = Choice::Settled(decided);
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.report(Landing::Dropped);
    }
}
