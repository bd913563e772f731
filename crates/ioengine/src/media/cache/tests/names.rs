//! Media that name themselves.

use super::{bounded, get, immutable, remote};
use crate::media::cache::CacheTier;
use crate::{
    CostModel, Entry, Error, ErrorKind, FetchRequest, Identity, Medium, MediumId, PutCondition, RemoteSource,
    RemoteStats, Reply,
};
use bytes::Bytes;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A source with a name that tests set.
struct Named {
    source: Arc<dyn RemoteSource>,
    name: Mutex<Result<Option<Arc<str>>, Error>>,
}

impl Named {
    fn medium(medium: &Medium, name: Result<Option<&str>, Error>) -> (Medium, Arc<Named>) {
        let Medium::Remote(source) = medium else { panic!("a remote medium") };
        let named = Arc::new(Named {
            source: Arc::clone(source),
            name: Mutex::new(name.map(|it| it.map(Arc::from))),
        });
        (Medium::Remote(Arc::clone(&named) as _), named)
    }
}

impl RemoteSource for Named {
    fn id(&self) -> MediumId {
        self.source.id()
    }
    fn describe(&self) -> String {
        self.source.describe()
    }
    fn lasting_name(&self) -> Result<Option<Arc<str>>, Error> {
        self.name.lock().unwrap().clone()
    }
    fn cost(&self) -> CostModel {
        self.source.cost()
    }
    fn fetch(&self, request: FetchRequest, reply: Reply) {
        self.source.fetch(request, reply);
    }
    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.source.list(prefix)
    }
    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        self.source.put(key, bytes, condition)
    }
    fn delete(&self, key: &str) -> Result<(), Error> {
        self.source.delete(key)
    }
    fn stats(&self) -> RemoteStats {
        self.source.stats()
    }
}

#[test]
fn equal_names_share_and_others_do_not() {
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let remotes = [b'a', b'b'].map(|byte| {
        let remote = remote(Duration::ZERO);
        remote.put("k", vec![byte; 100]);
        remote
    });
    let medium =
        |number: usize, name| tier.wrap_named(&Named::medium(&remotes[number].medium(), Ok(Some(name))).0);
    let first = |medium: &Medium| get(medium, "k", bounded(0, 50)).unwrap().bytes[0];
    assert_eq!((first(&medium(0, "a")), first(&medium(1, "b"))), (b'a', b'b'));
    assert_eq!((first(&medium(0, "a")), first(&medium(1, "b"))), (b'a', b'b'));
    assert_eq!((remotes[0].requests(), remotes[1].requests(), tier.stats().hits), (1, 1, 2));
}

#[test]
fn what_has_no_name_is_read_uncached() {
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let remote = remote(Duration::ZERO);
    remote.put("k", vec![1; 100]);
    let (unnamed, _) = Named::medium(&remote.medium(), Ok(None));
    let refused = Error::new(ErrorKind::PermissionDenied, "no profile");
    let (failing, named) = Named::medium(&remote.medium(), Err(refused));
    let (unnamed, failing) = (tier.wrap_named(&unnamed), tier.wrap_named(&failing));
    for medium in [&unnamed, &unnamed, &failing] {
        assert_eq!(get(medium, "k", bounded(0, 50)).unwrap().bytes.len(), 50);
    }
    assert_eq!((remote.requests(), tier.stats().misses), (3, 0));
    // It can be named after all.
    *named.name.lock().unwrap() = Ok(Some("now".into()));
    for _ in 0..2 {
        get(&failing, "k", bounded(0, 50)).unwrap();
    }
    assert_eq!((remote.requests(), tier.stats().hits), (4, 1));
}
