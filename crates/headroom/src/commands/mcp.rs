//! `headroom mcp`: the same verbs for programs, over the Model Context Protocol. How they are served is [`crate::mcp`]'s.

use crate::{
    failure::{Failure, Verdict},
    flags,
};

/// Serves until the client leaves or somebody stops it.
///
/// # Errors
///
/// [`Failure`] of the words, or of this machine.
#[cfg(feature = "mcp")]
pub(crate) fn serve(common: &flags::Common, flags: &flags::Mcp) -> Result<Verdict, Failure> {
    crate::mcp::serve(common, flags)
}

/// Says that this build has none of it.
#[cfg(not(feature = "mcp"))]
pub(crate) fn serve(_: &flags::Common, _: &flags::Mcp) -> Result<Verdict, Failure> {
    let why = "this headroom was built without `mcp`; build it with `make build`";
    Err(Failure::Environment(why.to_owned()))
}
