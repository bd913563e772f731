//! The process's shared engine.

use crate::{Engine, EngineConfig, fork};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The current process's engine. A child of a fork finds its parent's here, sees the generation, and makes its own;
/// the parent's stays as it is, because locks inside may be held by threads that the child does not have.
static GLOBAL: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

struct Slot {
    engine: Engine,
    generation: u64,
}

impl Engine {
    /// The engine that everything in this process shares unless told otherwise. Made on first use with the default
    /// configuration, or before that by [`Engine::set_global`]; made afresh in a forked child.
    pub fn global() -> Engine {
        match current() {
            Some(engine) => engine,
            None => install(EngineConfig::default()),
        }
    }

    /// Makes an engine with this configuration the one that [`Engine::global`] gives from now on. Batches under way end
    /// on the one before.
    pub fn set_global(config: EngineConfig) -> Engine {
        install(config)
    }
}

#[expect(unsafe_code, reason = "reads the slot that was published")]
fn current() -> Option<Engine> {
    let slot = GLOBAL.load(Ordering::Acquire);
    // SAFETY: a published slot is never freed or written to (see `install`).
    let slot = unsafe { slot.as_ref() }?;
    (slot.generation == fork::generation()).then(|| slot.engine.clone())
}

/// Publishes a new slot. The one before is leaked: another thread may be reading it, and there are only as many as there
/// were forks and reconfigurations.
fn install(config: EngineConfig) -> Engine {
    let engine = Engine::new(config);
    let slot = Box::new(Slot { engine: engine.clone(), generation: fork::generation() });
    GLOBAL.store(Box::into_raw(slot), Ordering::Release);
    engine
}
