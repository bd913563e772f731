//! A real S3 server over a temporary folder.

use crate::background::Background;
use crate::http_server::{Answer, Versions, serve};
use crate::object_body::read_whole;
use http::header::{ETAG, IF_MATCH};
use http::{HeaderValue, Method, StatusCode};
use hyper::body::Incoming;
use hyper::{Request, Response};
use s3s::auth::SimpleAuth;
use s3s::dto::{PutObjectInput, StreamingBlob};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, S3, S3Request};
use s3s_fs::FileSystem;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// The access key of every [`S3Server`].
pub const S3_ACCESS_KEY: &str = "swathtest";
/// The secret key of every [`S3Server`].
pub const S3_SECRET_KEY: &str = "swathtestsecret";

/// The longest body that is taken.
const BODY_BYTES_MAX: usize = 1 << 30;

/// The S3 server `s3s-fs` with one bucket. It checks signatures; ranges, conditional puts and uploads in parts are its own.
///
/// What it lacks and is added here: `If-Match` of reads. A listing of it is never cut into pages of its own accord.
pub struct S3Server {
    address: SocketAddr,
    bucket: String,
    files: Arc<FileSystem>,
    background: Background,
    folder: TempDir,
}

impl S3Server {
    /// Starts a server of one empty bucket.
    ///
    /// # Errors
    ///
    /// Where no folder, port or thread can be had.
    pub fn start(bucket: &str) -> io::Result<S3Server> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join(bucket))?;
        let open = || FileSystem::new(folder.path()).map_err(|error| io::Error::other(format!("{error:?}")));
        let files = Arc::new(open()?);
        let mut service = S3ServiceBuilder::new(open()?);
        service.set_auth(SimpleAuth::from_single(S3_ACCESS_KEY, S3_SECRET_KEY));
        let background = Background::start(2)?;
        let address = serve(&background, Versions::Http1, Checked(service.build()))?;
        Ok(S3Server { address, bucket: bucket.to_owned(), files, background, folder })
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint to set as S3's.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bucket's folder.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join(&self.bucket)
    }

    /// Writes an object through the server's own code, without a request.
    ///
    /// # Errors
    ///
    /// As the server answers.
    pub fn put(&self, key: &str, bytes: Vec<u8>) -> io::Result<()> {
        let input = PutObjectInput::builder()
            .bucket(self.bucket.clone())
            .key(key.to_owned())
            .body(Some(StreamingBlob::from(Body::from(bytes))))
            .build()
            .map_err(io::Error::other)?;
        let (method, uri) = (Method::PUT, http::Uri::from_static("/"));
        let request = S3Request {
            input,
            method,
            uri,
            headers: http::HeaderMap::new(),
            extensions: http::Extensions::new(),
            credentials: None,
            region: None,
            service: None,
            trailing_headers: None,
        };
        self.background.block_on(self.files.put_object(request))?.map_err(io::Error::other)?;
        Ok(())
    }
}

/// The service, and the condition of reads that it does not look at.
struct Checked(S3Service);

impl Answer for Checked {
    type Body = Body;

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let wanted = request.headers().get(IF_MATCH).filter(|_| reads).cloned();
        // Read first: a refusal that leaves the body unread would close the connection, at times before its answer came.
        let (head, body) = request.into_parts();
        let Some(body) = read_whole(body, BODY_BYTES_MAX).await else {
            return with_status(StatusCode::BAD_REQUEST);
        };
        let request = Request::from_parts(head, Body::from(body));
        let mut answer = match self.0.call(request).await {
            Ok(answer) => answer,
            Err(_) => with_status(StatusCode::INTERNAL_SERVER_ERROR),
        };
        let found = answer.headers().get(ETAG);
        if answer.status().is_success() && wanted.is_some_and(|wanted| !same(&wanted, found)) {
            answer = with_status(StatusCode::PRECONDITION_FAILED);
        }
        answer
    }
}

fn same(wanted: &HeaderValue, found: Option<&HeaderValue>) -> bool {
    wanted == "*" || Some(wanted) == found
}

fn with_status(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(Body::from(Vec::new()));
    *answer.status_mut() = status;
    answer
}
