//! A web server in the test's own process: what it answers is up to a script.

use crate::engine::lock;
use crate::media::cloud::heard::Hearing;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::http::HttpBuilder;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use std::sync::{Arc, Mutex};

/// What happens to one request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    None,
    NoConnection,
    /// A status, and seconds to wait.
    Status(u16, Option<u64>),
    /// No answer ever.
    Stall,
    /// After so many bytes of the body the connection breaks, ends as if all were well, or stalls.
    Broken(usize),
    Short(usize),
    StalledBody(usize),
    /// More bytes than were announced.
    Long,
    /// The whole object with status 200.
    IgnoresRange,
    /// Another range than was asked for.
    OtherRange,
    Encoded,
}

/// One request as it came in.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) range: Option<String>,
    pub(super) if_match: Option<String>,
}

type Script = dyn Fn(usize) -> Fault + Send + Sync;

/// The server, holding one object at any path. Cloning shares it.
#[derive(Clone)]
pub(super) struct WebServer(Arc<State>);

struct State {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    object: Mutex<Object>,
}

#[derive(Clone)]
pub(super) struct Object {
    pub(super) bytes: Bytes,
    /// The `ETag` and `Last-Modified` headers.
    pub(super) tag: Option<&'static str>,
    pub(super) modified: Option<&'static str>,
}

impl std::fmt::Debug for WebServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("WebServer")
    }
}

impl WebServer {
    /// A server with an object of a strong tag; the script tells what happens to the request of each number.
    pub(super) fn new(bytes: Vec<u8>, script: impl Fn(usize) -> Fault + Send + Sync + 'static) -> WebServer {
        let object = Mutex::new(Object { bytes: bytes.into(), tag: Some("\"one\""), modified: None });
        WebServer(Arc::new(State { script: Box::new(script), asked: Mutex::default(), object }))
    }

    pub(super) fn store(&self) -> Arc<dyn ObjectStore> {
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let builder = HttpBuilder::new()
            .with_url("http://server")
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_retry(retry)
            .with_http_connector(self.clone());
        Arc::new(builder.build().unwrap())
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Object)) {
        change(&mut lock(&self.0.object));
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        lock(&self.0.asked).clone()
    }
}

impl HttpConnector for WebServer {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Hearing(self.clone())))
    }
}

#[async_trait]
impl HttpService for WebServer {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let asked = Asked {
            method: request.method().to_string(),
            range: header("range"),
            if_match: header("if-match"),
        };
        let number = {
            let mut all = lock(&self.0.asked);
            all.push(asked.clone());
            all.len() - 1
        };
        let fault = (self.0.script)(number);
        let object = lock(&self.0.object).clone();
        match fault {
            Fault::NoConnection => {
                Err(HttpError::new(HttpErrorKind::Connect, std::io::Error::other("refused")))
            }
            Fault::Stall => std::future::pending().await,
            Fault::Status(status, wait) => {
                let mut answer = http::Response::builder().status(status);
                if let Some(wait) = wait {
                    answer = answer.header("retry-after", wait);
                }
                Ok(answer.body("busy".to_owned().into()).unwrap())
            }
            fault => Ok(answer(&object, &asked, &fault)),
        }
    }
}

fn answer(object: &Object, asked: &Asked, fault: &Fault) -> HttpResponse {
    if asked.if_match.as_deref().is_some_and(|wanted| Some(wanted) != object.tag) {
        return http::Response::builder().status(412).body(String::new().into()).unwrap();
    }
    let size = object.bytes.len();
    let whole = asked.range.is_none() || *fault == Fault::IgnoresRange;
    let (start, end) = match asked.range.as_deref().and_then(|range| range.strip_prefix("bytes=")) {
        Some(range) if !whole => match range.split_once('-').unwrap() {
            ("", len) => (size.saturating_sub(len.parse().unwrap()), size),
            (start, end) => (start.parse().unwrap(), (end.parse::<usize>().unwrap() + 1).min(size)),
        },
        _ => (0, size),
    };
    if !whole && end <= start {
        return http::Response::builder().status(416).body(String::new().into()).unwrap();
    }
    let mut answer = http::Response::builder().status(if whole { 200 } else { 206 });
    answer = answer.header("content-length", end - start);
    if !whole {
        let shift = usize::from(*fault == Fault::OtherRange);
        answer =
            answer.header("content-range", format!("bytes {}-{}/{size}", start + shift, end - 1 + shift));
    }
    for (name, value) in [("etag", object.tag), ("last-modified", object.modified)] {
        if let Some(value) = value {
            answer = answer.header(name, value);
        }
    }
    if *fault == Fault::Encoded {
        answer = answer.header("content-encoding", "gzip");
    }
    let bytes = if asked.method == "HEAD" { Bytes::new() } else { object.bytes.slice(start..end) };
    answer.body(body(&bytes, fault)).unwrap()
}

/// The body in frames of 1,000 bytes, and how it ends.
fn body(bytes: &Bytes, fault: &Fault) -> HttpResponseBody {
    let cut = match fault {
        Fault::Broken(at) | Fault::Short(at) | Fault::StalledBody(at) => (*at).min(bytes.len()),
        _ => bytes.len(),
    };
    let mut frames: Vec<Result<Frame<Bytes>, HttpError>> =
        bytes[..cut].chunks(1000).map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk)))).collect();
    match fault {
        Fault::Broken(_) => {
            frames.push(Err(HttpError::new(HttpErrorKind::Interrupted, std::io::Error::other("reset"))));
        }
        Fault::Long => frames.push(Ok(Frame::data(Bytes::from_static(b"and more")))),
        _ => {}
    }
    let frames = stream::iter(frames);
    if let Fault::StalledBody(_) = fault {
        use futures_util::StreamExt;
        return HttpResponseBody::new(StreamBody::new(frames.chain(stream::pending())));
    }
    HttpResponseBody::new(StreamBody::new(frames))
}
