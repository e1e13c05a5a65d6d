//! Folded stacks in the forms that other people's tools read.

mod firefox;
mod folded;
mod speedscope;

pub use self::{firefox::firefox, folded::folded, speedscope::speedscope};
