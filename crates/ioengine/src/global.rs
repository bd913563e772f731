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
        loop {
            let seen = GLOBAL.load(Ordering::Acquire);
            if let Some(engine) = current(seen) {
                return engine;
            }
            // Where another thread was faster, its engine is everybody's.
            if let Some(engine) = install(EngineConfig::default(), Some(seen)) {
                return engine;
            }
        }
    }

    /// Makes an engine with this configuration the one that [`Engine::global`] gives from now on. Batches under way end
    /// on the one before.
    pub fn set_global(config: EngineConfig) -> Engine {
        loop {
            if let Some(engine) = install(config.clone(), None) {
                return engine;
            }
        }
    }
}

#[expect(unsafe_code, reason = "reads the slot that was published")]
fn current(slot: *mut Slot) -> Option<Engine> {
    // SAFETY: a published slot is never freed or written to (see `install`).
    let slot = unsafe { slot.as_ref() }?;
    (slot.generation == fork::generation()).then(|| slot.engine.clone())
}

/// Publishes a new slot: in place of `seen`, or of whatever is there. The one before is leaked: another thread may be
/// reading it, and there are only as many as there were forks and reconfigurations.
fn install(config: EngineConfig, seen: Option<*mut Slot>) -> Option<Engine> {
    let engine = Engine::new(config);
    let slot = Box::new(Slot { engine: engine.clone(), generation: fork::generation() });
    let seen = seen.unwrap_or_else(|| GLOBAL.load(Ordering::Acquire));
    let slot = Box::into_raw(slot);
    match GLOBAL.compare_exchange(seen, slot, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(engine),
        Err(_) => {
            discard(slot);
            None
        }
    }
}

#[expect(unsafe_code, reason = "frees a slot that was not published")]
fn discard(slot: *mut Slot) {
    // SAFETY: the one caller made it by `Box::into_raw` and failed to publish it, so nobody else knows it.
    drop(unsafe { Box::from_raw(slot) });
}
