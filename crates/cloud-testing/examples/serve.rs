//! Serves a folder's files, for tests and benches in other languages: `serve --kind web --folder data --latency-ms 20`.
//!
//! Prints one line of JSON, with `endpoint` and what else a client needs, and serves until its input ends. For each line
//! of input it prints a line of JSON with what was counted so far.

#![allow(clippy::print_stdout, reason = "it prints what it was asked for")]

use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use swath_cloud_testing::{
    AzureServer, Certificate, Delay, FaultProxy, Faults, GcsServer, Link, Objects, S3_ACCESS_KEY,
    S3_SECRET_KEY, S3MemoryServer, S3Server, Splice, SpliceConfig, WebProtocol, WebServer,
};

const USAGE: &str = "usage: serve --kind web|http1|https|http1-tls|s3|s3-memory|gcs|azure --folder FOLDER [--bucket NAME] \
    [--threads N] [--page N] [--latency-ms N] [--bytes-per-second N] [--fault-per-mille N] [--fault-seed N]\n\
    latency is added on the way to the server";

/// A server that runs, where it listens, what clients need to know, and how many requests it has answered, where it counts.
struct Served {
    address: SocketAddr,
    scheme: &'static str,
    facts: Value,
    requests: Box<dyn Fn() -> Option<u64>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let served = start(&options)?;
    let number = |name: &str| -> Result<Option<u64>, Box<dyn Error>> {
        Ok(options.get(name).map(|text| text.parse()).transpose()?)
    };
    let mut address = served.address;
    let mut proxy = None;
    if let Some(per_mille) = number("fault-per-mille")? {
        let started = FaultProxy::start(address, Link::default())?;
        started.set_faults(Faults::mixed(number("fault-seed")?.unwrap_or(0), u16::try_from(per_mille)?));
        address = started.address();
        proxy = Some(started);
    }
    let (latency_ms, bytes_per_second) = (number("latency-ms")?, number("bytes-per-second")?);
    let mut splice = None;
    if latency_ms.is_some() || bytes_per_second.is_some() {
        let latency = Duration::from_millis(latency_ms.unwrap_or(0));
        let config = SpliceConfig { latency, delay: Delay::ToServer, bytes_per_second, threads: 1 };
        let started = Splice::start(address, config)?;
        address = started.address();
        splice = Some(started);
    }
    let mut facts = served.facts;
    facts["endpoint"] =
        format!("{}://{address}{}", served.scheme, facts["path"].as_str().unwrap_or("")).into();
    print(&facts)?;
    for line in std::io::stdin().lock().lines() {
        line?;
        print(&json!({
            "requests": (served.requests)(),
            "connections": splice.as_ref().map(|splice| splice.counts().connections),
            "bytes_to_clients": splice.as_ref().map(|splice| splice.counts().bytes_to_clients),
            "faults": proxy.as_ref().map(|proxy| proxy.counts().faults.values().sum::<u64>()),
        }))?;
    }
    Ok(())
}

fn print(line: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn options() -> Result<HashMap<String, String>, Box<dyn Error>> {
    let mut options = HashMap::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").ok_or(USAGE)?;
        options.insert(name.to_owned(), words.next().ok_or(USAGE)?);
    }
    Ok(options)
}

fn start(options: &HashMap<String, String>) -> Result<Served, Box<dyn Error>> {
    let folder = Path::new(options.get("folder").ok_or(USAGE)?);
    let bucket = options.get("bucket").map_or("bucket", String::as_str);
    let number = |name: &str, otherwise: usize| options.get(name).map_or(Ok(otherwise), |text| text.parse());
    let (threads, page) = (number("threads", 1)?, number("page", 1000)?);
    let objects = Objects::folder(folder);
    match options.get("kind").ok_or(USAGE)?.as_str() {
        "web" => web(objects, &WebProtocol::Http1AndHttp2, threads, None),
        "http1" => web(objects, &WebProtocol::Http1, threads, None),
        kind @ ("https" | "http1-tls") => {
            let certificate = Certificate::self_signed()?;
            let protocol = match kind {
                "https" => WebProtocol::Http2Tls(certificate.clone()),
                _ => WebProtocol::Http1Tls(certificate.clone()),
            };
            web(objects, &protocol, threads, Some(certificate.pem()))
        }
        "s3" => s3(bucket, folder, &objects),
        "s3-memory" => {
            let server = S3MemoryServer::start(bucket, objects, page, threads)?;
            let address = server.address();
            Ok(Served {
                address,
                scheme: "http",
                facts: s3_facts(bucket),
                requests: Box::new(move || Some(server.requests())),
            })
        }
        "gcs" => {
            let server = GcsServer::start(bucket, objects, page, None)?;
            let address = server.address();
            let facts = json!({ "bucket": bucket });
            Ok(Served { address, scheme: "http", facts, requests: Box::new(move || Some(server.requests())) })
        }
        "azure" => azure(bucket, folder, &objects),
        _ => Err(USAGE.into()),
    }
}

fn web(
    objects: Objects,
    protocol: &WebProtocol,
    threads: usize,
    certificate: Option<&str>,
) -> Result<Served, Box<dyn Error>> {
    let server = WebServer::start(objects, protocol, threads)?;
    let scheme = if certificate.is_some() { "https" } else { "http" };
    let address = server.address();
    let facts = json!({ "certificate": certificate });
    Ok(Served { address, scheme, facts, requests: Box::new(move || Some(server.requests())) })
}

fn s3_facts(bucket: &str) -> Value {
    json!({ "bucket": bucket, "access_key_id": S3_ACCESS_KEY, "secret_access_key": S3_SECRET_KEY, "region": "us-east-1" })
}

fn s3(bucket: &str, folder: &Path, objects: &Objects) -> Result<Served, Box<dyn Error>> {
    let server = S3Server::start(bucket)?;
    for key in objects.list("") {
        server.put(&key, std::fs::read(folder.join(&key))?)?;
    }
    let address = server.address();
    let requests = Box::new(move || {
        let _keeps_running = &server;
        None
    });
    Ok(Served { address, scheme: "http", facts: s3_facts(bucket), requests })
}

fn azure(bucket: &str, folder: &Path, objects: &Objects) -> Result<Served, Box<dyn Error>> {
    let server =
        AzureServer::start()?.ok_or("the Azure emulator is not installed: scripts/install-azurite")?;
    server.create_container(bucket)?;
    for key in objects.list("") {
        server.put(bucket, &key, &std::fs::read(folder.join(&key))?)?;
    }
    let address = server.address();
    let facts = json!({
        "container": bucket, "account": AzureServer::ACCOUNT, "key": AzureServer::KEY,
        "path": format!("/{}", AzureServer::ACCOUNT),
    });
    let requests = Box::new(move || {
        let _keeps_running = &server;
        None
    });
    Ok(Served { address, scheme: "http", facts, requests })
}
