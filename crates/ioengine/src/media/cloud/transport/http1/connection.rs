//! A connection: requests out, answers in.

use super::super::connect::Stream;
use super::super::failure::Failure;
use super::super::origin_name::OriginName;
use super::Broken;
use super::answer_head::{AnswerHead, BodyLen};
use super::chunks::{Chunks, Next};
use super::request_head::head_of;
use crate::storage_len;
use bytes::{Buf, Bytes, BytesMut};
use http::{Method, Response};
use hyper::body::Body;
use object_store::client::{HttpRequest, HttpRequestBody};
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::runtime::Handle;
use tokio::task::unconstrained;

/// Heads and short bodies are read here, on the stack, and what came is copied into an allocation of its own length: who
/// waits for them holds no buffer.
const SHORT_BYTES: usize = 16 << 10;

/// What is known to be longer is read into a buffer of the connection's, which pieces are cut from and pin.
const BUFFER_BYTES: usize = 64 << 10;

/// Bodies of requests that are no longer are copied behind their head, to be sent in one packet with it.
const JOINED_BYTES_MAX: usize = 4 << 10;

/// A connection that is up. While a request waits for its answer it holds the socket, and with TLS rustls's state; besides,
/// what came and was not taken, at most [`BUFFER_BYTES`], and what was not sent yet.
pub(in super::super) struct Connection {
    stream: Stream,
    /// What came and was not taken yet.
    unread: Bytes,
    /// Room to read a long body into.
    buffer: BytesMut,
    unsent: Option<Box<Unsent>>,
    body: Left,
    persists: bool,
    /// Where the connection lives: it comes back from any thread.
    pub(in super::super) runtime: Handle,
}

/// What is left of a request.
struct Unsent {
    front: Bytes,
    body: HttpRequestBody,
}

/// What is left of the body of an answer.
enum Left {
    Known(u64),
    Chunked(Chunks),
    UntilClose,
}

/// Why a request got no answer.
pub(in super::super) enum Unanswered {
    /// The request cannot be sent as it is.
    Unfit(Failure),
    Broken {
        error: Broken,
        seen: Seen,
    },
}

/// What a server knows of a request that it did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Seen {
    /// Nothing: the request was not sent.
    Nothing,
    /// Perhaps all: it was sent, and no byte came back.
    Unknown,
    /// An answer began.
    Answered,
}

impl Connection {
    /// Speaks HTTP/1.1 on a stream.
    pub(in super::super) fn new(stream: Stream) -> Connection {
        Connection {
            stream,
            unread: Bytes::new(),
            buffer: BytesMut::new(),
            unsent: None,
            body: Left::Known(0),
            persists: true,
            runtime: Handle::current(),
        }
    }

    /// True when another request can be sent: the answer before is over, and nothing else came.
    pub(in super::super) fn is_reusable(&self) -> bool {
        self.is_over() && self.persists && self.unread.is_empty() && self.unsent.is_none()
    }

    /// True unless the server closed the connection, or said something that nobody asked for.
    pub(in super::super) fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let stream = &mut self.stream;
        let read = poll_fn(|cx| Pin::new(&mut *stream).poll_read(cx, &mut ReadBuf::new(&mut byte)));
        // A task that did much since it last waited is told by all sockets that they are not ready: also by closed ones.
        let mut nobody = Context::from_waker(Waker::noop());
        pin!(unconstrained(read)).poll(&mut nobody).is_pending()
    }

    /// Sends a request and waits for the head of its answer. Dropped before it ends, the connection is of no use any more.
    ///
    /// # Errors
    ///
    /// Why no answer came, and what the server may have seen of the request.
    pub(in super::super) async fn send(
        &mut self,
        request: &HttpRequest,
        origin: &OriginName,
    ) -> Result<Response<()>, Unanswered> {
        self.unsent = Some(Box::new(Unsent::new(request, origin).map_err(Unanswered::Unfit)?));
        self.persists = false;
        let before = self.stream.arrivals.bytes();
        let mut sent = 0;
        let answer = poll_fn(|cx| self.poll_answer(cx, request.method(), &mut sent)).await;
        let AnswerHead { head, body, persists } = answer.map_err(|error| {
            let seen = match () {
                () if sent == 0 => Seen::Nothing,
                () if self.stream.arrivals.bytes() == before => Seen::Unknown,
                () => Seen::Answered,
            };
            Unanswered::Broken { error, seen }
        })?;
        self.persists = persists;
        self.body = match body {
            BodyLen::Known(len) => Left::Known(len),
            BodyLen::Chunked => Left::Chunked(Chunks::default()),
            BodyLen::UntilClose => Left::UntilClose,
        };
        Ok(head)
    }

    /// Sends, and reads meanwhile: a server may answer before it has read all. `sent` counts the bytes that went out.
    fn poll_answer(
        &mut self,
        cx: &mut Context<'_>,
        method: &Method,
        sent: &mut usize,
    ) -> Poll<Result<AnswerHead, Broken>> {
        let mut failed = match self.poll_send(cx, sent) {
            Poll::Ready(Err(error)) => Some(error),
            Poll::Ready(Ok(())) | Poll::Pending => None,
        };
        // Nobody answers what did not go out at all.
        if let Some(error) = failed.take_if(|_| *sent == 0) {
            return Poll::Ready(Err(Broken::Io(error)));
        }
        loop {
            if let Some(head) = AnswerHead::take(&mut self.unread, method)? {
                return Poll::Ready(Ok(head));
            }
            // A server that closed while it was written to may have said why.
            let came = match (self.poll_fill(cx, 0), failed.take()) {
                (Poll::Ready(Ok(came)), None) => came,
                (Poll::Ready(Ok(came)), unsent @ Some(_)) if 0 < came => {
                    failed = unsent;
                    came
                }
                (_, Some(error)) => return Poll::Ready(Err(Broken::Io(error))),
                (Poll::Ready(Err(error)), None) => return Poll::Ready(Err(Broken::Io(error))),
                (Poll::Pending, None) => return Poll::Pending,
            };
            if came == 0 {
                return Poll::Ready(Err(Broken::Closed));
            }
        }
    }

    /// Sends what is left of the request.
    fn poll_send(&mut self, cx: &mut Context<'_>, sent: &mut usize) -> Poll<io::Result<()>> {
        let Some(unsent) = &mut self.unsent else { return Poll::Ready(Ok(())) };
        while !unsent.front.is_empty() {
            let count = ready!(Pin::new(&mut self.stream).poll_write(cx, &unsent.front))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *sent += count;
            unsent.front.advance(count);
            unsent.refill(cx);
        }
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.unsent = None;
        Poll::Ready(Ok(()))
    }

    /// Reads more behind what is there; `expected` bytes are known to come. Zero at the end of the connection.
    fn poll_fill(&mut self, cx: &mut Context<'_>, expected: u64) -> Poll<io::Result<usize>> {
        if expected <= storage_len(SHORT_BYTES) {
            let mut room = [const { MaybeUninit::uninit() }; SHORT_BYTES];
            let mut came = ReadBuf::uninit(&mut room);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut came))?;
            let came = came.filled();
            self.unread = match self.unread.is_empty() {
                true => Bytes::copy_from_slice(came),
                false => [&self.unread, came].concat().into(),
            };
            return Poll::Ready(Ok(came.len()));
        }
        let len = usize::try_from(expected).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        self.buffer.reserve(len);
        let count = ready!(pin!(self.stream.read_buf(&mut self.buffer)).poll(cx))?;
        let came = self.buffer.split().freeze();
        self.unread = match self.unread.is_empty() {
            true => came,
            false => [&self.unread[..], &came].concat().into(),
        };
        Poll::Ready(Ok(count))
    }

    /// The next piece of the answer's body; none at its end.
    pub(in super::super) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken>>> {
        // A server that answered before it had read all may still want the rest; where it does not, the answer counts.
        if let Poll::Ready(Err(_)) = self.poll_send(cx, &mut 0) {
            (self.unsent, self.persists) = (None, false);
        }
        loop {
            let expected = match &mut self.body {
                Left::Known(0) => return Poll::Ready(None),
                Left::Known(left) if self.unread.is_empty() => *left,
                Left::Known(left) => {
                    let len = usize::try_from(*left).unwrap_or(usize::MAX).min(self.unread.len());
                    *left -= storage_len(len);
                    return Poll::Ready(Some(Ok(self.unread.split_to(len))));
                }
                Left::Chunked(chunks) => match chunks.next(&mut self.unread)? {
                    Next::Piece(piece) => return Poll::Ready(Some(Ok(piece))),
                    Next::End => return Poll::Ready(None),
                    Next::Wanting => chunks.expected(),
                },
                Left::UntilClose if self.unread.is_empty() => storage_len(BUFFER_BYTES),
                Left::UntilClose => return Poll::Ready(Some(Ok(std::mem::take(&mut self.unread)))),
            };
            if ready!(self.poll_fill(cx, expected)).map_err(Broken::Io)? == 0 {
                if !matches!(self.body, Left::UntilClose) {
                    return Poll::Ready(Some(Err(Broken::Closed)));
                }
                self.body = Left::Known(0);
            }
        }
    }

    /// True when nothing more comes of the answer.
    pub(in super::super) fn is_over(&self) -> bool {
        match &self.body {
            Left::Known(left) => *left == 0,
            Left::Chunked(chunks) => chunks.is_over(),
            Left::UntilClose => false,
        }
    }

    /// Bytes of the body that are left, and whether that is all that is.
    pub(in super::super) fn left(&self) -> (u64, Option<u64>) {
        match &self.body {
            Left::Known(left) => (*left, Some(*left)),
            Left::Chunked(chunks) => (chunks.expected(), None),
            Left::UntilClose => (0, None),
        }
    }

    /// Lets go of all room, between two requests.
    pub(in super::super) fn rest(&mut self) {
        (self.unread, self.buffer) = (Bytes::new(), BytesMut::new());
    }
}

impl Unanswered {
    /// What the server may have seen, if anything was tried.
    pub(in super::super) fn seen(&self) -> Option<Seen> {
        match self {
            Unanswered::Unfit(_) => None,
            Unanswered::Broken { seen, .. } => Some(*seen),
        }
    }

    /// What is told to whoever made the request.
    pub(in super::super) fn into_failure(self, origin: &OriginName) -> Failure {
        match self {
            Unanswered::Unfit(failure) => failure,
            Unanswered::Broken { error, .. } => Failure::of_unanswered(&error, origin),
        }
    }
}

impl Unsent {
    fn new(request: &HttpRequest, origin: &OriginName) -> Result<Unsent, Failure> {
        let mut head = head_of(request, origin)?;
        let mut body = request.body().clone();
        if let Some(bytes) = body.as_bytes().filter(|bytes| bytes.len() <= JOINED_BYTES_MAX) {
            head.extend_from_slice(bytes);
            body = HttpRequestBody::empty();
        }
        Ok(Unsent { front: head.into(), body })
    }

    /// Puts the next bytes of the body in front, where there are some and what was in front is gone.
    fn refill(&mut self, cx: &mut Context<'_>) {
        while self.front.is_empty() {
            // What stores send is there as a whole, and never fails.
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => self.front = frame.into_data().unwrap_or_default(),
                Poll::Ready(Some(Err(_)) | None) | Poll::Pending => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::connect::Offer;
    use super::super::super::counts::Counts;
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::coop::poll_proceed;
    use tokio::task::yield_now;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_closed_connection_is_not_quiet_to_a_task_that_did_much() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let open = Arc::<Counts>::default().opened(Offer::Http1);
        let mut connection = Connection::new(Stream::new(Box::new(client), open));
        assert!(connection.is_quiet());
        drop(server);
        let closed = async {
            while connection.is_quiet() {
                yield_now().await;
            }
        };
        timeout(Duration::from_secs(30), closed).await.unwrap();
        poll_fn(|cx| {
            while let Poll::Ready(step) = poll_proceed(cx) {
                step.made_progress();
            }
            assert!(!connection.is_quiet());
            Poll::Ready(())
        })
        .await;
    }
}
