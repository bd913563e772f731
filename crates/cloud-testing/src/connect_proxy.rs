//! A proxy that tunnels (`CONNECT`), as companies have them.

use crate::background::Background;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

/// The longest request that a tunnel is opened for.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// A name and a password that a proxy asks for.
#[derive(Clone)]
pub struct ProxyLogin {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
}

/// Opens tunnels for `CONNECT`, where the login fits, and answers everything else with an error.
pub struct ConnectProxy {
    address: SocketAddr,
    counts: Arc<Counts>,
    _background: Background,
}

#[derive(Default)]
struct Counts {
    tunnels: AtomicU64,
    refused: AtomicU64,
}

impl ConnectProxy {
    /// Starts a proxy that asks for a login, or for none.
    ///
    /// # Errors
    ///
    /// Where no port or thread can be had.
    pub fn start(login: Option<&ProxyLogin>) -> io::Result<ConnectProxy> {
        let background = Background::start(1)?;
        let counts = Arc::new(Counts::default());
        let wanted: Option<Arc<str>> = login.map(|login| {
            format!("Basic {}", STANDARD.encode(format!("{}:{}", login.user, login.password))).into()
        });
        let kept = Arc::clone(&counts);
        let address = background.listen(move |stream| {
            let (counts, wanted) = (Arc::clone(&kept), wanted.clone());
            async move {
                let _ = tunnel(stream, &counts, wanted.as_deref()).await;
            }
        })?;
        Ok(ConnectProxy { address, counts, _background: background })
    }

    /// Where the proxy listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The proxy's URL, without a login.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Tunnels that were opened so far.
    pub fn tunnels(&self) -> u64 {
        self.counts.tunnels.load(Ordering::Relaxed)
    }

    /// Requests that were refused so far.
    pub fn refused(&self) -> u64 {
        self.counts.refused.load(Ordering::Relaxed)
    }
}

async fn tunnel(mut client: TcpStream, counts: &Counts, wanted: Option<&str>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        // Byte by byte, so that nothing of what is to be tunnelled is taken.
        head.push(client.read_u8().await?);
    }
    let refusal = match target(&head, wanted) {
        Ok(target) => match TcpStream::connect(&target).await {
            Ok(mut server) => {
                counts.tunnels.fetch_add(1, Ordering::Relaxed);
                server.set_nodelay(true)?;
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                copy_bidirectional(&mut client, &mut server).await?;
                return Ok(());
            }
            Err(_) => "502 Bad Gateway",
        },
        Err(refusal) => refusal,
    };
    counts.refused.fetch_add(1, Ordering::Relaxed);
    let answer = format!(
        "HTTP/1.1 {refusal}\r\nProxy-Authenticate: Basic realm=\"swath\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    client.write_all(answer.as_bytes()).await
}

/// The host and port that a request wants a tunnel to, or the status that refuses it.
fn target(head: &[u8], wanted: Option<&str>) -> Result<String, &'static str> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(head).map_err(|_| "400 Bad Request")?;
    let login = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case("proxy-authorization"));
    if wanted.is_some_and(|wanted| login.map(|login| login.value) != Some(wanted.as_bytes())) {
        return Err("407 Proxy Authentication Required");
    }
    match (request.method, request.path) {
        (Some("CONNECT"), Some(target)) => Ok(target.to_owned()),
        _ => Err("405 Method Not Allowed"),
    }
}
