//! The engine's side: fetches from lanes, and what blocks its caller.

use super::CloudSettings;
use super::credentials::Renewal;
use super::gather::{self, Gather};
use super::network::{Network, START};
use super::options::CloudOptions;
use super::provider::{Abilities, Connected, connect};
use super::service::Service;
use super::transport::Transport;
use crate::medium::{Entry, MediumId, RemoteSource};
use crate::per_process::PerProcess;
use crate::remote::{FetchRequest, Reply};
use crate::{CostModel, Error, ErrorKind, Identity, PutCondition, RemoteStats, fork};
use bytes::Bytes;
use object_store::ObjectStore;
use std::fmt;
use std::sync::Arc;

/// A bucket, container or web server, as the engine sees it. Holds what is needed to connect, and in each process that used
/// it the connection.
pub(super) struct Source {
    id: MediumId,
    /// The root without credentials.
    name: String,
    origin: Origin,
    service: PerProcess<Arc<Service>>,
}

/// Where a source's connection comes from.
pub(super) enum Origin {
    /// A URL: each process connects by itself.
    Location { url: String, options: CloudOptions, settings: CloudSettings },
    /// A store that somebody else made, in the process of this fork generation.
    Store { store: Arc<dyn ObjectStore>, settings: CloudSettings, generation: u64 },
}

impl fmt::Debug for Source {
    /// The name only: the URL may have secrets in it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Source {
    pub(super) fn new(id: MediumId, name: String, origin: Origin) -> Source {
        Source { id, name, origin, service: PerProcess::new() }
    }

    /// This process's connection.
    fn service(&self) -> Result<(&'static Network, &Arc<Service>), Error> {
        let network = Network::of_process()?;
        let service = self.service.get(|| network.service(self.id.0, || self.connect(network)))?;
        Ok((network, service))
    }

    fn connect(&self, network: &Network) -> Result<Service, Error> {
        let (connected, settings) = match &self.origin {
            Origin::Location { url, options, settings } => {
                let connected = connect(url, options, Transport::new)?;
                let connections = connected.transport.requests_max();
                (connected, settings.clone().with_requests_max(connections).workable())
            }
            Origin::Store { generation, .. } if *generation != fork::generation() => {
                let message = "wanted to use a store that was made before a fork; make another in the child";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            Origin::Store { store, settings, .. } => {
                let settings = settings.clone().workable();
                let endpoint = network.endpoint(&Arc::from(self.name.as_str()), &settings);
                let store = Arc::clone(store);
                let abilities = ANY_STORE;
                let renewal = Renewal::default();
                let (reads, lasting_name, gather, transport) = (None, None, None, None);
                return Ok(Service {
                    store,
                    reads,
                    endpoint,
                    lasting_name,
                    abilities,
                    settings,
                    gather,
                    transport,
                    renewal,
                });
            }
        };
        let Connected { store, reads, endpoint, lasting_name, abilities, web, transport, renewal } =
            connected;
        let endpoint = network.endpoint(&endpoint, &settings);
        let gather = web.map(|web| Gather::new(web.client, web.root));
        let (lasting_name, transport) = (Some(lasting_name), Some(transport));
        Ok(Service { store, reads, endpoint, lasting_name, abilities, settings, gather, transport, renewal })
    }

    /// Runs an operation on the runtime and waits for it.
    fn wait_for<T, F>(&self, operation: impl FnOnce(Arc<Service>) -> F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let (network, service) = self.service()?;
        network.wait_for(operation(Arc::clone(service)))
    }
}

/// What a store of somebody else's is taken to do; where it does not, its own errors say so.
const ANY_STORE: Abilities = Abilities { suffix_ranges: true, lists: true, conditional_puts: true };

impl RemoteSource for Source {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        self.name.clone()
    }

    /// Of the connection that requests are made by: a name of options alone could be another one's, where the environment
    /// changed in between.
    fn lasting_name(&self) -> Result<Option<Arc<str>>, Error> {
        let (_, service) = self.service()?;
        Ok(service.lasting_name.clone())
    }

    /// What a request costs is what a range more in one costs, where several go together.
    fn cost(&self) -> CostModel {
        let Some(service) = self.service.made() else { return START };
        let costs = service.endpoint.costs();
        match &service.gather {
            Some(gather) if gather.is_in_use() => {
                CostModel { request_cost_ns: gather::range_cost_ns(&costs), ..costs }
            }
            Some(_) | None => costs,
        }
    }

    fn expect(&self, fetches: u64) {
        let Ok((network, service)) = self.service() else { return };
        let Some(transport) = &service.transport else { return };
        let connections = service.endpoint.connections_for(fetches);
        if transport.lacks(service.endpoint.name(), connections) {
            let (transport, endpoint) = (transport.clone(), Arc::clone(&service.endpoint));
            network.spawn(async move { transport.prepare(endpoint.name(), connections) });
        }
    }

    fn is_near(&self) -> bool {
        self.service.made().is_some_and(|service| service.endpoint.is_near())
    }

    /// The work runs on the runtime; the lane's inbox gets the bytes, and nothing is decoded here. A fetch that waits for
    /// its turn holds no buffer.
    fn fetch(&self, request: FetchRequest, reply: Reply) {
        let (network, service) = match self.service() {
            Ok((network, service)) => (network, Arc::clone(service)),
            Err(error) => return reply.complete(Err(error)),
        };
        network.spawn(async move {
            let FetchRequest { key, range, if_match, cancelled } = request;
            // Boxed: what passes it on would hold it several times.
            let work = Box::pin(service.fetch(&key, range, if_match));
            let result = network.cancelling.unless_raised(&cancelled, work).await;
            let stopped = || Err(Error::new(ErrorKind::Cancelled, "nobody waits for these bytes any more"));
            reply.complete(result.unwrap_or_else(stopped));
        });
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        let prefix = prefix.to_owned();
        self.wait_for(|service| async move { service.list(&prefix).await })
    }

    fn size(&self, key: &str) -> Result<u64, Error> {
        let key = key.to_owned();
        self.wait_for(|service| async move { service.size(&key).await })
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        let (key, condition) = (key.to_owned(), condition.clone());
        self.wait_for(|service| async move { service.put(&key, bytes, &condition).await })
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        let key = key.to_owned();
        self.wait_for(|service| async move { service.delete(&key).await })
    }

    fn stats(&self) -> RemoteStats {
        let Some(service) = self.service.made() else { return RemoteStats::default() };
        let mut stats = service.endpoint.stats();
        if let Ok(network) = Network::of_process() {
            [stats.connections_opened, stats.connections_open, stats.http2_open] =
                network.connections(&service.endpoint);
        }
        stats
    }
}
