//! Folded stacks in the forms that other people's tools read.

mod firefox;
mod folded;
mod speedscope;

pub use self::{firefox::firefox, folded::folded, speedscope::speedscope};

/// What a stack's number is in an export.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Weight<'a> {
    /// Its samples, all captures together.
    #[default]
    Samples,
    /// CPU, shared out as on our pages, from each capture's CPU in µs a second.
    Cpu(&'a [Option<f64>]),
}
