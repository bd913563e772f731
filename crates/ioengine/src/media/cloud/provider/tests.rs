//! URLs and options against the requests that come of them.

mod lasting_names;
mod renewal;
mod requests;
mod secrets;
mod urls;

use super::{Built, build};
use crate::Error;
use crate::media::cloud::CloudOptions;
use crate::media::cloud::credentials::Environment;
use crate::media::cloud::credentials::answering::Answering;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::future::Future;
use std::sync::Arc;

fn options(pairs: &[(&str, &str)]) -> CloudOptions {
    let mut options = CloudOptions::new();
    for (name, value) in pairs {
        options.set(name, *value).unwrap();
    }
    options
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn built(
    url: &str,
    set: &[(&str, &str)],
    variables: &[(&str, &str)],
    answers: &Answering,
) -> Result<Built<Answering>, Error> {
    build(url, &options(set), &Environment::of(variables), |_| Ok(answers.clone()))
}

/// Gets a key of a store whose server says yes to all, and tells what was asked last. Where reads are signed here, they must
/// ask what object_store asks.
fn asked(url: &str, set: &[(&str, &str)], variables: &[(&str, &str)], key: &str) -> String {
    let answers = Answering::with("body");
    let built = built(url, set, variables, &answers).unwrap();
    let get = |store: &Arc<dyn ObjectStore>| {
        let bytes = run(async { store.get(&Path::parse(key).unwrap()).await?.bytes().await }).unwrap();
        assert_eq!(&bytes[..], b"body");
        answers.asked().pop().unwrap()
    };
    let plain = get(&built.store);
    let Some(reads) = &built.reads else { return plain };
    let own = get(reads);
    assert_eq!(without_time(&own), without_time(&plain));
    own
}

/// A request without what depends on when it was made.
fn without_time(request: &str) -> String {
    let untimed = |line: &str| match line.split_once(", Signature=") {
        Some((before, _)) => before.split('/').filter(|part| part.parse::<u32>().is_err()).collect(),
        None => line.to_owned(),
    };
    let lines = request.lines().filter(|line| !line.starts_with("x-amz-date:")).map(untimed);
    lines.collect::<Vec<_>>().join("\n")
}

/// The ways to read from what was built.
fn ways(built: &Built<Answering>) -> Vec<Arc<dyn ObjectStore>> {
    std::iter::once(&built.store).chain(&built.reads).map(Arc::clone).collect()
}
