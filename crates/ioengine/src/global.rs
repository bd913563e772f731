//! The process's shared engine.

use crate::engine::lock;
use crate::per_process::PerProcess;
use crate::{Engine, EngineConfig};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The engine in force. A child of a fork finds its parent's here and makes its own with the same configuration; the
/// parent's stays as it is, because locks inside may be held by threads that the child does not have.
static GLOBAL: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

/// The engines that were in force in this process, so that going back to a configuration starts no lanes anew. Held while
/// one is put in force by [`Engine::set_global`], so that the last who asked is the one that counts.
static KNOWN: PerProcess<Mutex<Vec<&'static Engine>>> = PerProcess::new();

impl Engine {
    /// The engine that everything in this process shares unless told otherwise. Made on first use with the default
    /// configuration, or before that by [`Engine::set_global`]; made afresh in a forked child, with its parent's
    /// configuration.
    pub fn global() -> Engine {
        loop {
            let seen = GLOBAL.load(Ordering::Acquire);
            let before = published(seen);
            if let Some(engine) = before.filter(|engine| engine.is_own()) {
                return engine.clone();
            }
            let config = before.map_or_else(EngineConfig::default, |engine| engine.config().clone());
            let made = Box::into_raw(Box::new(Engine::new(config)));
            // Where another thread was faster, its engine is everybody's.
            if GLOBAL.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
                discard(made);
            }
        }
    }

    /// Makes an engine with this configuration the one that [`Engine::global`] gives from now on. Batches under way end
    /// on the one before. The new one counts on where that did and has its extensions, and its open files where as
    /// many are kept, which are closed else; one that was in force before with
    /// the same configuration is so again.
    pub fn set_global(config: EngineConfig) -> Engine {
        let config = EngineConfig { limits: config.limits.workable(), ..config };
        let Ok(known) = KNOWN.get(|| Ok(Mutex::default())) else { return Engine::global() };
        let mut known = lock(known);
        // There is one to go on from, and only this changes it now.
        drop(Engine::global());
        let Some(before) = published(GLOBAL.load(Ordering::Acquire)) else { return Engine::global() };
        if !known.iter().any(|engine| engine.is_same(before)) {
            known.push(before);
        }
        let found = known.iter().copied().find(|engine| *engine.config() == config);
        let engine = found.unwrap_or_else(|| {
            let made: &'static Engine = Box::leak(Box::new(before.beside(config)));
            known.push(made);
            made
        });
        GLOBAL.store(std::ptr::from_ref(engine).cast_mut(), Ordering::Release);
        before.give_way_to(engine);
        engine.clone()
    }
}

#[expect(unsafe_code, reason = "reads the engine that was published")]
fn published(engine: *mut Engine) -> Option<&'static Engine> {
    // SAFETY: an engine that was published is never freed or written to: another thread may be reading it, and there are only
    // as many as there were forks and configurations.
    unsafe { engine.as_ref() }
}

#[expect(unsafe_code, reason = "frees an engine that was not published")]
fn discard(engine: *mut Engine) {
    // SAFETY: the one caller made it by `Box::into_raw` and failed to publish it, so nobody else knows it.
    drop(unsafe { Box::from_raw(engine) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteRange, Limits, MemoryMedium};
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn engines_take_turns_and_share_what_lasts() {
        let config = |lanes| EngineConfig { limits: Limits::for_lanes(lanes), ..EngineConfig::default() };
        let first = Engine::global();
        let extension: Arc<AtomicU64> = first.extension();
        let (three, five) = (Engine::set_global(config(3)), Engine::set_global(config(5)));
        assert_eq!((three.config().limits.lanes, five.config().limits.lanes), (3, 5));
        assert!(Engine::global().is_same(&five) && !three.is_same(&five));
        assert!(Arc::ptr_eq(&extension, &five.extension()));
        assert!(Engine::set_global(config(3)).is_same(&three));
        assert!(Engine::set_global(first.config().clone()).is_same(&first));
    }

    #[test]
    fn engines_share_open_objects_or_close_them() {
        let config = |lanes, open_handles_max| EngineConfig {
            limits: Limits { open_handles_max, ..Limits::for_lanes(lanes) },
            ..EngineConfig::default()
        };
        let medium = MemoryMedium::new();
        medium.put("object", &b"bytes"[..]);
        // Counters are of all three.
        let opens = |engine: &Engine| {
            engine.read_object(&medium.object("object"), ByteRange::Bounded { offset: 0, len: 2 }).unwrap();
            (engine.stats().opens, engine.stats().handle_hits)
        };
        let first = Engine::new(config(2, 8));
        assert_eq!(opens(&first), (1, 0));
        let second = first.beside(config(3, 8));
        first.give_way_to(&second);
        assert_eq!(opens(&second), (1, 1));
        let third = second.beside(config(3, 9));
        second.give_way_to(&third);
        assert_eq!(opens(&third), (2, 1));
        assert_eq!(opens(&first), (3, 1), "what was kept for the first two is closed");
        assert_eq!(opens(&third), (3, 2));
    }
}
