//! Ctrl-C: the first cancels what runs, a second one ends the process at once.

use crate::failure::Interrupted;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user has interrupted the command.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over the interrupt signal for the rest of the process.
    ///
    /// # Errors
    ///
    /// Those of the operating system's signal set-up.
    pub(crate) fn install() -> std::io::Result<Interrupt> {
        let raised = Arc::new(AtomicBool::new(false));
        // Registered first, so that it sees the flag as the signal before left it.
        flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&raised))?;
        flag::register(SIGINT, Arc::clone(&raised))?;
        Ok(Interrupt(raised))
    }

    /// Whether the signal came.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For the places between two reads.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] once the signal came.
    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        if self.is_raised() { Err(Interrupted) } else { Ok(()) }
    }
}
