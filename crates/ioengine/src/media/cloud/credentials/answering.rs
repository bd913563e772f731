//! Connections of the tests' own: a function answers each request, and what was asked is kept.

use async_trait::async_trait;
use http::Response;
use http_body_util::{BodyExt, Full};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use std::fmt;
use std::sync::{Arc, Mutex};

/// Status, headers and body of an answer; `None` for a host that is not there.
pub(crate) type Answer = Option<(u16, Vec<(&'static str, String)>, String)>;

/// Answers by a function of the request, of which it gets a text: method, URL, headers in order of name, body.
#[derive(Clone)]
pub(crate) struct Answering {
    answer: Arc<dyn Fn(&str) -> Answer + Send + Sync>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answering {
    pub(crate) fn new(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Answering {
        Answering { answer: Arc::new(answer), asked: Arc::default() }
    }

    /// One that says yes to all, with a body.
    pub(crate) fn with(body: &'static str) -> Answering {
        Answering::new(move |_| ok(body))
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn client(&self) -> HttpClient {
        HttpClient::new(self.clone())
    }
}

/// An answer that says yes.
pub(crate) fn ok(body: impl Into<String>) -> Answer {
    let body = body.into();
    let headers = vec![
        ("etag", "\"tag\"".to_owned()),
        ("last-modified", "Sat, 21 Nov 2026 23:35:28 GMT".to_owned()),
        ("content-length", body.len().to_string()),
    ];
    Some((200, headers, body))
}

/// An answer without headers.
pub(crate) fn status(status: u16, body: &str) -> Answer {
    Some((status, Vec::new(), body.to_owned()))
}

fn written(request: &HttpRequest) -> String {
    let mut headers: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    headers.sort();
    let body = request
        .body()
        .as_bytes()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .unwrap_or_default();
    format!("{} {}\n{}\n\n{body}", request.method(), request.uri(), headers.join("\n"))
}

impl fmt::Debug for Answering {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("answers of a test")
    }
}

impl HttpConnector for Answering {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.client())
    }
}

#[async_trait]
impl HttpService for Answering {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let text = written(&request);
        let answer = (self.answer)(&text);
        self.asked.lock().unwrap().push(text);
        let gone = || HttpError::new(HttpErrorKind::Connect, std::io::Error::other("no such host"));
        let (status, headers, body) = answer.ok_or_else(gone)?;
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        let body = HttpResponseBody::new(Full::from(body).map_err(|never| match never {}));
        Ok(response.body(body).unwrap())
    }
}
