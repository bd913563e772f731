//! The simulated device as lanes see it: one endless object, and a driver that fills targets with nothing.

use super::device::DeviceModel;
use super::world::{Event, Io, World};
use crate::driver::{Completion, DriverSite, LocalDriver, Outcome, ReadOp, ReadTarget, TargetUse, WaitsFor};
use crate::medium::{Entry, LocalMedium, MediumId, OpenObject, TryLock};
use crate::resident::Resident;
use crate::wake::Wake;
use crate::{Blocks, CostModel, Error, ErrorKind, Identity, PutCondition};
use bytes::Bytes;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct VirtualMedium {
    pub(super) id: MediumId,
    pub(super) world: World,
    pub(super) model: DeviceModel,
}

/// An object that never ends.
struct Endless(Identity);

impl OpenObject for Endless {
    fn size(&self) -> u64 {
        u64::MAX / 2
    }

    fn identity(&self) -> &Identity {
        &self.0
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn resident(&self, _bytes: u64) -> Option<Resident<'_>> {
        None
    }

    fn blocks(&self, _bytes: u64) -> Option<Blocks> {
        None
    }

    fn refuse_blocks(&self) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl LocalMedium for VirtualMedium {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        "a device under a virtual clock".to_owned()
    }

    fn family(&self) -> &'static str {
        "virtual"
    }

    fn depth(&self) -> Option<usize> {
        None
    }

    fn cost(&self) -> CostModel {
        self.model.cost()
    }

    fn driver(&self, _site: DriverSite<'_>) -> Result<Box<dyn LocalDriver>, Error> {
        let lane = self.world.state().lane;
        Ok(Box::new(VirtualDriver {
            world: self.world.clone(),
            lane,
            queued: Vec::new(),
            targets: Vec::new(),
        }))
    }

    fn open(&self, _key: &str) -> Result<Arc<dyn OpenObject>, Error> {
        Ok(Arc::new(Endless(Identity::Version(0))))
    }

    fn identify(&self, _key: &str) -> Result<Identity, Error> {
        Ok(Identity::Version(0))
    }

    fn verify(&self, _object: &dyn OpenObject) -> Result<(), Error> {
        Ok(())
    }

    fn list(&self, _prefix: &str) -> Result<Vec<Entry>, Error> {
        Ok(Vec::new())
    }

    fn put(&self, _key: &str, _bytes: Bytes, _condition: &PutCondition) -> Result<Option<Identity>, Error> {
        Err(Error::new(ErrorKind::Unsupported, "virtual devices are read only"))
    }

    fn delete(&self, _key: &str) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unsupported, "virtual devices are read only"))
    }

    fn delete_version(&self, _key: &str, _version: &Identity) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unsupported, "virtual devices are read only"))
    }

    fn try_lock(&self, _key: &str) -> Result<TryLock, Error> {
        Ok(TryLock::None)
    }
}

/// Submits to the device when it is flushed, as a ring does, and spends its lane's time on it.
struct VirtualDriver {
    world: World,
    lane: usize,
    queued: Vec<Io>,
    /// Targets and lengths of the reads in flight, by slot.
    targets: Vec<Option<(ReadTarget, usize)>>,
}

impl LocalDriver for VirtualDriver {
    fn name(&self) -> &'static str {
        "virtual"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Fills
    }

    fn waits_for(&self) -> WaitsFor {
        WaitsFor::Device
    }

    fn submit(&mut self, read: ReadOp<'_>) {
        let mut state = self.world.state();
        let issue_ns = state.costs.issue_read_ns;
        state.spend(issue_ns);
        let index = read.slot as usize;
        if self.targets.len() <= index {
            self.targets.resize_with(index + 1, || None);
        }
        self.targets[index] = read.target.map(|target| (target, read.len));
        self.queued.push(Io { lane: self.lane, slot: read.slot, len: read.len });
        state.in_flight[self.lane] += 1;
    }

    fn flush(&mut self) {
        if self.queued.is_empty() {
            return;
        }
        let mut state = self.world.state();
        let costs = state.costs;
        state.tally.flushes += 1;
        state.spend(costs.flush_ns);
        for io in self.queued.drain(..) {
            state.spend(costs.kernel_read_ns);
            let at_ns = state.clock_ns();
            state.schedule(at_ns, Event::Arrives(io));
        }
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        let mut state = self.world.state();
        let complete = std::mem::take(&mut state.complete[self.lane]);
        let complete_ns = state.costs.complete_read_ns * complete.len() as f64;
        state.spend(complete_ns);
        state.in_flight[self.lane] -= complete.len();
        completions.extend(complete.iter().filter_map(|slot| {
            let (target, len) = self.targets.get_mut(*slot as usize)?.take()?;
            Some(Completion { slot: *slot, target: Some(target), outcome: Outcome::Filled(len) })
        }));
    }

    fn wait(&mut self, _wake: &Wake, _timeout: Duration) {}

    fn cancel(&mut self, _slot: u32) {}

    fn in_flight(&self) -> usize {
        self.world.state().in_flight[self.lane]
    }
}
