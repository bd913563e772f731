//! The XML interface that S3 and Google Cloud Storage share: objects, listings, uploads in parts.

mod listing;
mod query;
mod uploads;
mod xml;

use crate::http_server::Answer;
use crate::object_body::{ObjectBody, read_whole};
use crate::objects::{Object, Objects, Precondition};
use crate::serve_object::{SeveralRanges, plain, serve_object, set};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use hyper::body::Incoming;
use hyper::{Request, Response};
use listing::list;
use percent_encoding::percent_decode_str;
use query::Query;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use uploads::Uploads;
use xml::{contents_of, unescape};

/// The longest body that is taken.
const BODY_BYTES_MAX: usize = 1 << 30;

const GENERATION: HeaderName = HeaderName::from_static("x-goog-generation");
const IF_GENERATION: HeaderName = HeaderName::from_static("x-goog-if-generation-match");

/// One bucket, served at `/bucket/key`.
pub(crate) struct XmlApi {
    pub(crate) bucket: String,
    pub(crate) objects: Objects,
    /// Names in one page of a listing at most.
    pub(crate) page_max: usize,
    /// The bearer token that requests must carry, where there is one.
    pub(crate) token: Option<String>,
    pub(crate) requests: Arc<AtomicU64>,
    uploads: Uploads,
}

impl XmlApi {
    pub(crate) fn new(bucket: &str, objects: Objects, page_max: usize, token: Option<String>) -> XmlApi {
        let bucket = bucket.to_owned();
        XmlApi { bucket, objects, page_max, token, requests: Arc::default(), uploads: Uploads::default() }
    }

    /// The key that a path names: `Some("")` for the bucket itself, `None` for another bucket.
    fn key(&self, path: &str) -> Option<String> {
        let path = percent_decode_str(path.trim_start_matches('/')).decode_utf8().ok()?;
        let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
        (bucket == self.bucket).then(|| key.to_owned())
    }

    fn may(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        match &self.token {
            None => true,
            Some(token) => given.and_then(|value| value.strip_prefix("Bearer ")) == Some(token),
        }
    }

    fn read(&self, key: &str, query: &Query, headers: &HeaderMap) -> Response<ObjectBody> {
        let wanted = query.get("generation");
        match self
            .objects
            .get(key)
            .filter(|found| wanted.is_none_or(|wanted| wanted == found.generation.to_string()))
        {
            Some(object) => serve_object(&object, headers, SeveralRanges::Ignored),
            None => failure(StatusCode::NOT_FOUND, "NoSuchKey"),
        }
    }

    async fn write(&self, key: &str, query: &Query, request: Request<Incoming>) -> Response<ObjectBody> {
        let condition = condition(request.headers());
        let Some(body) = read_whole(request.into_body(), BODY_BYTES_MAX).await else {
            return failure(StatusCode::BAD_REQUEST, "IncompleteBody");
        };
        if let (Some(upload), Some(part)) = (query.get("uploadId"), query.get("partNumber")) {
            return match self.uploads.put(upload, part, body) {
                Some(etag) => written(&etag, None),
                None => failure(StatusCode::NOT_FOUND, "NoSuchUpload"),
            };
        }
        match self.objects.put_if(key, body, &condition) {
            Some(object) => written(&object.etag, Some(&object)),
            None => failure(StatusCode::PRECONDITION_FAILED, "PreconditionFailed"),
        }
    }

    async fn post(&self, key: &str, query: &Query, request: Request<Incoming>) -> Response<ObjectBody> {
        let condition = condition(request.headers());
        let Some(body) = read_whole(request.into_body(), BODY_BYTES_MAX).await else {
            return failure(StatusCode::BAD_REQUEST, "IncompleteBody");
        };
        if query.get("delete").is_some() {
            return self.remove_several(&String::from_utf8_lossy(&body));
        }
        if query.get("uploads").is_some() {
            let id = self.uploads.begin();
            return xml(format!(
                "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
            ));
        }
        let Some(whole) = query.get("uploadId").and_then(|id| self.uploads.complete(id)) else {
            return failure(StatusCode::NOT_FOUND, "NoSuchUpload");
        };
        match self.objects.put_if(key, whole, &condition) {
            Some(object) => {
                let etag = xml::escape(&object.etag);
                let mut answer = xml(format!(
                    "<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"
                ));
                set(&mut answer, GENERATION, &object.generation.to_string());
                answer
            }
            None => failure(StatusCode::PRECONDITION_FAILED, "PreconditionFailed"),
        }
    }

    fn remove_several(&self, list: &str) -> Response<ObjectBody> {
        let mut done = String::from("<DeleteResult>");
        for key in contents_of(list, "Key") {
            self.objects.remove(&unescape(key));
            done.push_str(&format!("<Deleted><Key>{key}</Key></Deleted>"));
        }
        done.push_str("</DeleteResult>");
        xml(done)
    }

    fn remove(&self, key: &str, query: &Query) -> Response<ObjectBody> {
        match query.get("uploadId") {
            Some(id) => drop(self.uploads.complete(id)),
            None => drop(self.objects.remove(key)),
        }
        plain(StatusCode::NO_CONTENT, Bytes::new())
    }
}

impl Answer for XmlApi {
    type Body = ObjectBody;

    async fn answer(&self, request: Request<Incoming>) -> Response<ObjectBody> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if !self.may(request.headers()) {
            return failure(StatusCode::UNAUTHORIZED, "AuthenticationRequired");
        }
        let Some(key) = self.key(request.uri().path()) else {
            return failure(StatusCode::NOT_FOUND, "NoSuchBucket");
        };
        let query = Query::parse(request.uri().query().unwrap_or(""));
        match *request.method() {
            Method::GET | Method::HEAD if key.is_empty() => xml(list(&self.objects, &query, self.page_max)),
            Method::GET | Method::HEAD => self.read(&key, &query, request.headers()),
            Method::PUT => self.write(&key, &query, request).await,
            Method::POST => self.post(&key, &query, request).await,
            Method::DELETE => self.remove(&key, &query),
            _ => failure(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed"),
        }
    }
}

/// The condition of a write, as S3 or as Google has it.
fn condition(headers: &HeaderMap) -> Precondition {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match (text(IF_GENERATION), text(IF_MATCH), text(IF_NONE_MATCH)) {
        (Some("0"), _, _) | (None, None, Some("*")) => Precondition::Absent,
        (Some(generation), _, _) => Precondition::Generation(generation.parse().unwrap_or(u64::MAX)),
        (None, Some(etag), _) => Precondition::Etag(etag.to_owned()),
        (None, None, _) => Precondition::None,
    }
}

fn written(etag: &str, object: Option<&Object>) -> Response<ObjectBody> {
    let mut answer = plain(StatusCode::OK, Bytes::new());
    set(&mut answer, ETAG, etag);
    if let Some(object) = object {
        set(&mut answer, GENERATION, &object.generation.to_string());
    }
    answer
}

fn xml(text: String) -> Response<ObjectBody> {
    let mut answer = plain(StatusCode::OK, format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{text}"));
    set(&mut answer, CONTENT_TYPE, "application/xml");
    answer
}

fn failure(status: StatusCode, code: &str) -> Response<ObjectBody> {
    let mut answer = xml(format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>"));
    *answer.status_mut() = status;
    answer
}
