//! One function for each command, from when it was given until its end was seen.
//!
//! They do the same thing. They are apart, never inlined and never merged, so that a probe at the entry and the return
//! of one (`headroom count`) counts that command and how long it takes, independently of what the driver counts.

use super::Path;
use crate::{driver::census::Kind, wait::Step};

/// Waits for the command of this kind.
pub(super) fn of(path: &mut Path, kind: Kind, step: Step) {
    match kind {
        Kind::Initialise => initialise(path, step),
        Kind::Access => access(path, step),
        Kind::Allocate => allocate(path, step),
        Kind::Enable => enable(path, step),
        Kind::Disable => disable(path, step),
        Kind::Inquire => inquire(path, step),
        Kind::Transmit => transmit(path, step),
    }
}

/// A command's span. The kind is no more than what keeps two functions from being one.
fn span(path: &mut Path, step: Step, kind: Kind) {
    std::hint::black_box(kind);
    path.complete(step);
}

/// A card is made ready.
#[inline(never)]
pub fn initialise(path: &mut Path, step: Step) {
    span(path, step, Kind::Initialise);
}

/// A record is written or read.
#[inline(never)]
pub fn access(path: &mut Path, step: Step) {
    span(path, step, Kind::Access);
}

/// A transmit buffer is taken.
#[inline(never)]
pub fn allocate(path: &mut Path, step: Step) {
    span(path, step, Kind::Allocate);
}

/// The card is let send.
#[inline(never)]
pub fn enable(path: &mut Path, step: Step) {
    span(path, step, Kind::Enable);
}

/// The card is stopped.
#[inline(never)]
pub fn disable(path: &mut Path, step: Step) {
    span(path, step, Kind::Disable);
}

/// Information is asked for.
#[inline(never)]
pub fn inquire(path: &mut Path, step: Step) {
    span(path, step, Kind::Inquire);
}

/// Frames are sent.
#[inline(never)]
pub fn transmit(path: &mut Path, step: Step) {
    span(path, step, Kind::Transmit);
}
