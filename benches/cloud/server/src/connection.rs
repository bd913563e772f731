//! One connection: requests in, answers out, one after the other.

use crate::answer::{Answer, answer, throttled};
use crate::link::PIECE_BYTES;
use crate::request::{Request, parse};
use crate::{Failure, Server};
use bytes::{Buf, Bytes, BytesMut};
use std::collections::VecDeque;
use std::io::IoSlice;
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
        wait(server.link.answer_from(asked_at)).await;
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
    let last = pieces.pop().unwrap_or_default();
    let sent = send_pieces(stream, pieces, server).await;
    if sent.is_ok() {
        server.link.pass(bytes_of(&last)).await;
    }
    // Before the last piece is written: when the client has it, its next request is of a later round.
    counters.end(round);
    sent?;
    write(stream, last).await
}

async fn send_pieces(stream: &mut TcpStream, pieces: Vec<Piece>, server: &Server) -> Result<(), Failure> {
    for piece in pieces {
        server.link.pass(bytes_of(&piece)).await;
        write(stream, piece).await?;
    }
    Ok(())
}

/// What is handed to the link at a time, in parts that need no copy.
type Piece = VecDeque<Bytes>;

fn bytes_of(piece: &Piece) -> usize {
    piece.iter().map(Bytes::len).sum()
}

/// Parts that one system call writes at most.
const PARTS_MAX: usize = 256;

async fn write(stream: &mut TcpStream, mut piece: Piece) -> Result<(), Failure> {
    while !piece.is_empty() {
        let parts: Vec<IoSlice<'_>> = piece.iter().take(PARTS_MAX).map(|part| IoSlice::new(part)).collect();
        let mut written = stream.write_vectored(&parts).await?;
        if written == 0 {
            return Err("the connection takes no more".into());
        }
        while let Some(part) = piece.front_mut() {
            if written < part.len() {
                part.advance(written);
                break;
            }
            written -= part.len();
            piece.pop_front();
        }
    }
    Ok(())
}

/// The answer in the pieces in which it is handed to the link.
fn pieces(answer: Answer, small: bool) -> Vec<Piece> {
    let piece_bytes = if small { PIECE_BYTES } else { usize::MAX };
    let mut pieces = Vec::new();
    let (mut piece, mut room) = (Piece::new(), piece_bytes);
    for mut part in std::iter::once(Bytes::from(answer.head)).chain(answer.body) {
        while !part.is_empty() {
            let taken = part.split_to(part.len().min(room));
            room -= taken.len();
            piece.push_back(taken);
            if room == 0 {
                pieces.push(std::mem::take(&mut piece));
                room = piece_bytes;
            }
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}
