//! Requests to the services that give credentials: small, few, with a time limit and few retries of their own.

use crate::{Error, ErrorKind};
use bytes::Bytes;
use futures_util::StreamExt;
use http::header::ACCEPT;
use http::{Method, Request, StatusCode};
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Bytes of an answer at most.
const ANSWER_MAX: usize = 1 << 20;

/// How long to try.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Of one attempt.
    pub(super) time: Duration,
    pub(super) attempts: u32,
}

impl Patience {
    /// Of a service that exists.
    pub(super) const SERVICE: Patience = Patience { time: Duration::from_secs(15), attempts: 3 };
    /// Of a metadata service, which is a hop away or not there at all. As long as Amazon's own libraries wait.
    pub(super) const METADATA: Patience = Patience { time: Duration::from_secs(1), attempts: 1 };
}

/// Makes requests for credentials, over the connections of the location.
#[derive(Clone, Debug)]
pub(crate) struct TokenRequests {
    client: HttpClient,
}

/// An answer, whatever its status.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl TokenRequests {
    pub(crate) fn new(client: HttpClient) -> TokenRequests {
        TokenRequests { client }
    }

    /// Sends until there is an answer that is neither 429 nor a server's failure. `what` names the request in errors, which
    /// hold nothing of the request itself.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](ErrorKind::Unavailable) where there is no answer.
    pub(super) async fn send(
        &self,
        what: &str,
        request: HttpRequest,
        patience: Patience,
    ) -> Result<Answer, Error> {
        let mut pause = Duration::from_millis(100);
        let mut last = None;
        for attempt in 0..patience.attempts {
            if 0 < attempt {
                sleep(pause).await;
                pause *= 3;
            }
            match timeout(patience.time, self.once(request.clone())).await {
                Ok(Ok(answer)) if answer.status.is_server_error() || answer.status == 429 => {
                    last = Some(Ok(answer))
                }
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(how)) => last = Some(Err(how)),
                Err(_) => last = Some(Err(format!("no answer within {} s", patience.time.as_secs()))),
            }
        }
        match last {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(how)) => Err(Error::new(ErrorKind::Unavailable, format!("{what} failed: {how}"))),
            None => Err(Error::new(ErrorKind::Unavailable, format!("{what} was not tried"))),
        }
    }

    async fn once(&self, request: HttpRequest) -> Result<Answer, String> {
        let response = self.client.execute(request).await.map_err(|error| format!("{:?}", error.kind()))?;
        let status = response.status();
        let mut stream = response.into_body().bytes_stream();
        let mut body = Vec::new();
        while let Some(part) = stream.next().await {
            body.extend_from_slice(&part.map_err(|error| format!("{:?}", error.kind()))?);
            if ANSWER_MAX < body.len() {
                return Err(format!("an answer of more than {ANSWER_MAX} bytes"));
            }
        }
        Ok(Answer { status, body: body.into() })
    }
}

impl Answer {
    /// The body of an answer that says yes, as JSON.
    ///
    /// # Errors
    ///
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) with the status where it says no;
    /// [`Unavailable`](ErrorKind::Unavailable) for a server's failure; [`Io`](ErrorKind::Io) where it is no JSON. Nothing of
    /// the body is told: it may hold secrets.
    pub(super) fn json(&self, what: &str) -> Result<serde_json::Value, Error> {
        self.accepted(what)?;
        serde_json::from_slice(&self.body)
            .map_err(|_| Error::new(ErrorKind::Io, format!("{what} gave no JSON")))
    }

    /// Checks that the status says yes.
    ///
    /// # Errors
    ///
    /// As [`json`](Answer::json).
    pub(super) fn accepted(&self, what: &str) -> Result<(), Error> {
        if self.status.is_success() {
            return Ok(());
        }
        let transient = self.status.is_server_error() || self.status == 429;
        let kind = if transient { ErrorKind::Unavailable } else { ErrorKind::PermissionDenied };
        Err(Error::new(kind, format!("{what} failed with status {}", self.status.as_u16())))
    }
}

/// A request with headers, marked as secrets, and a body. `what` names it in errors.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for a URL or a header that cannot be sent.
pub(super) fn request(
    what: &str,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: HttpRequestBody,
) -> Result<HttpRequest, Error> {
    let mut builder = Request::builder().method(method).uri(url).header(ACCEPT, "*/*");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let mut request = builder.body(body).map_err(|_| {
        Error::new(ErrorKind::Unsupported, format!("{what} has a URL or a header that cannot be sent"))
    })?;
    // Another server than the one that was meant gets none of them.
    request.headers_mut().values_mut().for_each(|value| value.set_sensitive(true));
    Ok(request)
}

/// The header of a form.
pub(super) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// A text of a JSON object.
pub(super) fn text<'a>(json: &'a serde_json::Value, name: &str) -> Option<&'a str> {
    json.get(name)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_marked_as_secrets() {
        let headers = [("x-amz-sso_bearer_token", "S3CRET"), ("x-any", "S3CRET")];
        let made =
            request("a test", Method::GET, "https://host/", &headers, HttpRequestBody::empty()).unwrap();
        assert!(!format!("{made:?}").contains("S3CRET"), "{made:?}");
        assert!(made.headers().values().all(http::HeaderValue::is_sensitive));
    }
}
