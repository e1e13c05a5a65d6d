//! One question that long work asks often: has somebody told us to stop?

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::Error;

/// A wish to stop, shared by everybody who works. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks everybody to stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// An error once somebody asked, for `?` between two steps.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// [`Error::Interrupted`] once somebody asked, else this error: what was interrupted may have failed by that.
    #[must_use]
    pub fn or(&self, error: Error) -> Error {
        self.check().err().unwrap_or(error)
    }
}
