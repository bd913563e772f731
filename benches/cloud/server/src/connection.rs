//! One connection: requests in, answers out, one after the other.

use crate::answer::{Answer, answer, throttled};
use crate::link::PIECE_BYTES;
use crate::request::{Request, parse};
use crate::{Failure, Server};
use bytes::{Buf, Bytes, BytesMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

/// Bytes of a request's head, at most.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Answers until the client goes. What a client breaks ends its connection.
pub(crate) async fn converse(mut stream: TcpStream, server: Arc<Server>) {
    server.counters.connections.fetch_add(1, Ordering::Relaxed);
    let _refused = stream.set_nodelay(true);
    // A connection takes a round trip before anything can be asked over it.
    wait(server.link.round_trip_from(Instant::now())).await;
    let mut arrived = BytesMut::with_capacity(4 << 10);
    while let Ok(Some(request)) = next(&mut stream, &mut arrived, &server).await {
        let asked_at = Instant::now();
        let (in_flight, round) = server.counters.arrive();
        let throttles = server.link.is_throttling(in_flight);
        wait(server.link.round_trip_from(asked_at)).await;
        let answer = if throttles {
            server.counters.throttled.fetch_add(1, Ordering::Relaxed);
            throttled()
        } else {
            // Made when it is sent: stamps tell that time.
            answer(&server, &request)
        };
        let sent = send(&mut stream, answer, round, &server).await;
        if sent.is_err() {
            return;
        }
    }
}

async fn wait(until: Instant) {
    if Instant::now() < until {
        sleep_until(until).await;
    }
}

/// The next request, or `None` where the client has closed.
async fn next(
    stream: &mut TcpStream,
    arrived: &mut BytesMut,
    server: &Server,
) -> Result<Option<Request>, Failure> {
    loop {
        if let Some((request, len)) = parse(arrived)? {
            server.counters.wire_bytes.fetch_add(len as u64, Ordering::Relaxed);
            arrived.advance(len);
            return Ok(Some(request));
        }
        if HEAD_BYTES_MAX < arrived.len() {
            return Err("a head without an end".into());
        }
        if stream.read_buf(arrived).await? == 0 {
            return Ok(None);
        }
    }
}

/// Sends an answer, as fast as the link lets it.
async fn send(stream: &mut TcpStream, answer: Answer, round: u64, server: &Server) -> Result<(), Failure> {
    let counters = &server.counters;
    let body_bytes = answer.body_bytes();
    counters.body_bytes.fetch_add(body_bytes, Ordering::Relaxed);
    counters.wire_bytes.fetch_add(answer.head.len() as u64 + body_bytes, Ordering::Relaxed);
    let mut pieces = pieces(answer, server.link.is_bounded());
    let last = pieces.pop();
    let sent = send_pieces(stream, pieces, server).await;
    if let (Some(last), Ok(())) = (&last, &sent) {
        server.link.pass(last.remaining()).await;
    }
    // Before the last piece is written: when the client has it, its next request is of a later round.
    counters.end(round);
    sent?;
    if let Some(mut last) = last {
        stream.write_all_buf(&mut last).await?;
    }
    Ok(())
}

async fn send_pieces(
    stream: &mut TcpStream,
    pieces: impl IntoIterator<Item = Piece>,
    server: &Server,
) -> Result<(), Failure> {
    for mut piece in pieces {
        server.link.pass(piece.remaining()).await;
        stream.write_all_buf(&mut piece).await?;
    }
    Ok(())
}

/// A head, or nothing, and a part of the body.
type Piece = bytes::buf::Chain<Bytes, Bytes>;

/// The answer in the pieces in which it is handed to the link: a head with what follows it, and the rest.
fn pieces(answer: Answer, small: bool) -> Vec<Piece> {
    let piece_bytes = if small { PIECE_BYTES } else { usize::MAX };
    let mut head = Bytes::from(answer.head);
    let mut pieces = Vec::new();
    for mut part in answer.body {
        while !part.is_empty() {
            let taken = part.split_to(part.len().min(piece_bytes));
            pieces.push(std::mem::take(&mut head).chain(taken));
        }
    }
    if !head.is_empty() {
        pieces.push(head.chain(Bytes::new()));
    }
    pieces
}
