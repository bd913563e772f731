//! Bodies of answers, and what becomes of the connection when they end.

use super::failure::Failure;
use super::http2::StreamLease;
use super::origin::Flight;
use super::origin_name::OriginName;
use super::pool::Lease;
use super::trial::Landing;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use object_store::client::HttpError;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::timeout;

/// A dropped body of which no more than this is left is read to its end, to keep the connection: a round trip of connecting
/// costs more than these bytes.
const DRAIN_BYTES_MAX: u64 = 16 << 10;

/// How long that may take: what is left is on its way already.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(100);

/// The body of an answer. At its end the connection goes back; when it breaks or is dropped before, an HTTP/1.1 connection
/// is closed, unless what is left is little, and an HTTP/2 stream is reset.
pub(super) struct AnswerBody {
    /// None at the end.
    incoming: Option<Incoming>,
    flight: Option<Flight>,
    origin: Arc<OriginName>,
    bytes: u64,
}

/// What the body comes in on.
pub(super) enum Incoming {
    Http1(Lease),
    Http2(hyper::body::Incoming, StreamLease),
}

impl AnswerBody {
    pub(super) fn new(incoming: Incoming, flight: Option<Flight>, origin: &Arc<OriginName>) -> AnswerBody {
        let mut body = AnswerBody { incoming: Some(incoming), flight, origin: Arc::clone(origin), bytes: 0 };
        body.end_if_over();
        body
    }

    /// Lets go of the connection as soon as nothing more comes, without waiting to be asked once more.
    fn end_if_over(&mut self) {
        if self.incoming.as_ref().is_some_and(Incoming::is_over) {
            self.end();
        }
    }

    fn end(&mut self) {
        match self.incoming.take() {
            Some(Incoming::Http1(lease)) => lease.give_back(),
            Some(Incoming::Http2(_, stream)) => stream.end(),
            None => {}
        }
        if let Some(flight) = self.flight.take() {
            flight.land(Landing::Whole(self.bytes));
        }
    }

    fn broke(&mut self) {
        if let Some(Incoming::Http2(_, stream)) = self.incoming.take() {
            stream.end();
        }
        if let Some(flight) = self.flight.take() {
            flight.land(Landing::Broken);
        }
    }
}

impl Incoming {
    fn is_over(&self) -> bool {
        match self {
            Incoming::Http1(lease) => lease.connection.is_over(),
            Incoming::Http2(body, _) => body.is_end_stream(),
        }
    }

    /// Bytes that are left at the least, and at the most where that is known.
    fn left(&self) -> SizeHint {
        match self {
            Incoming::Http1(lease) => {
                let (least, most) = lease.connection.left();
                let mut left = SizeHint::new();
                left.set_lower(least);
                if let Some(most) = most {
                    left.set_upper(most);
                }
                left
            }
            Incoming::Http2(body, _) => body.size_hint(),
        }
    }

    /// The next piece; none at the end.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        origin: &OriginName,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        match self {
            Incoming::Http1(lease) => lease.connection.poll_body(cx).map(|piece| {
                piece.map(|piece| match piece {
                    Ok(piece) => Ok(Frame::data(piece)),
                    Err(error) => Err(Failure::of_broken(&error, origin)),
                })
            }),
            Incoming::Http2(body, _) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(|error| Failure::of_body(&error, origin)))),
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let AnswerBody { incoming, origin, .. } = &mut *self;
        let Some(incoming) = incoming else { return Poll::Ready(None) };
        match ready!(incoming.poll(cx, origin)) {
            Some(Ok(frame)) => {
                let count = frame.data_ref().map_or(0, Bytes::len);
                self.bytes = self.bytes.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
                self.end_if_over();
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(failure)) => {
                self.broke();
                Poll::Ready(Some(Err(failure.into())))
            }
            None => {
                self.end();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::left)
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        let Some(Incoming::Http1(lease)) = self.incoming.take() else { return };
        let (least, _) = lease.connection.left();
        if DRAIN_BYTES_MAX < least {
            return;
        }
        // Bodies are dropped on any thread, also where there is no runtime.
        let runtime = lease.connection.runtime.clone();
        runtime.spawn(async move { drop(timeout(DRAIN_TIME_MAX, drain(lease)).await) });
    }
}

/// Reads what is left, if it is as little as it seemed, and gives the connection back.
async fn drain(mut lease: Lease) {
    let mut left = DRAIN_BYTES_MAX;
    while let Some(piece) = poll_fn(|cx| lease.connection.poll_body(cx)).await {
        let count = piece.ok().and_then(|piece| u64::try_from(piece.len()).ok());
        match count.and_then(|count| left.checked_sub(count)) {
            Some(rest) => left = rest,
            None => return,
        }
    }
    lease.give_back();
}
