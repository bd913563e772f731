//! The drivers in use, and what their media tell of themselves.

use crate::medium::LocalMedium;
use std::sync::{Arc, Weak};

/// Drivers, each with the media that it reads.
#[derive(Default)]
pub(crate) struct Drivers(Vec<Noted>);

struct Noted {
    name: &'static str,
    /// Reads that a lane keeps in flight, where that was measured.
    depth: Option<usize>,
    medium: Weak<dyn LocalMedium>,
    /// What the medium told last: it is not kept alive for this.
    told: String,
}

impl Drivers {
    /// Notes that `name` reads `medium`, with so many reads in flight a lane where that was measured.
    pub(crate) fn note(&mut self, name: &'static str, depth: Option<usize>, medium: &Arc<dyn LocalMedium>) {
        let is_known = |noted: &Noted| {
            noted.name == name && std::ptr::addr_eq(noted.medium.as_ptr(), Arc::as_ptr(medium))
        };
        if !self.0.iter().any(is_known) {
            self.forget_repeated();
            let told = medium.describe();
            self.0.push(Noted { name, depth, medium: Arc::downgrade(medium), told });
        }
    }

    /// A line for each, as it is now.
    pub(crate) fn describe(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for Noted { name, depth, medium, told } in &mut self.0 {
            if let Some(medium) = medium.upgrade() {
                *told = medium.describe();
            }
            let depth = depth.map(|depth| format!(", depth {depth}")).unwrap_or_default();
            let line = format!("{name}{depth}: {told}");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// Of media that came and went only what they said is kept, once.
    fn forget_repeated(&mut self) {
        let mut kept: Vec<Noted> = Vec::new();
        for noted in self.0.drain(..) {
            let alive = noted.medium.strong_count() != 0;
            if alive
                || !kept.iter().any(|other| {
                    other.name == noted.name && other.depth == noted.depth && other.told == noted.told
                })
            {
                kept.push(noted);
            }
        }
        self.0 = kept;
    }
}
