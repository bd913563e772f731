//! Bodies of answers, and what becomes of the connection when they end.

use super::failure::Failure;
use super::http2::StreamLease;
use super::origin::Flight;
use super::origin_name::OriginName;
use super::pool::Lease;
use super::trial::Landing;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use object_store::client::HttpError;
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
    incoming: Option<Incoming>,
    hold: Option<Hold>,
    flight: Option<Flight>,
    origin: Arc<OriginName>,
    bytes: u64,
}

/// What the body comes in on.
pub(super) enum Hold {
    Http1(Lease),
    Http2(StreamLease),
}

impl AnswerBody {
    pub(super) fn new(
        incoming: Incoming,
        hold: Hold,
        flight: Option<Flight>,
        origin: &Arc<OriginName>,
    ) -> AnswerBody {
        let hold = Some(hold);
        let mut body =
            AnswerBody { incoming: Some(incoming), hold, flight, origin: Arc::clone(origin), bytes: 0 };
        body.end_if_over();
        body
    }

    /// Lets go of the connection as soon as nothing more comes, without waiting to be asked once more.
    fn end_if_over(&mut self) {
        if self.incoming.as_ref().is_some_and(Body::is_end_stream) {
            self.end();
        }
    }

    fn end(&mut self) {
        match self.hold.take() {
            Some(Hold::Http1(lease)) => lease.give_back(),
            Some(Hold::Http2(stream)) => stream.end(),
            None => {}
        }
        if let Some(flight) = self.flight.take() {
            flight.land(Landing::Whole(self.bytes));
        }
    }

    fn broke(&mut self) {
        if let Some(Hold::Http2(stream)) = self.hold.take() {
            stream.end();
        }
        if let Some(flight) = self.flight.take() {
            flight.land(Landing::Broken);
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
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        match ready!(Pin::new(incoming).poll_frame(cx)) {
            Some(Ok(frame)) => {
                let count = frame.data_ref().map_or(0, Bytes::len);
                self.bytes = self.bytes.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
                self.end_if_over();
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                self.broke();
                Poll::Ready(Some(Err(Failure::of_body(&error, &self.origin).into())))
            }
            None => {
                self.end();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        let (Some(Hold::Http1(lease)), Some(incoming)) = (self.hold.take(), self.incoming.take()) else {
            return;
        };
        if DRAIN_BYTES_MAX < incoming.size_hint().lower() {
            return;
        }
        // Bodies are dropped on any thread, also where there is no runtime.
        let runtime = lease.runtime().clone();
        runtime.spawn(async move { drop(timeout(DRAIN_TIME_MAX, drain(incoming, lease)).await) });
    }
}

/// Reads what is left, if it is as little as it seemed, and gives the connection back.
async fn drain(mut incoming: Incoming, lease: Lease) {
    let mut left = DRAIN_BYTES_MAX;
    while let Some(frame) = incoming.frame().await {
        let count = frame.map(|frame| frame.data_ref().map_or(0, Bytes::len));
        let count = count.ok().and_then(|count| u64::try_from(count).ok());
        match count.and_then(|count| left.checked_sub(count)) {
            Some(rest) => left = rest,
            None => return,
        }
    }
    lease.give_back();
}
