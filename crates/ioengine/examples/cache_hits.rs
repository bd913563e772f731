//! What a hit of the cache costs: `cache_hits [memory|disk] [BYTES] [HITS]`. The source in front of which it stands is a
//! simulated one, so that what is measured is the cache.
#![allow(clippy::print_stdout, reason = "a program")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use swath_ioengine::{
    ByteRange, CacheConfig, CacheTier, CancelFlag, Error, ErrorKind, FetchRequest, Freshness, Medium, Reply,
    SimulatedConfig, SimulatedRemote, memory_len,
};

const RANGES: u64 = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tier = arguments.first().map_or("memory", String::as_str);
    let bytes: u64 = arguments.get(1).map_or(Ok(4096), |text| text.parse())?;
    let hits: u64 = arguments.get(2).map_or(Ok(1_000_000), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("swath-cache-hits-{}", std::process::id()));
    let on_disk = tier == "disk";
    let config = CacheConfig {
        memory_bytes: if on_disk { 0 } else { RANGES * (bytes + 1024) * 4 },
        folder: on_disk.then(|| folder.clone()),
        freshness: Freshness::Immutable,
        ..CacheConfig::default()
    };
    let result = measure(config, bytes, hits);
    if on_disk {
        std::fs::remove_dir_all(&folder)?;
    }
    println!("{tier}, {bytes} bytes: {:.0} ns a hit", result?);
    Ok(())
}

/// Nanoseconds a hit.
fn measure(config: CacheConfig, bytes: u64, hits: u64) -> Result<f64, Error> {
    let jitter = Duration::ZERO;
    let remote =
        SimulatedRemote::new(SimulatedConfig { latency: jitter, jitter, ..SimulatedConfig::default() })?;
    remote.put("archive/array/c/0/0", vec![7; memory_len(bytes * RANGES)?]);
    // Opened again, so that all that was written is in files.
    for _ in 0..2 {
        let tier = CacheTier::new(config.clone())?;
        fill(&tier.wrap(&remote.medium(), "s3://bucket"), bytes)?;
        tier.flush();
        if config.folder.is_none() {
            return time(&tier, &tier.wrap(&remote.medium(), "s3://bucket"), bytes, hits);
        }
    }
    let tier = CacheTier::new(config)?;
    time(&tier, &tier.wrap(&remote.medium(), "s3://bucket"), bytes, hits)
}

fn fill(medium: &Medium, bytes: u64) -> Result<(), Error> {
    for index in 0..RANGES {
        let (told, answer) = mpsc::channel();
        ask(medium, &Arc::from("archive/array/c/0/0"), index, bytes, move |_| told.send(()).unwrap_or(()));
        answer.recv().map_err(|_| Error::new(ErrorKind::Internal, "no answer"))?;
    }
    Ok(())
}

fn time(tier: &CacheTier, medium: &Medium, bytes: u64, hits: u64) -> Result<f64, Error> {
    let key = Arc::from("archive/array/c/0/0");
    let found = Arc::new(AtomicU64::new(0));
    let misses = tier.stats().misses;
    let started = Instant::now();
    for hit in 0..hits {
        let found = Arc::clone(&found);
        ask(medium, &key, hit * 101 % RANGES, bytes, move |len| {
            found.fetch_add(len, Ordering::Relaxed);
        });
    }
    let spent = started.elapsed();
    if found.load(Ordering::Relaxed) != hits * bytes || tier.stats().misses != misses {
        return Err(Error::new(ErrorKind::Internal, format!("not all were hits: {:?}", tier.stats())));
    }
    Ok(spent.as_secs_f64() * 1e9 / float(hits.max(1)))
}

#[expect(clippy::cast_precision_loss, reason = "for a quotient that is printed")]
fn float(count: u64) -> f64 {
    count as f64
}

fn ask(medium: &Medium, key: &Arc<str>, index: u64, bytes: u64, then: impl FnOnce(u64) + Send + 'static) {
    let Medium::Remote(source) = medium else { return };
    let range = ByteRange::Bounded { offset: index * bytes, len: bytes };
    let request =
        FetchRequest { key: Arc::clone(key), range, if_match: None, cancelled: CancelFlag::default() };
    source.fetch(
        request,
        Reply::calling(move |result| then(result.map_or(0, |found| found.bytes.len() as u64))),
    );
}
