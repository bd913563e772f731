//! The runtime that requests run on, and what all sources of the process share.

use super::CloudSettings;
use super::cancelling::Cancelling;
use super::concurrency::Bounds;
use super::cost_estimate::CostEstimate;
use super::endpoint::Endpoint;
use super::service::{Service, bounds_of};
use super::short_slices::ask_for_short_slices;
use crate::engine::lock;
use crate::interrupt::{Waited, wait_for, was_interrupted};
use crate::per_process::PerProcess;
use crate::{Error, ErrorKind};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak, mpsc};
use tokio::runtime::{Builder, Runtime};

/// Of this process: made with the first request, never ended. A forked child makes its own.
static NETWORK: PerProcess<Network> = PerProcess::new();

/// Threads for requests, and what is known of endpoints.
#[derive(Debug)]
pub(super) struct Network {
    runtime: Runtime,
    pub(super) cancelling: Cancelling,
    /// What was learned of an endpoint outlives the sources that learned it, up to [`ENDPOINTS_KEPT`].
    endpoints: Mutex<HashMap<EndpointKey, Arc<Endpoint>>>,
    /// Sources of equal ids share connections.
    services: Mutex<HashMap<u128, Weak<Service>>>,
}

/// An endpoint's name, and the bounds that its sources ask for.
type EndpointKey = (Arc<str>, [usize; 3]);

/// Endpoints that are remembered while no source uses them.
const ENDPOINTS_KEPT: usize = 64;

/// Threads that wait for name servers and files of credentials, at most.
const BLOCKING_THREADS_MAX: usize = 16;

impl Network {
    /// The network of this process.
    ///
    /// # Errors
    ///
    /// What the system said when threads could not be started.
    pub(super) fn of_process() -> Result<&'static Network, Error> {
        NETWORK.get(Network::start)
    }

    fn start() -> Result<Network, Error> {
        // Bodies are only copied here, never decoded: one thread copies some gigabytes a second.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(if processors < 4 { 1 } else { 2 })
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("swath-net")
            .on_thread_start(ask_for_short_slices)
            .enable_all()
            .build()
            .map_err(Error::from_io)?;
        Ok(Network {
            runtime,
            cancelling: Cancelling::default(),
            endpoints: Mutex::default(),
            services: Mutex::default(),
        })
    }

    /// Runs work on the runtime.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    /// Runs work on the runtime and waits for it, on a thread that is not one of the runtime's. Where the thread is
    /// [interrupted](crate::interruptible), the work is dropped.
    ///
    /// # Errors
    ///
    /// What the work failed with; [`Internal`](ErrorKind::Internal) where it panicked; [`Cancelled`](ErrorKind::Cancelled)
    /// where it was interrupted.
    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, receiver) = mpsc::sync_channel(1);
        if was_interrupted() {
            return Err(interrupted());
        }
        let task = self.runtime.spawn(async move {
            // Nobody receives where the waiting thread is gone.
            drop(sender.send(work.await));
        });
        match wait_for(&receiver) {
            Waited::Received(result) => result,
            Waited::Ended => Err(Error::new(ErrorKind::Internal, "a request ended without a result")),
            Waited::Interrupted => {
                task.abort();
                Err(interrupted())
            }
        }
    }

    /// The service of a source, connected now where no source of that id is.
    pub(super) fn service(
        &self,
        id: u128,
        connect: impl FnOnce() -> Result<Service, Error>,
    ) -> Result<Arc<Service>, Error> {
        if let Some(service) = lock(&self.services).get(&id).and_then(Weak::upgrade) {
            return Ok(service);
        }
        let _entered = self.runtime.enter();
        let made = Arc::new(connect()?);
        let mut services = lock(&self.services);
        services.retain(|_, service| service.strong_count() != 0);
        // Where another thread was faster, its connections are everybody's.
        if let Some(service) = services.get(&id).and_then(Weak::upgrade) {
            return Ok(service);
        }
        services.insert(id, Arc::downgrade(&made));
        Ok(made)
    }

    /// The endpoint of this name and these bounds, shared by all who ask for it.
    pub(super) fn endpoint(&self, name: &Arc<str>, settings: &CloudSettings) -> Arc<Endpoint> {
        let bounds @ Bounds { min, initial, max } = bounds_of(settings);
        let mut endpoints = lock(&self.endpoints);
        if ENDPOINTS_KEPT <= endpoints.len() {
            endpoints.retain(|_, endpoint| 1 < Arc::strong_count(endpoint));
        }
        let key = (Arc::clone(name), [min, initial, max]);
        Arc::clone(endpoints.entry(key).or_insert_with(|| Arc::new(Endpoint::new(Arc::clone(name), bounds))))
    }

    /// Connections of all services of an endpoint: opened, open now, and of those HTTP/2.
    pub(super) fn connections(&self, endpoint: &Arc<Endpoint>) -> [u64; 3] {
        let services: Vec<Arc<Service>> = lock(&self.services).values().filter_map(Weak::upgrade).collect();
        let here = services.iter().filter(|service| Arc::ptr_eq(&service.endpoint, endpoint));
        here.filter_map(|service| service.transport.as_ref()).fold(
            [0; 3],
            |[opened, open, http2], transport| {
                let stats = transport.stats();
                [opened + stats.connections_opened, open + stats.connections_open, http2 + stats.http2_open]
            },
        )
    }
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Cancelled, "the request was interrupted")
}

/// Costs where there is no network yet.
pub(super) const START: crate::CostModel = CostEstimate::START;
