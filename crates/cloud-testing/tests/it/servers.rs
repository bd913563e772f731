//! The object stores, by `object_store`'s own clients.

use crate::client::{Plain, block_on};
use crate::raw::noise;
use object_store::aws::{AmazonS3Builder, S3ConditionalPut};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RetryConfig, UpdateVersion,
};
use swath_cloud_testing::{
    AzureServer, GcsServer, Objects, S3_ACCESS_KEY, S3_SECRET_KEY, S3MemoryServer, S3Server,
};

fn once() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

fn s3(endpoint: &str, secret: &str) -> impl ObjectStore {
    AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_bucket_name("bucket")
        .with_region("us-east-1")
        .with_access_key_id(S3_ACCESS_KEY)
        .with_secret_access_key(secret)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_http_connector(Plain::new())
        .with_retry(once())
        .build()
        .unwrap()
}

fn gcs(server: &GcsServer) -> impl ObjectStore {
    GoogleCloudStorageBuilder::new()
        .with_service_account_key(server.service_account())
        .with_bucket_name("bucket")
        .with_client_options(object_store::ClientOptions::new().with_allow_http(true))
        .with_http_connector(Plain::new())
        .with_retry(once())
        .build()
        .unwrap()
}

/// Which forms of ranges a store has.
#[derive(PartialEq)]
enum Ranges {
    All,
    Bounded,
}

async fn check(store: &impl ObjectStore, ranges: Ranges) {
    let bytes = noise(3, 200_000);
    let key = Path::from("d/a");
    store.put(&key, bytes.clone().into()).await.unwrap();
    let found = store.get(&key).await.unwrap();
    let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
    assert!(found.bytes().await.unwrap() == bytes);
    assert!(store.get_range(&key, 100..5000).await.unwrap() == bytes[100..5000]);
    assert!(store.get_range(&key, 199_990..300_000).await.unwrap() == bytes[199_990..]);
    if ranges == Ranges::All {
        let suffix = GetOptions { range: Some(GetRange::Suffix(777)), ..GetOptions::default() };
        let found = store.get_opts(&key, suffix).await.unwrap();
        assert_eq!(found.meta.size, 200_000);
        assert!(found.bytes().await.unwrap() == bytes[199_223..]);
    }
    assert!(store.get_range(&key, 200_000..200_001).await.is_err());
    assert!(matches!(store.get(&Path::from("d/missing")).await, Err(Error::NotFound { .. })));
    let matching = |tag: &str| GetOptions { if_match: Some(tag.to_owned()), ..GetOptions::default() };
    let tag = version.e_tag.clone().unwrap();
    assert!(store.get_opts(&key, matching(&tag)).await.is_ok());
    store.put(&key, bytes[..10].to_vec().into()).await.unwrap();
    assert!(matches!(store.get_opts(&key, matching(&tag)).await, Err(Error::Precondition { .. })));
    // Writes on condition.
    let create = || PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    assert!(matches!(
        store.put_opts(&key, bytes.clone().into(), create()).await,
        Err(Error::AlreadyExists { .. })
    ));
    store.put_opts(&Path::from("d/b"), bytes.clone().into(), create()).await.unwrap();
    let update = |version| PutOptions { mode: PutMode::Update(version), ..PutOptions::default() };
    assert!(matches!(
        store.put_opts(&key, bytes.clone().into(), update(version)).await,
        Err(Error::Precondition { .. })
    ));
    let now = store.get(&key).await.unwrap().meta;
    let version = UpdateVersion { e_tag: now.e_tag, version: now.version };
    store.put_opts(&key, bytes.clone().into(), update(version)).await.unwrap();
    // In parts.
    let mut upload = store.put_multipart(&Path::from("d/parts")).await.unwrap();
    let parts = noise(4, 6 << 20);
    upload.put_part(parts[..5 << 20].to_vec().into()).await.unwrap();
    upload.put_part(parts[5 << 20..].to_vec().into()).await.unwrap();
    upload.complete().await.unwrap();
    assert!(store.get(&Path::from("d/parts")).await.unwrap().bytes().await.unwrap() == parts);
    check_listing(store).await;
}

async fn check_listing(store: &impl ObjectStore) {
    for index in 0..25 {
        store.put(&Path::from(format!("e/f{index:02}/g")), vec![1].into()).await.unwrap();
    }
    store.put(&Path::from("e/zarr.json"), vec![1; 5].into()).await.unwrap();
    let listed = store.list_with_delimiter(Some(&Path::from("e"))).await.unwrap();
    assert_eq!(listed.common_prefixes.len(), 25);
    assert_eq!(listed.objects.len(), 1);
    assert_eq!((listed.objects[0].location.as_ref(), listed.objects[0].size), ("e/zarr.json", 5));
    store.delete(&Path::from("e/f00/g")).await.unwrap();
    let listed = store.list_with_delimiter(Some(&Path::from("e/f00"))).await.unwrap();
    assert!(listed.common_prefixes.is_empty() && listed.objects.is_empty());
}

#[test]
fn s3_by_object_store() {
    let server = S3Server::start("bucket").unwrap();
    block_on(check(&s3(&server.endpoint(), S3_SECRET_KEY), Ranges::All));
    server.put("x/y", vec![5; 100]).unwrap();
    block_on(async {
        let store = s3(&server.endpoint(), S3_SECRET_KEY);
        assert_eq!(store.get_range(&Path::from("x/y"), 0..100).await.unwrap(), vec![5; 100]);
        let thief = s3(&server.endpoint(), "a wrong secret");
        let error = thief.get(&Path::from("x/y")).await.unwrap_err();
        assert!(matches!(error, Error::PermissionDenied { .. }), "{error:?}");
    });
}

#[test]
fn s3_in_memory_by_object_store() {
    let server = S3MemoryServer::start("bucket", Objects::new(), 10, 1).unwrap();
    block_on(check(&s3(&server.endpoint(), S3_SECRET_KEY), Ranges::All));
    assert_ne!(server.requests(), 0);
    assert!(server.objects().remove("d/a"));
}

#[test]
fn gcs_by_object_store() {
    let server = GcsServer::start("bucket", Objects::new(), 10, None).unwrap();
    block_on(check(&gcs(&server), Ranges::All));
}

#[test]
fn gcs_wants_its_token() {
    let server = GcsServer::start("bucket", Objects::new(), 10, Some("secret")).unwrap();
    server.objects().put("a", vec![1; 10]);
    assert_eq!(crate::raw::get(server.address(), "/bucket/a", "").status(), 401);
    assert_eq!(
        crate::raw::get(server.address(), "/bucket/a", "Authorization: Bearer secret\r\n").status(),
        200
    );
}

#[test]
fn azure_by_object_store() {
    let Some(server) = AzureServer::start().unwrap() else {
        eprintln!("skipped: the Azure emulator is not installed (scripts/install-azurite)");
        return;
    };
    block_on(async {
        let builder = MicrosoftAzureBuilder::new()
            .with_account(AzureServer::ACCOUNT)
            .with_access_key(AzureServer::KEY)
            .with_endpoint(server.endpoint())
            .with_allow_http(true)
            .with_container_name("bucket")
            .with_http_connector(Plain::new())
            .with_retry(once());
        server.create_container("bucket").unwrap();
        check(&builder.build().unwrap(), Ranges::Bounded).await;
    });
}
