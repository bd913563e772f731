//! One connection's requests and answers.

use super::Shared;
use super::alter::{Alteration, FILLER, Then, alter};
use super::body::{BodyReader, Framing};
use super::counts::RequestSeen;
use super::fault::Fault;
use super::head::{Head, read_answer, read_request};
use crate::rate::Rate;
use crate::throw::throw_below;
use bytes::{Bytes, BytesMut};
use std::io;
use std::sync::PoisonError;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until};

static FILLER_PIECE: [u8; 64 << 10] = [FILLER; 64 << 10];

/// Whether a connection serves another request.
#[derive(PartialEq, Eq)]
enum After {
    GoOn,
    Close,
}

/// A connection to the server, and what was read from it already.
struct Upstream {
    stream: TcpStream,
    buffer: BytesMut,
}

/// Serves one client until either side ends the connection.
pub(super) async fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let _connection = shared.counts.connection();
    let mut buffer = BytesMut::new();
    let mut upstream = None;
    let each = shared.link.bytes_per_second_each.map(Rate::new);
    while let Some(request) = read_request(&mut client, &mut buffer).await? {
        let (seen, _in_flight) = shared.counts.request(request.seen());
        shared.counts.to_server(request.bytes().len());
        let body = read_body(&mut client, &mut buffer, &request, shared).await?;
        let fault = shared.faults.lock().unwrap_or_else(PoisonError::into_inner).of(&seen);
        if let Some(fault) = &fault {
            shared.counts.fault(fault.name());
        }
        wait(shared, &seen).await;
        let mut exchange = Exchange { client: &mut client, shared, each: each.as_ref() };
        let after = match exchange.instead(&seen, &request, fault.as_ref()).await? {
            Some(after) => after,
            None => exchange.relay(&seen, &request, &body, fault.as_ref(), &mut upstream).await?,
        };
        if after == After::Close || closes(&request) {
            break;
        }
    }
    client.shutdown().await
}

fn closes(head: &Head) -> bool {
    head.get("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
}

/// A request's body, whole: what is sent through here is small.
async fn read_body(
    client: &mut TcpStream,
    buffer: &mut BytesMut,
    request: &Head,
    shared: &Shared,
) -> io::Result<Vec<u8>> {
    let mut reader = BodyReader::new(client, buffer, Framing::of_request(request));
    let mut body = Vec::new();
    while let Some(piece) = reader.next().await? {
        shared.counts.to_server(piece.len());
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

async fn wait(shared: &Shared, seen: &RequestSeen) {
    let jitter = u64::try_from(shared.link.jitter.as_nanos()).unwrap_or(u64::MAX);
    let more = Duration::from_nanos(throw_below(0, seen.number, jitter));
    let latency = shared.link.latency + more;
    if !latency.is_zero() {
        sleep(latency).await;
    }
}

async fn stall(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}

struct Exchange<'e> {
    client: &'e mut TcpStream,
    shared: &'e Shared,
    each: Option<&'e Rate>,
}

impl Exchange<'_> {
    /// Does what takes the answer's place; `None` where the request is to go on to the server.
    async fn instead(
        &mut self,
        seen: &RequestSeen,
        request: &Head,
        fault: Option<&Fault>,
    ) -> io::Result<Option<After>> {
        match fault {
            Some(Fault::Delay(time)) => sleep(*time).await,
            Some(Fault::StallBeforeAnswer(time)) => self.while_client_waits(stall(*time)).await?,
            Some(Fault::ResetBeforeAnswer) => return Err(self.reset()),
            Some(Fault::EmptyAnswer) => return Ok(Some(After::Close)),
            Some(Fault::GarbageStatusLine) => {
                self.send(b"\x01\x02 not a protocol\r\n\r\n").await?;
                return Ok(Some(After::Close));
            }
            Some(Fault::Status { status, retry_after }) => {
                let after =
                    retry_after.map_or(String::new(), |seconds| format!("Retry-After: {seconds}\r\n"));
                return self.answer(*status, &after).await.map(Some);
            }
            Some(Fault::RedirectToItself(status)) => {
                let location =
                    format!("Location: http://{}{}\r\n", request.get("host").unwrap_or(""), seen.path);
                return self.answer(*status, &location).await.map(Some);
            }
            // Asked by the other name, the proxy lets the request through: else the redirect would never end.
            Some(Fault::RedirectToOtherHost(status)) => {
                let host = request.get("host").unwrap_or("");
                let port = host.rsplit_once(':').map_or("80", |(_, port)| port);
                if !host.starts_with("localhost") {
                    let location = format!("Location: http://localhost:{port}{}\r\n", seen.path);
                    return self.answer(*status, &location).await.map(Some);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// Waits, but no longer than the client does: a connection that it gives up is closed here too.
    async fn while_client_waits(&mut self, wait: impl Future<Output = ()>) -> io::Result<()> {
        let mut byte = [0; 1];
        tokio::select! {
            () = wait => Ok(()),
            read = self.client.peek(&mut byte) => match read? {
                0 => Err(io::ErrorKind::ConnectionAborted.into()),
                _ => Ok(()),
            },
        }
    }

    async fn answer(&mut self, status: u16, headers: &str) -> io::Result<After> {
        let head = format!("HTTP/1.1 {status} Injected\r\n{headers}Content-Length: 0\r\n\r\n");
        self.send(head.as_bytes()).await?;
        Ok(After::GoOn)
    }

    async fn relay(
        &mut self,
        seen: &RequestSeen,
        request: &Head,
        body: &[u8],
        fault: Option<&Fault>,
        upstream: &mut Option<Upstream>,
    ) -> io::Result<After> {
        let mut answer = ask(self.shared, request, body, upstream).await?;
        let Some(server) = upstream.as_mut() else { return Ok(After::Close) };
        let framing = Framing::of_answer(&answer, &seen.method);
        let ends = closes(&answer);
        let alteration = alter(&mut answer, framing, fault);
        self.send(&answer.bytes()).await?;
        let mut reader = BodyReader::new(&mut server.stream, &mut server.buffer, framing);
        let after = self.send_body(&mut reader, &alteration).await?;
        if ends || framing == Framing::UntilClose {
            *upstream = None;
        }
        Ok(if ends { After::Close } else { after })
    }

    async fn send_body(
        &mut self,
        reader: &mut BodyReader<'_, TcpStream>,
        alteration: &Alteration,
    ) -> io::Result<After> {
        let own = alteration.bytes_per_second.map(Rate::new);
        self.fill(alteration.before).await?;
        let mut left = alteration.len_max;
        while let Some(mut piece) = reader.next().await? {
            let fits = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            left -= u64::try_from(fits).unwrap_or(0);
            let rest = piece.split_off(fits);
            self.send_piece(&piece, alteration.chunked, own.as_ref()).await?;
            if rest.is_empty() && 0 < left {
                continue;
            }
            match alteration.then {
                Then::Reset => return Err(self.reset()),
                Then::Stall(time) => {
                    self.while_client_waits(stall(time)).await?;
                    left = u64::MAX;
                    self.send_piece(&rest, alteration.chunked, own.as_ref()).await?;
                }
                Then::GoOn | Then::Close => return Ok(After::Close),
            }
        }
        self.fill(alteration.behind).await?;
        match alteration.then {
            Then::Close => return Ok(After::Close),
            Then::Reset => return Err(self.reset()),
            Then::GoOn | Then::Stall(_) => {}
        }
        if alteration.chunked {
            self.send(b"0\r\n\r\n").await?;
        }
        Ok(After::GoOn)
    }

    async fn fill(&mut self, mut len: u64) -> io::Result<()> {
        while 0 < len {
            let piece = usize::try_from(len).unwrap_or(usize::MAX).min(FILLER_PIECE.len());
            self.send_piece(&Bytes::from_static(&FILLER_PIECE[..piece]), false, None).await?;
            len -= u64::try_from(piece).unwrap_or(0);
        }
        Ok(())
    }

    async fn send_piece(&mut self, piece: &Bytes, chunked: bool, own: Option<&Rate>) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        let rates = [self.shared.rate.as_ref(), self.each, own];
        if let Some(passed) = rates.into_iter().flatten().map(|rate| rate.reserve(piece.len(), now)).max() {
            sleep_until(passed).await;
        }
        if !chunked {
            return self.send(piece).await;
        }
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        self.send(&chunk).await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.client.write_all(bytes).await?;
        self.shared.counts.to_clients(bytes.len());
        Ok(())
    }

    /// Makes the connection's end a reset, and returns the error that ends it.
    fn reset(&self) -> io::Error {
        let _ = self.client.set_zero_linger();
        io::ErrorKind::ConnectionReset.into()
    }
}

/// Sends a request to the server, and returns its answer's head. A kept connection that the server has closed meanwhile
/// is replaced once.
async fn ask(
    shared: &Shared,
    request: &Head,
    body: &[u8],
    upstream: &mut Option<Upstream>,
) -> io::Result<Head> {
    let mut message = request.bytes();
    frame(body, Framing::of_request(request), &mut message);
    let kept = upstream.is_some();
    match try_ask(shared, &message, upstream).await {
        Err(_) if kept => {
            *upstream = None;
            try_ask(shared, &message, upstream).await
        }
        done => done,
    }
}

async fn try_ask(shared: &Shared, message: &[u8], upstream: &mut Option<Upstream>) -> io::Result<Head> {
    let server = match upstream {
        Some(server) => server,
        None => {
            let stream = TcpStream::connect(shared.server).await?;
            stream.set_nodelay(true)?;
            upstream.insert(Upstream { stream, buffer: BytesMut::new() })
        }
    };
    server.stream.write_all(message).await?;
    loop {
        let head = read_answer(&mut server.stream, &mut server.buffer).await?;
        let head = head.ok_or(io::ErrorKind::UnexpectedEof)?;
        if 200 <= head.status {
            return Ok(head);
        }
    }
}

fn frame(body: &[u8], framing: Framing, message: &mut Vec<u8>) {
    let chunked = framing == Framing::Chunked;
    if chunked && !body.is_empty() {
        message.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
    }
    message.extend_from_slice(body);
    if chunked {
        message.extend_from_slice(if body.is_empty() { b"0\r\n\r\n" } else { b"\r\n0\r\n\r\n" });
    }
}
