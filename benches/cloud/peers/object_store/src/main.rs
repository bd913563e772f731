//! object_store: ranges of many objects behind a URL, by one `get_ranges` an object, some objects at a time.
//!
//! The variant is a location as benches/cloud/readers/location.py writes it; `more` holds `object_bytes`, the length of
//! every object, and `at_once`, how many objects are read at a time. The case's offsets count through all objects.

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore};
use protocol::{Case, Failure, ItemSums, Kind, Reader, Ready, Refused, item_sum, serve};
use serde_json::Value;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::runtime::Runtime;

fn main() -> ExitCode {
    let version = protocol::locked_version(include_str!("../Cargo.lock"), "object_store");
    serve("object_store", version, |case: &Case, variant| ready(case, variant.unwrap_or_default()))
}

fn ready(case: &Case, variant: &str) -> Result<Ready, Failure> {
    let Kind::Ranges(case) = &case.kind else { return Err(Refused("reads ranges only".to_owned()).into()) };
    let location: Value = serde_json::from_str(variant)?;
    let object_bytes = number(&location["more"]["object_bytes"])?;
    let at_once = number(&location["more"]["at_once"])? as usize;
    let mut wanted: Vec<Wanted> = case.keys.iter().map(Wanted::new).collect();
    for (index, offset) in case.offsets()?.into_iter().enumerate() {
        let object = &mut wanted[(offset / object_bytes) as usize];
        let start = offset % object_bytes;
        object.ranges.push(start..start + case.range_len);
        object.indexes.push(index as u64);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let reader =
        Ranges { store: store(&location)?, wanted, at_once, runtime, sums: Arc::default(), checksum: 0 };
    Ok(Ready { reader: Box::new(reader), details: format!("get_ranges of {at_once} objects at a time") })
}

fn number(value: &Value) -> Result<u64, Failure> {
    Ok(value.as_u64().ok_or_else(|| format!("wanted a number, found {value}"))?)
}

fn store(location: &Value) -> Result<Arc<dyn ObjectStore>, Failure> {
    let text = |name: &str| location[name].as_str().unwrap_or_default();
    let client = ClientOptions::new().with_allow_http(true);
    if text("scheme") == "s3" {
        let store = AmazonS3Builder::new()
            .with_bucket_name(text("bucket"))
            .with_endpoint(text("endpoint"))
            .with_region("us-east-1")
            // The server checks no signature; requests are signed all the same, as they would be elsewhere.
            .with_access_key_id("cloud-bench")
            .with_secret_access_key("cloud-bench-secret")
            .with_client_options(client)
            .build()?;
        return Ok(Arc::new(store));
    }
    let url = format!("{}/{}", text("endpoint"), text("bucket"));
    Ok(Arc::new(HttpBuilder::new().with_url(url).with_client_options(client).build()?))
}

/// What is wanted of one object.
struct Wanted {
    path: Path,
    ranges: Vec<Range<u64>>,
    /// The items that the ranges are.
    indexes: Vec<u64>,
}

impl Wanted {
    fn new(key: &String) -> Wanted {
        Wanted { path: Path::from(key.as_str()), ranges: Vec::new(), indexes: Vec::new() }
    }
}

struct Ranges {
    store: Arc<dyn ObjectStore>,
    wanted: Vec<Wanted>,
    at_once: usize,
    runtime: Runtime,
    sums: Arc<ItemSums>,
    checksum: u64,
}

impl Reader for Ranges {
    fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        let one = |wanted: &Wanted| {
            let (store, sums) = (Arc::clone(&self.store), Arc::clone(&self.sums));
            let (path, ranges, indexes) =
                (wanted.path.clone(), wanted.ranges.clone(), wanted.indexes.clone());
            async move {
                let task = tokio::spawn(async move {
                    let read = store.get_ranges(&path, &ranges).await?;
                    for (index, bytes) in indexes.iter().zip(&read) {
                        sums.add(*index, *index, item_sum(bytes));
                    }
                    Ok::<(), object_store::Error>(())
                });
                Ok::<(), Failure>(task.await??)
            }
        };
        let tasks = stream::iter(self.wanted.iter().map(one)).buffer_unordered(self.at_once);
        self.runtime.block_on(tasks.try_collect::<()>())?;
        self.checksum = self.sums.take();
        Ok(Vec::new())
    }

    fn checksum(&self) -> u64 {
        self.checksum
    }
}
