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
use object_store::ObjectStoreExt;
use object_store::path::Path;
use std::future::Future;

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

/// Gets a key of a store whose server says yes to all, and tells what was asked last.
fn asked(url: &str, set: &[(&str, &str)], variables: &[(&str, &str)], key: &str) -> String {
    let answers = Answering::with("body");
    let built = built(url, set, variables, &answers).unwrap();
    let bytes = run(async { built.store.get(&Path::parse(key).unwrap()).await?.bytes().await }).unwrap();
    assert_eq!(&bytes[..], b"body");
    answers.asked().pop().unwrap()
}
